"""Facts: what happened, and what it adds up to.

This package is pure. It imports nothing of ours, does no I/O and never sees a clock.

An *event* is a fact that happened, named in the past tense, appended once and never changed.
The *fold* (`events.fold`) is the only way from events to a `ClusterState`.
The *log* (`events.log`) is the protocol by which events are stored and read;
`dorm.log` implements it on etcd.
"""
