"""The table of a layout in the making, and what repair and the budget do with it."""

import numpy as np
import pytest

from reconcilers.layout.optimizer.arrange import Freedom, arrange
from reconcilers.layout.optimizer.budget import chosen, levels
from reconcilers.layout.optimizer.model import Model
from reconcilers.layout.optimizer.objective import decline, gains, growth, losses, score
from reconcilers.layout.optimizer.packing import Guide, admit, best_fit
from reconcilers.layout.optimizer.prices import dual
from reconcilers.layout.optimizer.repair import Repair
from reconcilers.layout.optimizer.table import Table, times
from reconcilers.layout.snapshot import FixedRole
from tests.reconcilers.optimizer.clusters import model_of
from tests.reconcilers.optimizer.layouts import CPU, app, nodes


def two_running(**options: object) -> Model:
    """Return two nodes of 8 CPUs with an application of 5 and one of 2 containers; one waits."""
    return model_of(
        nodes(2, CPU * 8),
        [
            app("wide", 1, 16, placement={"n0": 4, "n1": 1}),
            app("small", 1, 4, placement={"n1": 2}),
            app("waits", 3, 6),
        ],
        **options,
    )


def guide_of(model: Model) -> Guide:
    """Return the guide that the model's own prices make."""
    return Guide.of(model, dual(model))


def test_a_copy_changes_alone() -> None:
    """Trying something out and taking it back is a copy."""
    table = Table(two_running())
    other = table.copy()
    other.put(2, {0: 3})
    other.shrink(0, 2)

    assert [5, 2, 0] == table.size.tolist()
    assert {0: 4, 1: 1} == table.places(0)
    assert [4, 5] == table.free[:, 0].tolist()
    assert [2, 2, 3] == other.size.tolist()
    assert [3, 6] == other.free[:, 0].tolist()


def test_shrinking_empties_the_nodes_with_least() -> None:
    """An application that shrinks stays together."""
    table = Table(two_running())
    table.shrink(0, 3)

    assert {0: 3} == table.places(0)


def test_what_is_put_back_is_not_changed() -> None:
    """A restart that was considered and dropped is none."""
    table = Table(two_running())
    table.take(0, {1: 1})
    assert [0] == table.changed()
    table.put(0, {1: 1})

    assert [] == table.changed()


def test_nobody_goes_back_to_where_somebody_else_is() -> None:
    """Putting back looks at the room that is left."""
    table = Table(two_running())
    table.shrink(0, 1)
    table.put(2, {0: 6})

    assert not table.restore(0)
    assert {0: 1} == table.places(0)
    table.take(2, {0: 6})
    assert table.restore(0)
    assert [] == table.changed()


def test_values_are_those_of_the_model_at_its_points() -> None:
    """Between the points they are linear, and an application without containers has its own."""
    model = two_running(policy="goodput")

    for point, gain, loss in zip(model.points, model.gain, model.loss, strict=True):
        assert gain.tolist() == pytest.approx(gains(model, point).tolist())
        assert loss.tolist() == pytest.approx(losses(model, point).tolist())
    zero = np.zeros(model.apps, dtype=np.int64)
    assert model.gain_zero.tolist() == gains(model, zero).tolist()


def test_pieces_of_growth_lead_from_the_minimum_to_the_maximum() -> None:
    """Their gains add up, and going back takes the same pieces."""
    model = two_running(policy="goodput")
    size, gained = np.zeros(model.apps, dtype=np.int64), np.zeros(model.apps)
    while (growth(model, size).count > 0).any():
        step = growth(model, size)
        size, gained = size + step.count, gained + step.gain
        back = decline(model, size)
        can_go_back = size - step.count >= model.low
        np.testing.assert_array_equal(
            back.count[can_go_back & (step.count > 0)], step.count[can_go_back & (step.count > 0)]
        )

    assert model.high.tolist() == size.tolist()
    np.testing.assert_allclose(gained, gains(model, model.high) - model.gain_zero)


def test_a_disturbed_application_costs_its_restart() -> None:
    """The objective charges for it, whatever was changed."""
    model = two_running(policy="goodput")
    table = Table(model)
    before = score(table)
    table.take(0, {1: 1})
    table.put(0, {0: 1})
    after = score(table)

    assert 1 == after.touches
    assert float(model.touch_cost[0]) == pytest.approx(before.value - after.value)


def test_best_fit_fills_whole_nodes_and_leaves_large_holes() -> None:
    """Seven containers fill the node of five, and the rest goes where it fits most tightly."""
    order = np.arange(4)

    assert {1: 5, 3: 2} == best_fit(order, np.array([3, 5, 0, 2]), 7)
    assert {0: 3, 1: 5, 3: 2} == best_fit(order, np.array([3, 5, 0, 2]), 11)


