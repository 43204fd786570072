"""The HTTP API: what users may ask of any master, leader or not.

`service` answers requests on the log and the view; `routes` is its HTTP form; `logs` merges the
output of containers from their agents; `client` is the other end, used by the CLI.
"""
