"""Room in etcd."""
