"""The agent of one node: it brings the node's containers to what the desired document says.

Everything here is `async def` on the ports, so that the same code runs in the simulation. Only
`run` and `http` know the real world. An agent may die at any moment: its containers run on, and
the next agent adopts them by their labels.
"""

from dorm.agent.agent import Agent

__all__ = ["Agent"]
