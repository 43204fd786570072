"""Hands: the only code that touches the world: etcd, Docker, HTTP, files, terminal, clock."""
