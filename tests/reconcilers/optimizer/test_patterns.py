"""The parts of the pattern program: shapes, groups, knapsacks, segments, dealing."""

from collections.abc import Sequence
from itertools import product

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcilers.layout.optimizer import groups as node_groups
from reconcilers.layout.optimizer import shapes as made_shapes
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.dealing import deal_sizes
from reconcilers.layout.optimizer.groups import group
from reconcilers.layout.optimizer.knapsack import ORDERS, Greedy, Trials, best_pattern
from reconcilers.layout.optimizer.model import Floats, Ints
from reconcilers.layout.optimizer.segments import cut, merge
from reconcilers.layout.optimizer.shapes import distinct, shapes_of
from reconcilers.layout.optimizer.trim import taken_of, trim, worth_of
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer
from tests.reconcilers.optimizer.clusters import all_of, amounts, cluster, model_of

rooms = st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 3))
demands = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)).filter(any),
    min_size=1,
    max_size=3,
    unique=True,
)


def rows(values: Sequence[tuple[int, ...]]) -> Ints:
    """Return amounts as an array."""
    return np.array(values, dtype=np.int64).reshape(-1, 3)


def patterns_in(room: Ints, demand: Ints, most: int = 4) -> list[tuple[int, ...]]:
    """Return every pattern of at most `most` containers of each shape."""
    choices = product(range(most + 1), repeat=len(demand))
    return [p for p in choices if ((np.array(p)[:, None] * demand).sum(axis=0) <= room).all()]


@settings(max_examples=60, deadline=None)
@given(free=st.lists(rooms, min_size=1, max_size=6), shapes=demands)
def test_canonical_room_takes_exactly_the_same_patterns(
    free: list[tuple[int, int, int]], shapes: list[tuple[int, int, int]]
) -> None:
    """Nodes that look different are only merged while the same things fit on all of them."""
    room, demand = rows(free), rows(shapes)

    groups = group(room, np.arange(len(room)), demand)

    for index, count in enumerate(groups.count.tolist()):
        start = int(groups.start[index])
        for node in groups.nodes[start : start + count].tolist():
            assert patterns_in(groups.room[index], demand) == patterns_in(room[node], demand)
    fitting = [node for node in range(len(room)) if len(patterns_in(room[node], demand)) > 1]
    assert sorted(groups.nodes.tolist()) == fitting


def test_too_many_groups_become_fewer_of_less_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less room than there is wastes some; more would overfill nodes."""
    monkeypatch.setattr(node_groups, "GROUPS_MAX", 10)
    draw = np.random.default_rng(0)
    room = draw.integers(0, 60, (300, 3))
    demand = rows([(3, 5, 1), (2, 7, 0), (5, 2, 2)])

    groups = group(room, np.arange(300), demand)

    assert len(groups.count) <= 10
    member = np.repeat(np.arange(len(groups.count)), groups.count)
    assert (groups.room[member] <= room[groups.nodes]).all()
    assert len(groups.nodes) > 150


def test_members_of_a_group_stay_in_rack_order() -> None:
    """Neighbouring slots are neighbouring nodes, or an application is spread over all racks."""
    order = np.array([4, 2, 0, 1, 3])

    groups = group(np.full((5, 3), 9), order, rows([(1, 1, 1)]))

    assert order.tolist() == groups.nodes.tolist()


def test_made_shapes_are_few_and_cover_their_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shape smaller than a member would overfill the nodes where the member goes."""
    monkeypatch.setattr(made_shapes, "SHAPES_MAX", 20)
    model = build(cluster(20, 200, seed=2, unique=True))

    shapes = shapes_of(model, all_of(model))

    assert not shapes.is_exact
    assert len(shapes.demand) == 20
    assert (shapes.demand[shapes.of_app] >= model.demand).all()
    waste = (shapes.demand[shapes.of_app] - model.demand).sum(axis=0) / model.demand.sum(axis=0)
    assert (waste < 0.35).all()


def test_distinct_rows_are_found_again() -> None:
    """Every node and demand is looked up through this index."""
    values = rows([(3, 1, 0), (1, 2, 0), (3, 1, 0), (1, 2, 1)])

    unique, which = distinct(values)

    assert [[1, 2, 0], [1, 2, 1], [3, 1, 0]] == unique.tolist()
    assert (unique[which] == values).all()


