"""The warden of a node, on this machine's own cgroups."""
