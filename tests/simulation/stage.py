"""Many seeds in as many processes as there are cores, and the sum of what they saw."""

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Final

import attrs

from tests.simulation.simulation import run_seed

BLOCK: Final = 20  # seeds in one piece of work
BLOCK_S_MAX: Final = 600.0  # tens of times what a block takes: past it, something hangs
FAULTS_MIN: Final = 5  # in a seed; below it, nothing was tried


@attrs.frozen(kw_only=True)
class Tally:
    """What came of some seeds.

    Attributes:
        failures: What to tell a person of each seed that failed.
        virtual_s: How long all their clusters lived.
        cpu_s: What that took.
        faults: How often each kind was injected.
    """

    seeds: int = 0
    failures: tuple[str, ...] = ()
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    faults: Counter[str] = attrs.field(factory=Counter)

    def __add__(self, other: "Tally") -> "Tally":
        """Return both together."""
        return Tally(
            seeds=self.seeds + other.seeds,
            failures=self.failures + other.failures,
            virtual_s=self.virtual_s + other.virtual_s,
            cpu_s=self.cpu_s + other.cpu_s,
            faults=self.faults + other.faults,
        )

    def summary(self) -> str:
        """Return the tally as lines for a person."""
        hours = self.virtual_s / 3_600
        speed = hours / self.cpu_s if self.cpu_s else 0.0
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.seeds} seeds, {hours:.1f} virtual hours, {self.cpu_s:.0f} CPU seconds"
            f" ({speed:.2f} virtual hours each), {len(self.failures)} failed\n"
            f"{self.faults.total()} faults: {kinds}"
        )


def run_block(seeds: Sequence[int]) -> Tally:
    """Run some seeds, one after the other."""
    begun_s, virtual_s = time.process_time(), 0.0
    failures: list[str] = []
    faults: Counter[str] = Counter()
    for seed in seeds:
        result = run_seed(seed)
        virtual_s += result.virtual_s
        faults.update(result.faults)
        if result.violations:
            failures.append(result.report())
        elif sum(result.faults.values()) < FAULTS_MIN:
            failures.append(f"seed {seed} had too few faults to tell anything: {result.faults}")
    return Tally(
        seeds=len(seeds),
        failures=tuple(failures),
        virtual_s=virtual_s,
        cpu_s=time.process_time() - begun_s,
        faults=faults,
    )


def blocks_of(seeds: Sequence[int]) -> tuple[Sequence[int], ...]:
    """Cut seeds into pieces of work."""
    return tuple(seeds[first : first + BLOCK] for first in range(0, len(seeds), BLOCK))


@contextmanager
def running(blocks: Sequence[Sequence[int]]) -> Iterator[tuple[Future[Tally], ...]]:
    """Yield the blocks as they are worked on. Those that nobody waits for are given up."""
    workers = min(len(blocks), len(os.sched_getaffinity(0)))
    # New interpreters: a copy of this one would share its threads' locks.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield tuple(pool.submit(run_block, block) for block in blocks)
    finally:
        pool.shutdown(cancel_futures=True)
