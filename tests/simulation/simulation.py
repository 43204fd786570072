"""Run one seed: build a cluster, break it, heal it, and demand that everything converges."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any, Final

import attrs
import structlog

from tests.simulation.cluster import SOUND, Cluster, Parts
from tests.simulation.faults import Chaos
from tests.simulation.loop import Deadlock, Livelock, virtual_loop
from tests.simulation.users import random_errands

APPS: Final = 6
CHAOS_S: Final = 150.0
CONVERGENCE_S: Final = 600.0
LOOK_S: Final = 2.0

Script = Callable[[Cluster], Awaitable[None]]
Scenario = Callable[[Cluster, Chaos], Coroutine[Any, Any, None]]


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
                f"seed {self.seed} (run it alone: DORM_SIM_SEED={self.seed})",
                *self.violations,
                "the story ends:",
                *self.story[-lines:],
            )
        )


def run_script(seed: int, script: Script, *, parts: Parts = SOUND) -> Result:
    """Run a directed scenario on a sound cluster, then check that all has converged."""

    async def scenario(cluster: Cluster, _: Chaos) -> None:
        cluster.start()
        await script(cluster)
        await converge(cluster)

    return _run(seed, scenario, parts)


def run_seed(seed: int, *, parts: Parts = SOUND) -> Result:
    """Run a cluster with random applications and random faults."""

    async def scenario(cluster: Cluster, chaos: Chaos) -> None:
        errands = random_errands(Random(f"{seed}/errands"), APPS)
        cluster.start()
        cluster.start_user("ann", errands[::2])
        cluster.start_user("bob", errands[1::2])
        await chaos.run(CHAOS_S)
        await chaos.heal()
        await converge(cluster)

    return _run(seed, scenario, parts)


async def converge(cluster: Cluster) -> None:
    """Wait until nothing is left to do, and note what is still missing after a long time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + CONVERGENCE_S
    while (missing := cluster.missing()) and loop.time() < end and not cluster.checker.violations:  # noqa: ASYNC110 - many things may change what is missing
        await asyncio.sleep(LOOK_S)
    cluster.checker.require(not missing, f"I7 not converged: {'; '.join(missing)}")
    await asyncio.sleep(LOOK_S)


def _run(seed: int, scenario: Scenario, parts: Parts) -> Result:
    with virtual_loop() as loop, structlog.testing.capture_logs():
        cluster, chaos = loop.run_until_complete(_build(seed, parts))
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
            faults=dict(sorted(chaos.counts.items())),
        )


async def _build(seed: int, parts: Parts) -> tuple[Cluster, Chaos]:
    cluster = Cluster(seed, masters=2 + seed % 2, parts=parts)
    return cluster, Chaos(cluster, Random(f"{seed}/chaos"))
