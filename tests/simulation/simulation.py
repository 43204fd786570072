"""Run one seed: build a cluster, break it, heal it, and demand that everything converges."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final, Never

import attrs
import structlog

from events.catalog import KIND_OF
from events.control import SegmentSealed
from tests.simulation.cluster import RULES, SOUND, Cluster, Parts
from tests.simulation.etcd_network import LATE_S_MAX
from tests.simulation.faults import Chaos
from tests.simulation.loop import Deadlock, Livelock, virtual_loop
from tests.simulation.users import random_errands

CHAOS_S: Final = 180.0
POLICIES: Final = {"drf": 18, "goodput": 1, "utilization": 1}  # by weight; the last two are dear
LATE_S: Final = LATE_S_MAX + 5.0  # until the last late request has landed, and its leases are over
REST_S: Final = 30.0
CONVERGENCE_S: Final = 600.0
LOOK_S: Final = 2.0

Script = Callable[[Cluster], Awaitable[None]]
Scenario = Callable[[Cluster, Chaos], Coroutine[Any, Any, None]]


@attrs.frozen(kw_only=True)
class Shape:
    """How large the cluster of a seed is, and what it has to do."""

    masters: int
    nodes: int
    apps: int
    policy: str

    @classmethod
    def of(cls, seed: int) -> "Shape":
        """Return the shape of a seed. A small cluster fails in ways that hide in a large one."""
        random = Random(f"{seed}/shape")
        return cls(
            masters=random.choice((2, 3)),
            nodes=random.choice((2, 3, 3, 4)),
            apps=random.choice((1, 2, 3, 5)),
            policy=random.choices(list(POLICIES), list(POLICIES.values()))[0],
        )


@attrs.frozen(kw_only=True)
class Result:
    """What came of one run.

    Attributes:
        violations: Broken invariants; empty in a sound run.
        story: All that happened, a line each.
        trace_hash: Of the story: the same seed gives the same hash.
        virtual_s: How long the cluster lived.
        faults: How often each kind was injected.
    """

    seed: int
    violations: tuple[str, ...]
    story: tuple[str, ...]
    trace_hash: str
    virtual_s: float
    faults: dict[str, int]

    def report(self, *, lines: int = 60) -> str:
        """Return the failure for a person: seed, violations, and the end of the story."""
        return "\n".join(
            (
                f"seed {self.seed}; to run it alone: make sim SEED={self.seed}",
                *self.violations,
                "the story ends:",
                *self.story[-lines:],
            )
        )


DIRECTED: Final = Shape(masters=3, nodes=3, apps=0, policy=RULES.policy)


def run_script(
    seed: int,
    script: Script,
    *,
    parts: Parts = SOUND,
    nodes: int = DIRECTED.nodes,
    started: bool = True,
) -> Result:
    """Run a directed scenario on a sound cluster, then check that all has converged.

    Unless `started`, the script starts masters and agents itself.
    """

    async def scenario(cluster: Cluster, _: Chaos) -> None:
        if started:
            cluster.start()
        await script(cluster)
        await converge(cluster)

    return _run(seed, scenario, parts, attrs.evolve(DIRECTED, nodes=nodes))


def run_seed(seed: int, *, parts: Parts = SOUND) -> Result:
    """Run a cluster with random applications and random faults."""
    shape = Shape.of(seed)

    async def scenario(cluster: Cluster, chaos: Chaos) -> None:
        errands = random_errands(Random(f"{seed}/errands"), shape.apps)
        cluster.start()
        cluster.start_user("ann", errands[::2])
        cluster.start_user("bob", errands[1::2])
        await chaos.run(CHAOS_S)
        await chaos.heal()
        await converge(cluster)
        await rest(cluster)

    return _run(seed, scenario, parts, shape)


async def converge(cluster: Cluster) -> None:
    """Wait until nothing is left to do, and note what is still missing after a long time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + CONVERGENCE_S
    while (missing := cluster.missing()) and loop.time() < end and not cluster.checker.violations:  # noqa: ASYNC110 - many things may change what is missing
        await asyncio.sleep(LOOK_S)
    cluster.checker.require(not missing, f"I7 not converged: {'; '.join(missing)}")
    await asyncio.sleep(LOOK_S)


async def rest(cluster: Cluster) -> None:
    """Let a cluster be that has nothing to do, and demand that it does nothing."""
    await asyncio.sleep(LATE_S)
    leader, before = cluster.leader, len(cluster.checker.recorded)
    await asyncio.sleep(REST_S)
    moved = [
        KIND_OF[type(one.event)]
        for one in cluster.checker.recorded[before:]
        if not isinstance(one.event, SegmentSealed)  # The last roll-over may come late.
    ]
    cluster.checker.require(not moved, f"I7 at rest, and yet: {', '.join(moved)}")
    cluster.checker.require(cluster.leader == leader, "I7 at rest, and yet another master leads")


def _run(seed: int, scenario: Scenario, parts: Parts, shape: Shape) -> Result:
    with virtual_loop() as loop, _silence():
        cluster, chaos = loop.run_until_complete(_build(seed, parts, shape))
        checker = cluster.checker
        loop.set_exception_handler(
            lambda _, context: checker.require(
                holds=False, sentence=f"loop: {context.get('exception') or context['message']!r}"
            )
        )
        try:
            loop.run_until_complete(scenario(cluster, chaos))
        except (Deadlock, Livelock) as stuck:
            checker.require(holds=False, sentence=f"I7 {stuck!r}")
        checker.audit()
        return Result(
            seed=seed,
            violations=tuple(checker.violations),
            story=tuple(checker.story),
            trace_hash=checker.trace_hash,
            virtual_s=loop.time(),
            faults=dict(sorted((chaos.counts + cluster.network.counts).items())),
        )


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what programs log, before it is put together: the story says more."""
    before = structlog.get_config()
    structlog.configure(
        processors=[_drop],
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop(_logger: object, _method: str, _event: object) -> Never:
    raise structlog.DropEvent


async def _build(seed: int, parts: Parts, shape: Shape) -> tuple[Cluster, Chaos]:
    rules = attrs.evolve(RULES, policy=shape.policy)
    cluster = Cluster(seed, masters=shape.masters, nodes=shape.nodes, rules=rules, parts=parts)
    return cluster, Chaos(cluster, Random(f"{seed}/chaos"))
