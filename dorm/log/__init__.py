"""The event log on etcd, and what the leader does with it. Uses the ports only.

| module | idea |
|---|---|
| `etcd_log` | `EtcdLog`: `events.log.EventLog` on etcd |
| `producer` | writing: each batch exactly once, in order, whatever answers are lost |
| `reader` | reading: one segment at a time, bounded |
| `segments` | where the log is cut: roll-over and seals |
| `tailer` | following the log: nothing lost, nothing twice |
| `snapshots` | the folded state, so that a start need not read everything |
| `leadership` | who leads, and the epoch that fences every write of the leader |
"""
