"""The situations that are measured, and the figures of each."""

import math
import resource
import time
from typing import Final

import attrs

from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.prices import dual
from reconcilers.layout.optimizer.solve import solve
from reconcilers.layout.snapshot import Snapshot
from tests.bench.optimizer.instances import fresh
from tests.bench.optimizer.oracle import Exact, by_cp_sat, by_highs
from tests.bench.optimizer.rounds import after, churned, exchanged
from tests.bench.optimizer.worth import worth

CHURN: Final = 0.05
EXACT_MOST: Final = 20_000  # integers that a general solver is given: with more it finds nothing


@attrs.frozen(kw_only=True)
class Size:
    """A cluster to measure, such as `100x200 hetero unique`."""

    kind: str
    nodes: int
    apps: int
    shapes: str = "catalog"

    @property
    def name(self) -> str:
        """Return what it is called in tables and on the command line."""
        return f"{self.nodes}x{self.apps}"


SIZES: Final = (
    Size(kind="paper", nodes=20, apps=50),
    Size(kind="hetero", nodes=20, apps=50),
    Size(kind="hetero", nodes=100, apps=200),
    Size(kind="hetero", nodes=500, apps=500),
    Size(kind="hetero", nodes=1000, apps=1000),
    Size(kind="hetero", nodes=10_000, apps=5000),
    Size(kind="hetero", nodes=1000, apps=1000, shapes="unique"),
    Size(kind="hetero", nodes=10_000, apps=5000, shapes="unique"),
)
QUICK: Final = SIZES[:5]


@attrs.frozen(kw_only=True)
class Figures:
    """One decision in figures.

    Attributes:
        event: What had happened before: `fresh`, `churn` or `one`.
        cpu_s: How long the decision took.
        memory_mib: By how much the peak of the process grew meanwhile.
        gap: To the bound of the decision.
        dual_gap: To the bound that prices give, which is looser where the cluster starts empty.
        touched: Running applications disturbed, of `running`.
        racks: Mean number of racks of a placed application.
        exact: What general solvers made of the same problem, by name.
    """

    event: str
    cpu_s: float
    memory_mib: float
    value: float
    gap: float
    dual_gap: float
    loss: float
    touched: int
    running: int
    racks: float
    exact: dict[str, Exact] = attrs.field(factory=dict)


def measure(size: Size, *, seed: int, policy: str, exact_s: float) -> list[Figures]:
    """Return figures from empty, after five percent of churn, and after a single exchange."""
    made = fresh(size.kind, size.nodes, size.apps, seed=seed, shapes=size.shapes)
    snapshot = attrs.evolve(made, options=attrs.evolve(made.options, policy=policy))
    found = []
    for event in ("fresh", "churn", "one"):
        decision, figures = _decide(snapshot, event)
        found.append(attrs.evolve(figures, exact=_exact(snapshot, exact_s)))
        settled = after(snapshot, decision)
        if event == "fresh":
            snapshot = churned(size.kind, settled, CHURN, seed=seed, shapes=size.shapes)
        else:
            snapshot = exchanged(size.kind, settled, 1, seed=seed + 1, shapes=size.shapes)
    return found


def _decide(snapshot: Snapshot, event: str) -> tuple[Decision, Figures]:
    peak_kib, before = _peak_kib(), time.process_time()
    decision = solve(snapshot)
    cpu_s, grown_kib = time.process_time() - before, _peak_kib() - peak_kib
    found, model = worth(snapshot, decision), build(snapshot)
    dual_bound = dual(model).bound
    return decision, Figures(
        event=event,
        cpu_s=cpu_s,
        memory_mib=grown_kib / 1024,
        value=found.value,
        gap=decision.gap,
        dual_gap=(dual_bound - found.value) / abs(dual_bound),
        loss=found.loss,
        touched=found.touched,
        running=int(model.running.sum()),
        racks=found.racks,
    )


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _exact(snapshot: Snapshot, seconds: float) -> dict[str, Exact]:
    """Return what general solvers find; nothing where they are hopeless, or not asked."""
    if seconds <= 0 or len(snapshot.nodes) * len(snapshot.apps) > EXACT_MOST:
        return {}
    model = build(snapshot)
    answers = {
        "HiGHS": by_highs(model, seconds=seconds),
        "CP-SAT": by_cp_sat(model, seconds=seconds),
    }
    return {name: answer for name, answer in answers.items() if answer is not None}


def shortfall(exact: Exact, value: float) -> float:
    """Return by what part an exact solver's layout is below another; infinite if it has none."""
    return (value - exact.value) / abs(value) if math.isfinite(exact.value) else math.inf
