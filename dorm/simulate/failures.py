"""When nodes fail: a Poisson process for each node, from the run's seed."""

import hashlib
import random
from collections.abc import Iterator


def generator(*parts: object) -> random.Random:
    """Return a random generator that follows from the parts alone, on every machine."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return random.Random(digest)  # noqa: S311 - a simulation, not a secret


def failure_times(seed: int, node_id: str, *, mtbf_ms: int, repair_ms: int) -> Iterator[int]:
    """Yield the times at which a node fails, for ever; it is up again `repair_ms` after each."""
    chance = generator("failures", seed, node_id)
    at_ms = 0
    while True:  # Without end: the reader takes the next one when the node is up again.
        at_ms += max(1, round(chance.expovariate(1 / mtbf_ms)))
        yield at_ms
        at_ms += repair_ms


def restart_ms(seed: int, app_id: str, *, mean_ms: int, spread: float) -> int:
    """Return how long restarts of one application take."""
    chance = generator("restart", seed, app_id)
    return round(mean_ms * chance.uniform(max(0.0, 1 - spread), 1 + spread))
