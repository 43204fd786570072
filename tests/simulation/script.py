"""What directed scenarios are written with."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from events.apps import Scale
from events.catalog import Event
from events.control import LeaderElected
from tests.simulation.cluster import Cluster, Machine
from tests.simulation.docker import Container
from tests.simulation.simulation import Result
from tests.simulation.training import Program
from tests.simulation.users import Errand

STEP_S = 0.002
LIMIT_S = 120.0


def an_errand(
    name: str = "a",
    *,
    steps: int = 240,
    least: int = 1,
    most: int = 6,
    after_s: float = 2.0,
    on_disconnect: str = "stop",
) -> Errand:
    """A quiet training that a user wants."""
    return Errand(
        name=name,
        after_s=after_s,
        program=Program(steps=steps),
        scale=Scale(min=least, max=most),
        on_disconnect=on_disconnect,
    )


async def until(cluster: Cluster, holds: Callable[[], bool]) -> None:
    """Wait until something holds, looking very often."""
    end = asyncio.get_running_loop().time() + LIMIT_S
    while not holds():
        assert asyncio.get_running_loop().time() < end, cluster.checker.story[-40:]
        await asyncio.sleep(STEP_S)


async def all_running(cluster: Cluster) -> tuple[Container, ...]:
    """Wait until every submitted application runs in full, and return its containers."""

    def running() -> bool:
        apps = cluster.checker.state.apps.values()
        return bool(apps) and all(app.phase == "running" for app in apps)

    await until(cluster, running)
    return cluster.checker.running


def sound(result: Result) -> None:
    """Fail with the story unless the run kept every invariant and converged."""
    assert result.violations == (), result.report()


def kill_leader(cluster: Cluster) -> str:
    """Kill the leading master and return its name."""
    name = cluster.leader
    assert name is not None
    cluster.masters[name][0].kill()
    return name


def leaders(cluster: Cluster) -> list[str]:
    """Return who was elected, in order, each term once."""
    terms = {
        one.event.epoch: one.event.master
        for one in cluster.checker.recorded
        if isinstance(one.event, LeaderElected)
    }
    return list(terms.values())


def told(cluster: Cluster, kind: type[Event]) -> int:
    """Return how many events of a kind the log has."""
    return sum(isinstance(one.event, kind) for one in cluster.checker.recorded)


def on(cluster: Cluster, node_id: str) -> Sequence[Container]:
    """Return what runs on a node."""
    return [one for one in cluster.checker.running if one.node_id == node_id]


async def a_busy_node(cluster: Cluster, **errand: Any) -> Machine:  # noqa: ANN401 - of an errand
    """Run one training on all nodes, and return one of them."""
    cluster.start_user("ann", (an_errand(steps=1_500, most=12, **errand),))
    await all_running(cluster)
    return cluster.machines["n1"]


async def replaced(cluster: Cluster) -> float:
    """Wait for the next generation; return after how many seconds it runs."""
    began_at = asyncio.get_running_loop().time()

    def runs() -> bool:
        moving = [one for one in cluster.checker.running if not one.frozen]
        return any(one.generation > 1 for one in moving)

    await until(cluster, runs)
    return asyncio.get_running_loop().time() - began_at
