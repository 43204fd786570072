"""Room in etcd: how much is left, and what is done so that it lasts.

| module | idea |
|---|---|
| `levels` | how full the store is, and what that forbids |
| `watching` | every master looks at it, all the time |
| `archive` | sealed segments as files |
| `retention` | a sealed segment is archived, verified, and only then deleted |
| `compaction` | the old versions of keys that change are dropped after some minutes |
| `keeper` | the leader does all of that beside its decisions |
| `reclaim` | the way out of a full store, for an operator |
"""
