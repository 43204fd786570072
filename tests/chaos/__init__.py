"""A whole cluster of real processes under real faults, and everything that must hold of it.

Three etcd members, three masters and four agents, each on a host of its own (a network namespace on
one bridge), with a real Docker engine. Faults follow from a seed; what happened is recorded, and
judged afterwards from the record alone.
"""
