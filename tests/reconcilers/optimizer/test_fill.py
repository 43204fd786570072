"""What a filling promises whoever asks for it: room, bounds, gangs, a bound, repetition."""

import math
from collections.abc import Callable
from itertools import product

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.units import Resources
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.fill import _must_first, after, fill
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Ints, Model
from reconcilers.layout.optimizer.request import Filling, FillRequest
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer
from tests.reconcilers.optimizer.clusters import (
    all_of,
    amounts,
    cluster,
    machines,
    model_of,
    sizes_of,
)

TOLERANCE = 1e-7


def node(name: str, cpu: int, memory: int, gpus: int = 0) -> NodeOffer:
    """Return one machine."""
    return NodeOffer(node_id=name, capacity=amounts(cpu, memory, gpus))


def app(name: str, demand: Resources, low: int, high: int, **more: object) -> AppRequest:
    """Return one application that waits."""
    return AppRequest(app_id=name, demand=demand, min=low, max=high, **more)  # type: ignore[arg-type]


def sizes(model: Model, request: FillRequest, filling: Filling) -> Ints:
    """Return (A,) the sizes that a filling makes."""
    return request.kept + sizes_of(model, filling.added.app, filling.added.count)


def worth(model: Model, request: FillRequest, filling: Filling) -> float:
    """Return the objective, worked out one application at a time."""
    size = sizes(model, request, filling)
    gains, losses = [request.other_gain], [request.other_loss]
    for index in request.apps.tolist():
        if size[index] == 0:
            gains.append(float(model.gain_zero[index]))
            losses.append(float(model.loss_zero[index]))
        else:
            points = model.points[:, index]
            gains.append(float(np.interp(size[index], points, model.gain[:, index])))
            losses.append(float(np.interp(size[index], points, model.loss[:, index])))
    return math.fsum(gains) - EXCESS_PRICE * max(0.0, math.fsum(losses) - model.loss_max)


def check(model: Model, request: FillRequest, filling: Filling) -> None:
    """Fail unless a filling fits the nodes, the bounds, and leaves no gang half placed."""
    left = after(model, request, filling).free
    assert (left >= np.minimum(request.free, 0)).all()
    size = sizes(model, request, filling)
    upper = model.high if request.limit is None else np.minimum(model.high, request.limit)
    placed = size > request.kept
    assert (size[placed] >= model.low[placed]).all()
    assert (size[placed] <= upper[placed]).all()
    assert set(filling.added.app.tolist()) <= set(request.apps.tolist())
    assert (filling.added.count >= 1).all()
    started = placed & (request.kept == 0)
    roles = [0] * len(model.roles)
    for place in filling.roles:
        roles[place.role] += place.count
    for index, role in enumerate(model.roles):
        assert roles[index] == (role.count if started[role.app] else 0)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("policy", ["utilization", "goodput"])
def test_a_fresh_cluster_is_filled_within_its_rooms_and_bounds(
    policy: str, *, unique: bool
) -> None:
    """A layout that overfills one node is refused as a whole; near the bound, or it is no use."""
    model = build(cluster(70, 160, seed=3, unique=unique, policy=policy))
    request = all_of(model, certify=True)

    filling = fill(model, request)

    check(model, request, filling)
    assert filling.unmet == ()
    assert worth(model, request, filling) <= filling.bound + TOLERANCE
    assert worth(model, request, filling) > 0.9 * filling.value


def test_at_scale_the_layout_is_within_a_thousandth_of_what_is_possible() -> None:
    """What the program promises in fractions survives rounding, dealing and trimming."""
    model = build(cluster(1500, 1200, seed=1, policy="goodput"))
    request = all_of(model, certify=True)

    filling = fill(model, request)

    check(model, request, filling)
    reached = worth(model, request, filling)
    assert 0.997 * filling.bound < reached <= filling.bound + TOLERANCE
    assert filling.value <= filling.bound + TOLERANCE


def test_two_runs_agree_in_every_bit() -> None:
    """A decision is taken again to be audited, on another machine and later."""
    model = build(cluster(66, 90, seed=5))
    first, second = (fill(model, all_of(model, certify=True)) for _ in range(2))

    for name in ("app", "node", "count"):
        assert (getattr(first.added, name) == getattr(second.added, name)).all()
    assert (first.bound, first.value) == (second.bound, second.value)


