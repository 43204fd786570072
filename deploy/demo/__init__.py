"""The demo: three real trainings share a small cluster, and every claim about it is checked."""
