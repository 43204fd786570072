"""History without masters: read the log from etcd or from a file, tell it, and prove it.

`source` reads it from etcd, `files` from and to files; `replay` folds it, `verify` audits it.
Everything behind a source is the same for both, and gives the same bytes on every run.
"""
