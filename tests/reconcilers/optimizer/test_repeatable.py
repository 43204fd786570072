"""Equal snapshots give equal decisions, whatever the hash seed and the processor."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
DECIDE = """
import json, sys
import attrs
from events.codec import to_json
from reconcilers.layout.optimizer.solve import solve
from tests.reconcilers.optimizer.clusters import cluster
from tests.reconcilers.optimizer.layouts import carried_out

snapshot = cluster(40, 60, seed=3, policy="goodput")
for _ in range(2):
    decision = solve(snapshot)
    after = carried_out(snapshot, decision)
    snapshot = attrs.evolve(after, apps=after.apps[4:])
    sys.stdout.write(repr(attrs.asdict(decision)))
"""


def decided_under(hash_seed: str, disabled: str) -> str:
    """Return two decisions as text, made by a process of its own."""
    settings = {"PYTHONHASHSEED": hash_seed, "NPY_DISABLE_CPU_FEATURES": disabled}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DECIDE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def vector_features() -> str:
    """Return the vector instructions that this processor has and numpy can do without."""
    found = np.show_config(mode="dicts")
    assert found is not None
    return " ".join(found["SIMD Extensions"]["found"])


@pytest.mark.parametrize(("hash_seed", "is_plain"), [("1", False), ("2", True)])
def test_decisions_are_equal_bit_by_bit(hash_seed: str, *, is_plain: bool) -> None:
    """Two masters on different machines have to agree, and an audit has to be possible."""
    expected = decided_under("0", "")

    assert expected
    assert expected == decided_under(hash_seed, vector_features() if is_plain else "")
