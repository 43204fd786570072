"""Finding the application that makes planning fail, and going on without it."""

from structlog.testing import capture_logs

from dorm.planner.port import Plan
from dorm.planner.supervisor import QUARANTINES_MAX, ChildPlanner
from events.apps import AppQuarantined
from events.catalog import Event
from events.fold import fold
from events.layouts import LayoutDecided, join
from events.recorded import Recorded
from events.state import ClusterState
from tests.builders import BY_TEST, a_node, an_app, app_unquarantined, state_of
from tests.planner.conftest import NewPlanner

CALLS_MAX = 40


def then(state: ClusterState, *events: Event) -> ClusterState:
    """The state after more events, each at the next revision."""
    return fold(
        (
            Recorded(event_id=f"t-{revision}-0", revision=revision, stamp=BY_TEST, event=event)
            for revision, event in enumerate(events, start=state.revision + 1)
        ),
        state,
    )


async def settle(planner: ChildPlanner, state: ClusterState) -> tuple[ClusterState, list[Plan]]:
    """Call the planner as a master does, until it has nothing more to find out."""
    plans = []
    for _ in range(CALLS_MAX):
        plan = await planner.plan(state)
        plans.append(plan)
        facts: tuple[AppQuarantined | LayoutDecided, ...] = plan.quarantined or plan.decisions
        state = then(state, *facts)
        if not plan.again and not plan.quarantined:
            return state, plans
    raise AssertionError("the planner never settled")


def a_cluster(*names: str) -> ClusterState:
    """A node of 1,000 cpus, and an application of each name."""
    return state_of(a_node("n1", cpus=1000, memory_gib=1000), *(an_app(name) for name in names))


def quarantined(state: ClusterState) -> dict[str, str]:
    """Return who is in quarantine, and why."""
    return {app.app_id: app.quarantine for app in state.apps.values() if app.quarantine}


async def test_one_bad_application_among_fifty_is_found_and_the_others_go_on(
    new_planner: NewPlanner,
) -> None:
    """In some log2(50) trials, and everybody had a layout after the first call."""
    names = [f"a-{index}" for index in range(50)]
    names[17] = "raise-17"
    state, plans = await settle(new_planner(), a_cluster(*names))

    assert {"raise-17": "the planner failed: RuntimeError: division by a spec"} == quarantined(
        state
    )
    assert 50 == len(join(plans[0].decisions))
    assert len(plans) <= 10
    assert "" == plans[-1].fallback


async def test_what_is_new_is_suspected_first(new_planner: NewPlanner) -> None:
    """An application that was planned with before is not held out for a trial."""
    planner = new_planner()
    state, _ = await settle(planner, a_cluster(*(f"a-{index}" for index in range(50))))
    state, plans = await settle(planner, then(state, an_app("exit-1")))

    assert ["exit-1"] == list(quarantined(state))
    assert 3 == len(plans)  # the greedy policy, one trial, and the policy again


async def test_a_search_does_not_keep_an_arrival_waiting(new_planner: NewPlanner) -> None:
    """Trials may take minutes of CPU; a newcomer gets its place between two of them."""
    planner = new_planner()
    state = a_cluster(*(f"raise-{index}" for index in range(3)))
    first = await planner.plan(state)
    state = then(state, *first.decisions, an_app("late"))
    second = await planner.plan(state)

    assert second.again
    assert ["late"] == list(join(second.decisions))


async def test_of_two_that_do_not_go_together_the_newer_one_goes(new_planner: NewPlanner) -> None:
    """Neither is bad alone. The older one came first."""
    state, _ = await settle(new_planner(), a_cluster("a", "pair-1", "b", "pair-2"))

    assert ["pair-2"] == list(quarantined(state))


async def test_an_application_that_is_released_is_tried_again(new_planner: NewPlanner) -> None:
    """And found again, if nothing was repaired."""
    planner = new_planner()
    state, _ = await settle(planner, a_cluster("raise-1"))
    state, _ = await settle(planner, then(state, app_unquarantined("raise-1")))

    assert ["raise-1"] == list(quarantined(state))


async def test_the_search_for_many_ends(new_planner: NewPlanner) -> None:
    """If so many are bad, it is not they who are; the greedy policy stays in charge."""
    planner = new_planner()
    state, plans = await settle(planner, a_cluster(*(f"raise-{i}" for i in range(4))))

    assert QUARANTINES_MAX == len(quarantined(state))
    assert plans[-1].fallback
    assert all(app.partition for app in state.apps.values())
    with capture_logs() as logs:
        later = await planner.plan(then(state, an_app("late")))
    assert ("drf/1", False) == (later.decisions[0].policy, later.again)
    assert "planner.failed" not in {line["event"] for line in logs}  # It was not even tried.


async def test_nobody_is_quarantined_for_a_child_that_always_fails(new_planner: NewPlanner) -> None:
    """A broken installation is no application's fault."""
    planner = new_planner(command=["/bin/false"])
    state, plans = await settle(planner, a_cluster("a", "b"))

    assert {} == quarantined(state)
    assert "the planner ended with exit code 1" == plans[-1].fallback
