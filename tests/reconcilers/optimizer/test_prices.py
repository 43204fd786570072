"""Prices: a bound on every layout, and a hint which restarts are worth it."""

import math
from itertools import pairwise

import attrs
import numpy as np
import pytest

from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import Model
from reconcilers.layout.optimizer.named import by_name, recalled
from reconcilers.layout.optimizer.prices import dual
from reconcilers.layout.optimizer.sizes import relaxation
from reconcilers.layout.optimizer.solve import solve
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer, Snapshot
from tests.bench.optimizer.instances import fresh
from tests.bench.optimizer.oracle import by_highs
from tests.bench.optimizer.rounds import after, churned
from tests.reconcilers.optimizer.clusters import amounts, model_of
from tests.reconcilers.optimizer.random_layouts import History

CORE = amounts(1, 1)


def nodes(count: int, cores: int) -> list[NodeOffer]:
    """Return equal nodes with a GiB for every core."""
    return [NodeOffer(node_id=f"n{index}", capacity=CORE * cores) for index in range(count)]


def app(app_id: str, low: int, high: int, **fields: object) -> AppRequest:
    """Return an application of so many containers of one core."""
    values = {"app_id": app_id, "demand": CORE, "min": low, "max": high, **fields}
    return AppRequest(**values)  # type: ignore[arg-type]


def small(seed: int) -> list[Snapshot]:
    """Return two situations that an exact solver does in no time: before and after an event."""
    history = History(seed)
    first = history.first()
    first = attrs.evolve(first, nodes=first.nodes[:3], apps=first.apps[:4])
    second = history.follow(first, solve(first))
    return [first, attrs.evolve(second, apps=second.apps[:5])]


@pytest.mark.parametrize("seed", range(16))
def test_no_layout_is_worth_more_than_the_bound(seed: int) -> None:
    """The gap that a decision reports is true only if nothing lies above its bound."""
    for snapshot in small(seed):
        model = build(snapshot)
        for touches in range(3):
            allowed = attrs.evolve(model, touches_max=touches)
            best = by_highs(allowed, seconds=5).value
            bound = dual(model, touches_max=touches).bound

            assert best <= bound + 1e-6
            assert relaxation(model, touches_max=touches) <= bound + 1e-6


@pytest.mark.parametrize("kind", ["paper", "hetero"])
@pytest.mark.parametrize("policy", ["utilization", "goodput"])
def test_the_bound_is_that_of_the_linear_relaxation(kind: str, policy: str) -> None:
    """Prices find in milliseconds what a general solver finds in the program written out."""
    made = fresh(kind, 20, 50)
    first = attrs.evolve(made, options=attrs.evolve(made.options, policy=policy))
    for snapshot in (first, settled(kind, first)):
        model = build(snapshot)

        assert dual(model).bound == pytest.approx(relaxation(model), rel=2e-4)


def settled(kind: str, snapshot: Snapshot) -> Snapshot:
    """Return a cluster that runs, and where a fifth of the work has just been exchanged."""
    rules = attrs.evolve(snapshot.options, certify=False, search_rounds=0)
    quick = attrs.evolve(snapshot, options=rules)
    return churned(kind, after(quick, solve(quick)), 0.2, seed=0, shapes="catalog")


@pytest.fixture(scope="module")
def running() -> Model:
    """Return a cluster of mixed machines in which work has just been exchanged."""
    return build(settled("hetero", fresh("hetero", 20, 50)))


def test_a_bigger_touch_budget_never_lowers_the_bound(running: Model) -> None:
    """The budget is chosen by comparing bounds, so they have to rise with it."""
    bounds = [dual(running, touches_max=touches).bound for touches in range(12)]

    assert all(b >= a - 1e-4 * a for a, b in pairwise(bounds))
    assert bounds[-1] > bounds[0] + 1e-3


def test_the_last_prices_are_a_good_start_for_another_budget(running: Model) -> None:
    """Several budgets are compared for one decision, so each has to be cheap."""
    full = dual(running)
    cold, warm = dual(running, touches_max=2), dual(running, touches_max=2, start=full.prices)

    assert warm.bound == pytest.approx(cold.bound, rel=2e-4)
    assert warm.rounds < cold.rounds


def test_prices_of_another_cluster_do_no_harm(running: Model) -> None:
    """A node class more or less since the last decision costs rounds, not the answer."""
    other = dual(model_of(nodes(2, 4), [app("a", 1, 8)]))

    assert dual(running, start=other.prices).bound == pytest.approx(dual(running).bound, rel=2e-4)


def test_the_prices_of_the_last_decision_save_rounds(running: Model) -> None:
    """One event changes little, so the next decision need not find all prices again."""
    cold = dual(running)
    warm = dual(running, start=recalled(running, by_name(running, cold.prices)))

    assert warm.bound == pytest.approx(cold.bound, rel=2e-4)
    assert warm.rounds < cold.rounds / 2