prices = st.lists(st.floats(0, 5), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(room=rooms, shapes=demands, worth=prices)
def test_the_exact_knapsack_is_exact_and_the_greedy_one_possible(
    room: tuple[int, int, int], shapes: list[tuple[int, int, int]], worth: list[float]
) -> None:
    """An exact value that is too low makes the bound wrong; a pattern too large, the layout."""
    demand, price = rows(shapes), np.array(worth[: len(shapes)])
    most = np.full(len(demand), 4)
    possible = [(np.array(p) * price).sum() for p in patterns_in(np.array(room), demand)]

    bound, pattern = best_pattern(price, demand, np.array(room), most)
    value, patterns = _greedy(demand, price, np.array(room), most)

    assert max(possible) <= bound * (1 + 1e-9) + 1e-9
    assert bound <= max(possible) * (1 + 1e-3) + 1e-6
    assert ((pattern[:, None] * demand).sum(axis=0) <= room).all()
    assert ((patterns[:, :, None] * demand).sum(axis=1) <= np.array(room)).all()
    assert (patterns <= 4).all()
    assert value.max() <= max(possible) + 1e-9


def _greedy(demand: Ints, price: Floats, room: Ints, most: Ints) -> tuple[Floats, Ints]:
    trials = Trials(
        room=np.tile(room.astype(np.float64), (2 * ORDERS, 1)),
        order=np.tile(np.arange(ORDERS), 2),
        half=np.arange(2 * ORDERS) >= ORDERS,
    )
    greedy = Greedy(demand=demand, unit=np.maximum(room, 1).astype(np.float64))
    return greedy.fill(trials, price, most)


def test_half_of_what_fits_leaves_room_for_a_better_mate() -> None:
    """Two shapes that only together use a node up are why the greedy one makes two sweeps."""
    demand, price = rows([(2, 1, 0), (1, 2, 0)]), np.array([1.0, 1.0])

    value, patterns = _greedy(demand, price, np.array([6, 6, 0]), np.array([9, 9]))

    assert [2, 2] == patterns[int(value.argmax())].tolist()
    assert value[:ORDERS].max() < value.max()


def test_segments_of_a_size_add_up_to_what_the_size_is_worth() -> None:
    """Everything the program decides, it decides on these sums."""
    model = build(cluster(30, 60, seed=4, policy="goodput"))
    request = all_of(model)
    segments = cut(model, request, shapes_of(model, request))
    size = np.where(np.arange(60) % 3 == 0, 0, (model.low + model.high) // 2)

    gain, loss = worth_of(model, segments, taken_of(segments, request, size))

    gains = [_at(model.points[:, i], model.gain[:, i], model.gain_zero[i], n)
             for i, n in enumerate(size.tolist())]  # fmt: skip
    losses = [_at(model.points[:, i], model.loss[:, i], model.loss_zero[i], n)
              for i, n in enumerate(size.tolist())]  # fmt: skip
    assert loss == pytest.approx(sum(losses))
    assert gain == pytest.approx(sum(gains) - 10 * max(0.0, sum(losses) - model.loss_max))


def _at(points: Ints, values: Floats, zero: float, size: int) -> float:
    return float(np.interp(size, points, values)) if size else float(zero)


def test_merged_columns_keep_every_container_and_its_mean_worth() -> None:
    """Few columns for many applications must not change what there is to hand out."""
    model = build(cluster(30, 400, seed=4))
    request = all_of(model)
    shapes = shapes_of(model, request)
    segments = cut(model, request, shapes)

    columns = merge(segments, len(shapes.demand))

    assert len(columns.length) < len(segments.app)
    assert columns.length.sum() == segments.length.sum()
    total = (segments.gain * segments.length).sum()
    assert (columns.gain * columns.length).sum() == pytest.approx(total)


def test_fixed_roles_are_rows_of_their_gang() -> None:
    """A gang whose servers the program forgets is promised room that is not there."""
    role = FixedRole(name="server", demand=amounts(3, 3), count=2)
    app = AppRequest(app_id="a", demand=amounts(1, 1), min=4, max=4, roles=(role,))
    model = model_of(
        [NodeOffer(node_id="n", capacity=amounts(64, 64))],
        [app, attrs.evolve(app, app_id="b", roles=(attrs.evolve(role, count=1),))],
    )
    request = all_of(model, must=np.array([True, False]))
    shapes = shapes_of(model, request)
    server = int(shapes.of_role[0])

    columns = merge(cut(model, request, shapes), len(shapes.demand))

    assert {server: 2, int(shapes.of_app[0]): 4} == dict(enumerate(columns.fixed.tolist()))
    entries = dict(zip(columns.row.tolist(), columns.amount.tolist(), strict=True))
    assert {server: 0.25, int(shapes.of_app[1]): 1.0} == entries


def test_a_gang_too_large_leaves_its_containers_to_the_next() -> None:
    """Half a gang is worth nothing, and what it cannot use another one can."""
    model = build(cluster(30, 60, seed=4))
    request = all_of(model)
    shapes = shapes_of(model, request)
    segments = cut(model, request, shapes)
    available = np.full(len(shapes.demand), 3)

    taken = deal_sizes(segments, available, 0.0)

    used = np.zeros(len(available), dtype=np.int64)
    np.add.at(used, segments.shape, taken)
    assert (used <= 3).all()
    first = segments.first
    assert set(taken[first].tolist()) <= {0, *segments.length[first & (taken > 0)].tolist()}
    small = np.isin(segments.shape, segments.shape[first & (segments.length <= 3)])
    assert used[segments.shape[small]].min() > 0


def test_what_is_beyond_the_fairness_bound_is_taken_back() -> None:
    """A little excess by rounding costs more than the containers that make it."""
    model = build(cluster(30, 40, seed=4))
    request = all_of(model)
    segments = cut(model, request, shapes_of(model, request))
    size = model.high
    where = {"app": np.arange(40), "node": np.zeros(40, dtype=np.int64), "count": size}
    added = attrs.evolve(model.old, **where)
    tight = attrs.evolve(model, loss_max=_loss(model, size) / 2)

    left = trim(tight, request, segments, added)

    trimmed = np.zeros(40, dtype=np.int64)
    np.add.at(trimmed, left.app, left.count)
    assert _loss(model, trimmed) <= tight.loss_max < _loss(model, size)
    assert (trimmed >= np.floor(model.fair / model.share)).all()


def _loss(model: object, size: Ints) -> float:
    points, losses = model.points, model.loss  # type: ignore[attr-defined]
    return sum(_at(points[:, i], losses[:, i], 0.0, n) for i, n in enumerate(size.tolist()))