def test_a_gang_whose_roles_do_not_fit_leaves_nothing_behind() -> None:
    """Its elastic containers are taken back."""
    server = FixedRole(name="server", demand=CPU * 9, count=1)
    model = model_of(nodes(2, CPU * 8), [app("a", 1, 2, roles=(server,))])
    table = Table(model)

    assert not admit(table, guide_of(model), 0, 1)
    assert [0] == table.size.tolist()
    assert [8, 8] == table.free[:, 0].tolist()


def test_repair_grows_into_room_within_fairness() -> None:
    """Room that rounding left is handed out, to nobody beyond the bound on the loss."""
    model = two_running(policy="utilization", loss_factor=0.05)
    table = Table(model)
    everyone = np.ones(model.apps, dtype=bool)
    Repair(table=table, guide=guide_of(model), may=everyone, limit=model.high, touches=0).run()

    assert 0 <= int(table.free[:, 0].sum()) <= 1
    assert score(table).loss <= model.loss_max + 1e-9
    assert (times(table.free, CPU_UNITS) >= 0).all()


CPU_UNITS = np.array([1, 1, 0])


def test_repair_sheds_what_is_furthest_from_fair() -> None:
    """Above the bound, containers beyond fair shares are given back."""
    model = model_of(
        nodes(1, CPU * 12),
        [
            app("greedy", 1, 12, placement={"n0": 11}),
            app("other", 1, 12, placement={"n0": 1}),
        ],
        policy="utilization",
        loss_factor=0.01,
    )
    table = Table(model)
    loss = score(table).loss
    everyone = np.ones(model.apps, dtype=bool)
    Repair(table=table, guide=guide_of(model), may=everyone, limit=model.high, touches=0).run()

    assert loss > model.loss_max
    assert [6, 6] == table.size.tolist()


def test_shedding_counts_whom_it_disturbs() -> None:
    """Two have too much, and only one of them may be disturbed."""
    model = model_of(
        nodes(2, CPU * 8),
        [
            app("a", 1, 12, placement={"n0": 7}),
            app("b", 1, 12, placement={"n1": 7}),
            app("c", 1, 12, placement={"n0": 1, "n1": 1}),
        ],
        loss_factor=0.001,
        policy="utilization",
    )
    table = Table(model)
    nobody = np.zeros(model.apps, dtype=bool)
    Repair(table=table, guide=guide_of(model), may=nobody, limit=model.high, touches=1).run()

    assert 1 == len(table.changed())


def test_repair_disturbs_no_more_than_it_may() -> None:
    """Without a budget those who run stay as they are."""
    model = two_running()
    table = Table(model)
    waits = np.array([False, False, True])
    Repair(table=table, guide=guide_of(model), may=waits, limit=model.high, touches=0).run()

    assert [2] == table.changed()


def test_the_budget_starts_at_zero_and_ends_at_the_full_one() -> None:
    """Nothing is to be gained from restarts in a layout that is fair and full."""
    model = model_of(
        nodes(2, CPU * 4),
        [app("a", 1, 4, placement={"n0": 4}), app("b", 1, 4, placement={"n1": 4})],
        touch_factor=1.0,
    )

    full = dual(model)

    assert [0, 1, 2] == [level.touches for level in levels(model, full, 0)]
    assert [1, 2] == [level.touches for level in levels(model, full, 0, least=1)]


def test_the_budget_skips_what_cannot_be_good_enough() -> None:
    """One application has nearly everything; only a restart can change that."""
    model = model_of(
        nodes(2, CPU * 8),
        [
            app("wide", 1, 16, placement={"n0": 8, "n1": 8}),
            app("a", 4, 8, submitted_ms=1),
            app("b", 4, 8, submitted_ms=2),
        ],
        touch_factor=1.0,
    )
    (only,) = levels(model, dual(model), 0)

    assert 1 == only.touches
    assert [0, 1] == [level.touches for level in levels(model, dual(model), 0, pays=99.0)]
    assert [0] == list(chosen(Table(model), only))


def test_a_move_that_brings_nothing_is_taken_back() -> None:
    """It would shrink and grow again, on another node: a restart for nothing."""
    model = model_of(nodes(3, CPU * 4), [app("a", 1, 5, placement={"n0": 4, "n2": 1})])
    nobody = np.zeros(model.apps, dtype=bool)
    freedom = Freedom(waiting=nobody, fixed=nobody, chosen={0: 4}, touches=1)
    found = arrange(Table(model), guide_of(model), freedom)

    assert [] == found.table.changed()
    assert {0: 4, 2: 1} == found.table.places(0)


def test_limits_hold_for_patterns_and_for_repair() -> None:
    """Those placed by force get their minimum, and not one container more."""
    model = two_running()
    waits = np.array([False, False, True])
    limit = np.maximum(model.low, model.old_size)
    nobody = np.zeros(model.apps, dtype=bool)
    freedom = Freedom(waiting=waits, fixed=nobody, must=waits, limit=limit)
    found = arrange(Table(model), guide_of(model), freedom)

    assert [5, 2, 3] == found.table.size.tolist()