@pytest.mark.parametrize(
    "names",
    [
        {"0/gpu": math.nan, "loss": math.inf, "restart": -1.0},
        {"0/cpu": 1e9, "1/memory": 1e9, "loss": 1e9, "restart": 1e9},
        {"9/gpu": 1.0, "what": 2.0},
        {"0/cpu": 1e-12},
    ],
    ids=["no numbers", "far too dear", "no such room", "next to nothing"],
)
def test_a_wrong_hint_does_no_harm(running: Model, names: dict[str, float]) -> None:
    """A snapshot may come from anywhere; the bound has to hold and to be as good."""
    found = dual(running, start=recalled(running, names))

    assert found.bound == pytest.approx(dual(running).bound, rel=5e-4)
    assert found.bound >= relaxation(running) - 1e-6


def test_a_decision_hands_its_prices_on() -> None:
    """The snapshot alone decides, the prices in it included, so that it can be decided again."""
    first = settled("hetero", fresh("hetero", 20, 50))
    prices = solve(first).prices
    second = attrs.evolve(first, prices=prices)

    assert {"0/cpu", "loss", "restart"} <= {*prices}
    assert solve(second) == solve(second)
    assert solve(second).bound == pytest.approx(solve(first).bound, rel=5e-4)


def test_equal_problems_have_equal_bits(running: Model) -> None:
    """A decision can be verified later only if it comes out the same again."""
    first, second = dual(running), dual(running)

    assert first.bound == second.bound
    assert (first.touched == second.touched).all()
    assert (first.target == second.target).all()


def test_room_costs_only_where_it_is_scarce() -> None:
    """Users read prices to learn what the cluster is short of."""
    roomy = [NodeOffer(node_id="n", capacity=amounts(4, 64))]
    prices = dual(model_of(roomy, [app("a", 1, 8), app("b", 1, 8)], loss_factor=1.0)).prices

    cpu, memory, gpu = prices.room[0].tolist()
    assert cpu == pytest.approx(1.0, abs=0.1)  # each core is worth its share of all cores
    assert memory == pytest.approx(0.0, abs=1e-6)
    assert gpu == 0.0


def test_whoever_has_to_make_way_is_worth_a_restart() -> None:
    """The touch budget goes to those that change in the fractional layout."""
    crowded = [
        app("big", 1, 8, placement={"n0": 4, "n1": 4}),
        app("new", 4, 4, submitted_ms=1),
    ]
    model = model_of(nodes(2, 4), crowded, policy="utilization", touch_factor=1.0)
    barred, allowed = dual(model, touches_max=0), dual(model, touches_max=1)

    assert allowed.bound > barred.bound + 1
    assert allowed.touched[0] > 0.1
    assert allowed.target[0].sum() < 8
    assert barred.touched.tolist() == [0, 0]


def test_what_was_changed_a_moment_ago_is_left_alone() -> None:
    """A minimum run time keeps restarts from eating the work."""
    young = app("young", 1, 8, placement={"n0": 4, "n1": 4}, ran_ms=1)
    model = model_of(nodes(2, 4), [young, app("new", 1, 4)], touch_factor=1.0)

    assert dual(model, touches_max=2).touched.tolist() == [0, 0]


def test_parameter_servers_need_room_too() -> None:
    """An application whose fixed roles fit on no node cannot be placed, whatever it is worth."""
    huge = FixedRole(name="ps", demand=CORE * 5, count=1)
    small_one = attrs.evolve(huge, demand=CORE * 4)
    blocked = dual(model_of(nodes(2, 4), [app("a", 1, 8, roles=(huge,))]))
    placed = dual(model_of(nodes(2, 4), [app("a", 1, 8, roles=(small_one,))]))

    assert blocked.touched.tolist() == [0]
    assert placed.touched * (placed.target.sum() + 4) == pytest.approx([8])


def test_an_unfair_layout_counts_as_unfair_while_it_stays() -> None:
    """Without a touch budget nothing can be mended, and the bound has to admit it."""
    greedy = app("greedy", 1, 8, placement={"n0": 4, "n1": 3})
    model = model_of(nodes(2, 4), [greedy, app("late", 1, 8)], policy="utilization", loss_factor=0)

    assert dual(model, touches_max=0).bound == pytest.approx(2.0 - 10 * 6 / 8)


def test_whoever_yields_may_leave_without_a_restart() -> None:
    """A lower tier makes way for a higher one, which no budget holds up."""
    model = model_of(
        nodes(1, 4),
        [app("low", 2, 2, placement={"n0": 2}), app("high", 4, 4, priority=1, submitted_ms=1)],
        policy="utilization",
        loss_factor=0.0,
    )
    answer = dual(model, touches_max=0)

    assert model.yields.tolist() == [True, False]
    assert answer.bound == pytest.approx(2.0)
    assert answer.touched[1] == pytest.approx(1.0)


@pytest.mark.parametrize(("machines", "apps"), [(0, 1), (1, 0), (0, 0)])
def test_nothing_to_place_or_nowhere_to_place_it(machines: int, apps: int) -> None:
    """An empty cluster is a problem like any other."""
    answer = dual(model_of(nodes(machines, 4), [app("a", 1, 1)] * apps))

    assert np.isfinite(answer.bound)
    assert answer.touched.shape == (apps,)