def grown(model: Model, seed: int) -> FillRequest:
    """Return the request after a filling from which some applications have left."""
    request = all_of(model)
    filling = fill(model, request)
    added = filling.added
    gone = np.random.default_rng(seed).random(model.apps) < 0.2
    stays = ~gone[added.app]
    free = request.free.copy()
    places = added.node[stays], added.app[stays], added.count[stays]
    np.subtract.at(free, places[0], model.demand[places[1]] * places[2][:, None])
    kept = sizes_of(model, places[1], places[2])
    return attrs.evolve(request, free=free, kept=kept)


@pytest.mark.parametrize("seed", [0, 1])
def test_growth_keeps_what_is_there(seed: int) -> None:
    """Those in place only grow, and those that left room make others fit."""
    model = build(cluster(80, 140, seed=seed))
    request = grown(model, seed)

    filling = fill(model, request)

    check(model, request, filling)
    before = Filling(added=attrs.evolve(filling.added, **_nothing()))
    assert worth(model, request, filling) >= worth(model, request, before)


def _nothing() -> dict[str, Ints]:
    return {name: np.zeros(0, dtype=np.int64) for name in ("app", "node", "count")}


def test_a_gang_comes_whole_with_its_roles_or_not_at_all() -> None:
    """Workers without their server burn the room that they hold."""
    roles = (FixedRole(name="server", demand=amounts(6, 1), count=1),)
    fits = app("fits", amounts(2, 1), 5, 5, roles=roles)
    never = app("never", amounts(2, 1), 6, 6, roles=roles)
    nodes = [node("a", 8, 8), node("b", 8, 8)]

    for demand, expected in ((fits, 5), (never, 0)):
        model = model_of(nodes, [demand])
        request = all_of(model)
        filling = fill(model, request)
        check(model, request, filling)
        assert expected == sizes(model, request, filling)[0]


def test_who_has_to_be_placed_comes_before_who_is_worth_more() -> None:
    """An evicted application gets its places back, however large the one is that wants them."""
    model = model_of(
        [node("a", 8, 8), node("b", 8, 8)],
        [app("rich", amounts(4, 4), 4, 4, weight=9.0), app("evicted", amounts(3, 1), 4, 4)],
        policy="utilization",
    )
    request = all_of(model, must=np.array([False, True]))

    filling = fill(model, request)

    check(model, request, filling)
    assert [0, 4] == sizes(model, request, filling).tolist()
    assert filling.unmet == ()


def test_where_rounding_left_one_out_those_that_have_to_be_go_first_alone() -> None:
    """The others get what the minimums leave, and not the other way round."""
    model = model_of(
        [node("a", 8, 8), node("b", 8, 8)],
        [app("rich", amounts(2, 2), 2, 8, weight=9.0), app("evicted", amounts(3, 1), 3, 4)],
        policy="utilization",
    )
    request = all_of(model, must=np.array([False, True]))

    filling = _must_first(model, request)

    check(model, request, filling)
    assert sizes(model, request, filling)[1] >= 3
    assert sizes(model, request, filling)[0] >= 2


def test_who_has_to_be_placed_and_cannot_be_is_named() -> None:
    """The caller has to know, or a running application is lost without a word."""
    model = model_of([node("a", 8, 8)], [app("large", amounts(8, 8), 1, 1)] * 2)
    request = all_of(model, must=np.ones(2, dtype=bool))

    filling = fill(model, request)

    assert len(filling.unmet) == 1
    assert sizes(model, request, filling).sum() == 1


def test_a_limit_below_the_minimum_keeps_an_application_out() -> None:
    """The search closes applications out this way."""
    model = model_of([node("a", 8, 8)], [app("one", amounts(1, 1), 2, 8)])

    for limit, expected in ((1, 0), (3, 3)):
        request = all_of(model, limit=np.array([limit]))
        filling = fill(model, request)
        assert expected == sizes(model, request, filling)[0]


def test_a_small_application_stays_on_one_node_of_one_rack() -> None:
    """Containers on several nodes talk over the network, on several racks over a slow one."""
    model = model_of(machines(40), [app(f"a{index}", amounts(4, 8), 4, 4) for index in range(40)])
    request = all_of(model)

    filling = fill(model, request)

    assert (filling.added.count == 4).all()


def test_devices_come_as_whole_nodes() -> None:
    """Eight of eight devices, for an application that takes them all, are one node."""
    nodes = [node(f"g{index}", 96, 512, 8) for index in range(6)]
    model = model_of(
        nodes,
        [app("whole", amounts(4, 8, 1), 8, 8), app("half", amounts(4, 8, 1), 4, 4),
         app("other", amounts(4, 8, 1), 4, 4)],
    )  # fmt: skip
    request = all_of(model)

    filling = fill(model, request)

    assert [8, 4, 4] == filling.added.count.tolist()


