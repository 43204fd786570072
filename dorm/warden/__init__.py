"""The warden of one node: it freezes, thaws and kills containers through their cgroup.

A small process of its own, started by the agent and outliving it, so that a node which has lost
its right to run containers stops them even when its agent is dead or hung, and its engine too. It
reads one file (`permits`), decides by `reconcilers.warden`, and acts on cgroups (`tree`, and `v1`
or `v2` below it); `watch` is the loop, `status` and `journal` are what it says, `process` is how
an agent starts, checks and replaces it.

The process imports little, to start fast and stay small. So nothing is imported here.
"""
