"""Exact sizes by node class: the bound and the target of small clusters."""

import attrs
import numpy as np
import pytest

from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Floats, Model
from reconcilers.layout.optimizer.sizes import Effort, Sizes, exact_sizes
from reconcilers.layout.snapshot import FixedRole
from tests.bench.optimizer.instances import fresh
from tests.bench.optimizer.oracle import by_highs
from tests.reconcilers.optimizer.clusters import model_of
from tests.reconcilers.optimizer.test_prices import CORE, app, nodes, settled, small


def solved(model: Model, *, touches_max: int | None = None, nodes_max: int = 3000) -> Sizes:
    """Return exact sizes, which have to be found."""
    sizes = exact_sizes(model, touches_max=touches_max, effort=Effort(nodes_max=nodes_max))
    assert sizes is not None
    return sizes


@pytest.mark.parametrize("seed", range(16))
def test_sizes_bound_every_layout(seed: int) -> None:
    """Taking equal nodes together only ever allows more."""
    for snapshot in small(seed):
        model = build(snapshot)
        sizes = solved(model)

        assert by_highs(model, seconds=5).value <= sizes.bound + 1e-5 * max(1, abs(sizes.bound))
        assert_allowed(model, sizes)


@pytest.mark.parametrize("seed", range(8))
def test_on_one_node_of_each_kind_the_sizes_are_the_layout(seed: int) -> None:
    """Where a class is one node nothing is lost, so both programs have one value."""
    for snapshot in small(seed):
        of_each_kind = {node.capacity: node for node in snapshot.nodes}
        ids = {node.node_id for node in of_each_kind.values()}
        model = build(
            attrs.evolve(
                snapshot,
                nodes=tuple(of_each_kind.values()),
                apps=tuple(one for one in snapshot.apps if one.placement.keys() <= ids),
            )
        )
        sizes = exact_sizes(model)
        exact = by_highs(model, seconds=5)

        if sizes is not None:
            assert sizes.value == pytest.approx(exact.value, rel=3e-4, abs=1e-5)


@pytest.mark.parametrize("policy", ["utilization", "goodput"])
def test_sizes_keep_within_every_rule(policy: str) -> None:
    """What the exact path packs must be a layout that the rules allow."""
    made = fresh("paper", 20, 30)
    first = attrs.evolve(made, options=attrs.evolve(made.options, policy=policy))
    model = build(settled("paper", first))

    assert_allowed(model, solved(model, nodes_max=200))


def assert_allowed(model: Model, sizes: Sizes) -> None:
    """Fail if sizes break a bound, overfill a class, or disturb too many."""
    assert (sizes.by_class.sum(axis=1) == sizes.size).all()
    placed = sizes.size > 0
    assert (sizes.size[placed] >= model.low[placed]).all()
    assert (sizes.size <= np.maximum(model.high, model.old_size)).all()
    used = (sizes.by_class[:, :, None] * model.demand[:, None, :]).sum(axis=0)
    assert (used <= model.class_room).all()
    assert placed[model.running].all()
    assert (sizes.touched & model.running).sum() <= model.touches_max
    assert not (sizes.touched & model.rests).any()
    assert sizes.value == pytest.approx(value_of(model, sizes), abs=1e-5)
    stays = model.running & ~sizes.touched
    assert (sizes.by_class[stays] == model.old_class[stays]).all()


def value_of(model: Model, sizes: Sizes) -> float:
    """Return what sizes are worth: linear between the points, less restarts and excess."""

    def total(values: Floats, zero: Floats) -> float:
        return sum(
            float(
                np.interp(size, model.points[:, index], values[:, index]) if size else zero[index]
            )
            for index, size in enumerate(sizes.size.tolist())
        )

    excess = max(0.0, total(model.loss, model.loss_zero) - model.loss_max)
    restarts = float(model.touch_cost[sizes.touched].sum())
    return total(model.gain, model.gain_zero) - restarts - EXCESS_PRICE * excess


def test_without_a_budget_running_applications_stay() -> None:
    """A gang that fits only beside a smaller neighbour has to wait for a restart to be allowed."""
    crowded = [app("big", 1, 8, placement={"n0": 4, "n1": 4}), app("gang", 4, 4, submitted_ms=1)]
    model = model_of(nodes(2, 4), crowded, policy="utilization", touch_factor=1.0)

    assert solved(model, touches_max=0).size.tolist() == [8, 0]
    assert solved(model, touches_max=1).size.tolist() == [4, 4]


def test_fixed_roles_take_room_from_the_class() -> None:
    """Parameter servers are paid for by the application that brings them."""
    one = app("a", 1, 8, roles=(FixedRole(name="ps", demand=CORE, count=3),))

    assert solved(model_of(nodes(2, 4), [one], policy="utilization")).size.tolist() == [5]


def test_whoever_yields_may_lose_everything() -> None:
    """A higher tier takes what it needs, whether or not restarts are allowed."""
    model = model_of(
        nodes(1, 4),
        [app("low", 4, 4, placement={"n0": 4}), app("high", 4, 4, priority=1, submitted_ms=1)],
        policy="utilization",
    )
    sizes = solved(model, touches_max=0)

    assert sizes.size.tolist() == [0, 4]
    assert sizes.touched.tolist() == [True, False]


def test_equal_problems_have_equal_sizes() -> None:
    """The search stops after so many nodes of its tree, never after so many seconds."""
    model = build(fresh("hetero", 8, 12))
    first, second = (
        solved(model, nodes_max=20),
        solved(model, nodes_max=20),
    )

    assert first.bound == second.bound
    assert (first.by_class == second.by_class).all()


def test_nothing_to_size() -> None:
    """Without applications or nodes there is nothing to find."""
    assert exact_sizes(model_of(nodes(0, 1), [app("a", 1, 1)])) is None
    assert exact_sizes(model_of(nodes(1, 1), [])) is None
