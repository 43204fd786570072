"""The log on etcd under lost answers, roll-overs and leader changes."""
