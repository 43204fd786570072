"""Where layouts are worked out: a port (`port.Planner`), and its two sides.

The leader never plans in its own process. `supervisor.ChildPlanner` has a child do it, within
limits of memory and CPU time: whatever a spec makes of the optimizer, the masters go on, and so
does every other application. `inline.InlinePlanner` plans on the spot, for worlds in which time is
virtual. Nothing is imported here, so that the child (`child`) loads only what it needs.
"""
