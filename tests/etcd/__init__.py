"""Real etcd servers: the defects of `etcd3`, fencing, chaos."""