HOSTILE: dict[str, Callable[[], Model]] = {
    "nothing waits": lambda: model_of([node("a", 8, 8)], []),
    "no nodes": lambda: model_of([], [app("x", amounts(1, 1), 1, 2)]),
    "a node of nothing": lambda: model_of(
        [node("a", 0, 0), node("b", 4, 4)], [app("x", amounts(1, 1), 1, 9)]
    ),
    "devices alone": lambda: model_of(
        [node("a", 8, 8, 4)], [app("x", Resources(gpu_count=1), 1, 9)]
    ),
    "huge numbers": lambda: model_of(
        [NodeOffer(node_id="a", capacity=Resources(cpu_milli=7, memory_bytes=(1 << 50) + 1))],
        [
            app("x", Resources(cpu_milli=1, memory_bytes=(1 << 48) + 1), 1, 9),
            app("y", Resources(cpu_milli=1, memory_bytes=3), 1, 2),
        ],
    ),
    "larger than any node": lambda: model_of([node("a", 8, 8)], [app("x", amounts(9, 1), 1, 2)]),
}


@pytest.mark.parametrize("situation", HOSTILE)
def test_hostile_inputs_are_answered(situation: str) -> None:
    """A strange node or demand must not stop the decision for everybody else."""
    model = HOSTILE[situation]()
    request = all_of(model, certify=True)

    filling = fill(model, request)

    check(model, request, filling)
    assert worth(model, request, filling) <= filling.bound + TOLERANCE


def best_of_all(model: Model, request: FillRequest) -> float:
    """Return the optimum over every size of every application that fits, by trying them all."""
    choices = [
        [0, *range(int(model.low[index]), int(model.high[index]) + 1)]
        for index in range(model.apps)
    ]
    best = -math.inf
    for chosen in product(*choices):
        if _fits(model, request.free, chosen):
            size = np.array(chosen, dtype=np.int64)
            rows = np.flatnonzero(size)
            places = {"app": rows, "node": rows * 0, "count": size[rows]}
            added = attrs.evolve(Filling(added=attrs.evolve(model.old, **places)).added)
            best = max(best, worth(model, request, Filling(added=added)))
    return best


def _fits(model: Model, free: Ints, chosen: tuple[int, ...]) -> bool:
    pieces = [model.demand[index].tolist() for index, n in enumerate(chosen) for _ in range(n)]
    return _packs(pieces, [row.tolist() for row in free])


def _packs(pieces: list[list[int]], rooms: list[list[int]]) -> bool:
    if not pieces:
        return True
    piece, rest = pieces[0], pieces[1:]
    for index, room in enumerate(rooms):
        left = [a - b for a, b in zip(room, piece, strict=True)]
        if min(left) >= 0 and _packs(rest, [*rooms[:index], left, *rooms[index + 1 :]]):
            return True
    return False


tiny_nodes = st.lists(
    st.builds(amounts, st.integers(0, 6), st.integers(0, 6), st.integers(0, 2)), min_size=1,
    max_size=3,
)  # fmt: skip
tiny_apps = st.lists(
    st.tuples(
        st.builds(amounts, st.integers(1, 3), st.integers(0, 3), st.integers(0, 1)),
        st.integers(1, 2),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(
    rooms=tiny_nodes,
    apps=tiny_apps,
    policy=st.sampled_from(["goodput", "utilization"]),
    loss_factor=st.sampled_from([0.0, 0.05, 1.0]),
)
def test_the_bound_is_above_the_true_optimum(
    rooms: list[Resources],
    apps: list[tuple[Resources, int, int]],
    policy: str,
    loss_factor: float,
) -> None:
    """A bound that is too low would stop the search before the best layout."""
    model = model_of(
        [NodeOffer(node_id=f"n{index}", capacity=room) for index, room in enumerate(rooms)],
        [app(f"a{i}", demand, low, low + more) for i, (demand, low, more) in enumerate(apps)],
        policy=policy,
        loss_factor=loss_factor,
    )
    request = all_of(model, certify=True)

    filling = fill(model, request)

    check(model, request, filling)
    best = best_of_all(model, request)
    assert worth(model, request, filling) <= best + TOLERANCE
    assert best <= filling.bound + TOLERANCE
