"""Polishing makes tiny layouts better, and breaks no rule and no budget in doing so."""

import attrs
import numpy as np
import pytest

from reconcilers.layout.optimizer.arrange import Candidate, Freedom, arrange
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.forced import Case, prepare
from reconcilers.layout.optimizer.polish import polish
from reconcilers.layout.snapshot import FixedRole, Snapshot
from tests.bench.optimizer.instances import fresh
from tests.bench.optimizer.rounds import after, churned
from tests.reconcilers.optimizer.layouts import CPU, app, decided, nodes


def kept(case: Case) -> Candidate:
    """Return the layout that disturbs nobody."""
    return arrange(case.base, case.guide, Freedom(waiting=case.waiting, fixed=case.fixed))


def polished(case: Case) -> Candidate:
    """Return the layout that disturbs nobody, polished."""
    model = case.base.model
    found = polish(kept(case), case.waiting, case.full.touched, model.touches_max)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", [0, 3])
def test_a_polished_layout_is_better_and_within_the_budget(seed: int) -> None:
    """Whoever has to be moved so that large containers fit is found, and nobody beyond K."""
    start = fresh("hetero", 12, 20, seed=seed)
    start = attrs.evolve(start, options=attrs.evolve(start.options, touch_factor=0.2))
    snapshot = after(start, decided(start))
    case = prepare(build(churned("hetero", snapshot, 0.2, seed=seed, shapes="catalog")))
    before, found = kept(case), polished(case)

    assert found.score.value >= before.score.value - 1e-9
    assert found.score.value <= case.full.bound + 1e-9
    assert found.score.touches <= case.base.model.touches_max
    assert (found.table.free >= 0).all()
    model = case.base.model
    assert ((found.table.size >= model.low) | ~model.running).all()
    assert (found.table.size <= model.high).all()


def test_containers_that_fit_only_together_are_brought_together() -> None:
    """Two halves of nodes are free, a whole one is needed: one application moves."""
    runs = [app(f"a{index}", 2, 2, placement={f"n{index}": 2}) for index in range(2)]
    whole = app("whole", 1, 1, demand=CPU * 4, submitted_ms=9)
    snapshot = Snapshot(nodes=nodes(2, CPU * 4), apps=(*runs, whole))
    case = prepare(build(snapshot))
    model = case.base.model
    found = polish(kept(case), case.waiting, np.ones(model.apps), model.touches_max)

    assert found is not None
    assert found.table.size.tolist() == [2, 2, 1]
    assert found.score.touches == 1


def test_fixed_roles_are_placed_with_their_application() -> None:
    """The program places servers too; without them the workers would be of no use."""
    server = FixedRole(name="server", demand=CPU * 2, count=1)
    runs = app("runs", 4, 4, placement={"n0": 4})
    waits = app("waits", 2, 2, roles=(server,), submitted_ms=9)
    case = prepare(build(Snapshot(nodes=nodes(2, CPU * 4), apps=(runs, waits))))
    found = polished(case)

    assert found.table.size[1] == 2
    assert sum(found.table.role_places(0).values()) == 1
    assert (found.table.free >= 0).all()
