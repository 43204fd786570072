"""When the leader asks for a layout, and what it makes of an answer that comes late."""

import asyncio
from collections.abc import Sequence

import attrs

from dorm.master.metrics import Metrics
from dorm.master.planning import STALE_MAX, Planning
from dorm.planner.port import Plan
from events.apps import AppQuarantined
from events.catalog import KIND_OF, Event
from events.state import ClusterState
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_completed,
    container_exited,
    container_started,
    layout_due,
    node_lost,
    state_of,
)
from tests.master.scripted import ScriptedPlanner, then
from tests.master.world import World, in_world

MOMENT_S = 0.11  # more than a change waits in a small cluster
NODES = (a_node("n1"), a_node("n2"))


@attrs.define
class Leader:
    """What a term does with its planning, and nothing else."""

    planning: Planning
    planner: ScriptedPlanner
    metrics: Metrics
    woken: asyncio.Event

    def look(self, state: ClusterState) -> tuple[Event, ...]:
        """One pass."""
        return self.planning.facts(state)

    async def answer(self, state: ClusterState) -> tuple[Event, ...]:
        """Look, wait for the plan that this starts, and look again."""
        facts = self.look(state)
        if facts:
            return facts
        await asyncio.sleep(self.planner.takes_s + 0.01)
        return self.look(state)


def a_leader(world: World, planner: ScriptedPlanner) -> Leader:
    """A leader at the beginning of its term."""
    woken, metrics = asyncio.Event(), Metrics()
    planning = Planning(planner, clock=world.clock, metrics=metrics, wake=woken.set)
    return Leader(planning, planner, metrics, woken)


async def settled(leader: Leader, state: ClusterState) -> ClusterState:
    """Return the state once the leader has nothing to add to it any more."""
    while True:  # Ends: the planner is at the end of its wisdom sooner or later.
        leader.look(state)
        await asyncio.sleep(MOMENT_S)
        facts = await leader.answer(state)
        if not facts:
            return state
        state = then(state, *facts)
        leader.planning.appended(facts)


def kinds(facts: Sequence[Event]) -> list[str]:
    """Return the wire names."""
    return [KIND_OF[type(fact)] for fact in facts]


def test_a_burst_of_submits_is_one_plan() -> None:
    """Planned for one by one, the first would get what the others take away again."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner())
        state = state_of(*NODES)
        for index in range(5):
            state = then(state, an_app(f"a{index}"))
            assert () == leader.look(state)
            await world.clock.sleep(0.05)
        await world.clock.sleep(MOMENT_S)
        facts = await leader.answer(state)

        assert ["layout.decided/2"] == kinds(facts)
        assert [state] == leader.planner.asked

    in_world(test)


def test_the_leader_is_told_when_to_look_again() -> None:
    """By the clock while a change waits, by a wake-up when the plan is there."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner(takes_s=1.0))
        state = state_of(*NODES, an_app("a"))
        leader.look(state)

        assert 0.09 < (leader.planning.due_in_s or 0) < 0.11
        await world.clock.sleep(MOMENT_S)
        leader.look(state)
        assert leader.planning.due_in_s is None
        await world.clock.sleep(0.5)
        assert not leader.woken.is_set()
        await world.clock.sleep(0.6)
        assert leader.woken.is_set()

    in_world(test)


def test_a_lost_node_and_a_release_are_planned_for_at_once() -> None:
    """Containers are missing, or room is idle: no reason to wait for more."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner())
        state = await settled(leader, state_of(*NODES, an_app("a", max=2), an_app("b", max=2)))
        asked = len(leader.planner.asked)
        state = then(state, node_lost("n2"))

        await leader.answer(state)
        assert asked + 1 == len(leader.planner.asked)
        state = await settled(leader, state)
        asked = len(leader.planner.asked)
        state = then(
            state,
            a_generation("a", generation=state.apps["a"].target_generation),
            container_exited("a", generation=state.apps["a"].target_generation),
            app_completed("a"),
        )
        assert "a" not in state.apps
        await leader.answer(state)
        assert asked + 1 == len(leader.planner.asked)

    in_world(test)


def test_a_plan_whose_problem_has_changed_meanwhile_is_made_again() -> None:
    """It would leave the newcomer out."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner(takes_s=2.0))
        before = state_of(*NODES, an_app("a"))
        leader.look(before)
        await world.clock.sleep(MOMENT_S)
        leader.look(before)
        after = then(before, an_app("b"))
        await world.clock.sleep(2.1)

        assert () == leader.look(after)
        await world.clock.sleep(2.1)
        assert ["layout.decided/2"] == kinds(leader.look(after))
        assert [before, after] == leader.planner.asked

    in_world(test)


def test_a_plan_is_good_when_only_something_else_has_happened() -> None:
    """Containers report all the time; that does not change who should get what."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner(takes_s=2.0))
        before = state_of(*NODES, an_app("z", max=1), a_layout({"z": {"n1": 1}}), a_generation("z"))
        before = then(before, an_app("a"))
        leader.look(before)
        await world.clock.sleep(MOMENT_S)
        leader.look(before)
        after = then(before, container_started("z"))
        await world.clock.sleep(2.1)

        assert ["layout.decided/2"] == kinds(leader.look(after))

    in_world(test)


def test_in_a_cluster_that_never_rests_a_sound_plan_will_do() -> None:
    """Waiting for a plan that nothing overtakes would be waiting for ever."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner(takes_s=2.0))
        state = state_of(*NODES, an_app("a"))
        leader.look(state)
        await world.clock.sleep(MOMENT_S)
        answers = []
        for index in range(STALE_MAX + 2):
            answers.append(leader.look(state))
            state = then(state, an_app(f"b{index}"))
            await world.clock.sleep(2.1)
        answers.append(leader.look(state))

        assert [()] * (STALE_MAX + 1) == answers[: STALE_MAX + 1]
        assert ["layout.decided/2"] == kinds(answers[STALE_MAX + 1])

    in_world(test)


def test_a_plan_for_a_generation_that_has_begun_is_never_appended() -> None:
    """The fold would drop it, and the auditor would find a decision that nobody followed."""

    async def test(world: World) -> None:
        answers = iter([Plan(decisions=(a_layout({"a": {"n1": 1}}, generation=1),))])
        planner = ScriptedPlanner(answer=lambda _: next(answers, Plan()))
        leader = a_leader(world, planner)
        before = state_of(*NODES, an_app("a", max=1), a_layout({"a": {"n2": 1}}))
        leader.look(before)
        await world.clock.sleep(MOMENT_S)
        leader.look(before)
        after = then(before, a_generation("a", "n2"))
        for _ in range(STALE_MAX + 3):
            await world.clock.sleep(MOMENT_S)
            assert () == leader.look(after)
        assert [before, after] == planner.asked

    in_world(test)


def test_an_answer_is_not_asked_for_twice_until_time_makes_it_another_question() -> None:
    """A settled cluster costs nothing."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner())
        state = await settled(leader, state_of(*NODES, an_app("a", min=100, max=100)))
        asked = len(leader.planner.asked)
        for _ in range(10):
            leader.look(then(state, a_node("n1", address="elsewhere")))
            await world.clock.sleep(1)
        state = await settled(leader, state)

        assert asked == len(leader.planner.asked)
        await settled(leader, then(state, layout_due(600_000)))
        assert asked + 1 == len(leader.planner.asked)

    in_world(test)


def test_a_plan_that_did_not_reach_the_log_is_made_again() -> None:
    """An append without an answer may have failed; the state tells, nothing else does."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner())
        state = state_of(*NODES, an_app("a"))
        leader.look(state)
        await world.clock.sleep(MOMENT_S)
        lost = await leader.answer(state)

        assert ["layout.decided/2"] == kinds(lost)
        await world.clock.sleep(MOMENT_S)
        assert lost == await leader.answer(state)

    in_world(test)


def test_a_quarantine_is_recorded_and_the_next_plan_does_without_the_application() -> None:
    """At once: until then everybody has a greedy layout."""

    async def test(world: World) -> None:
        bad = AppQuarantined(app_id="bad", reason="no memory left")
        answers = iter([Plan(quarantined=(bad,)), Plan()])
        planner = ScriptedPlanner(answer=lambda _: next(answers))
        leader = a_leader(world, planner)
        state = state_of(*NODES, an_app("bad"))
        leader.look(state)
        await world.clock.sleep(MOMENT_S)

        assert (bad,) == await leader.answer(state)
        after = then(state, bad)
        leader.look(after)
        await asyncio.sleep(0)
        assert [state, after] == planner.asked
        assert b"dorm_layout_quarantines_total 1.0" in leader.metrics.scrape()

    in_world(test)


def test_a_planner_with_more_to_find_out_is_asked_again_at_once() -> None:
    """The search for an application that makes planning fail goes on between two events."""

    async def test(world: World) -> None:
        answers = iter([Plan(again=True, fallback="it died"), Plan(again=True), Plan()])
        planner = ScriptedPlanner(answer=lambda _: next(answers))
        leader = a_leader(world, planner)
        state = state_of(*NODES, an_app("a"))
        leader.look(state)
        await world.clock.sleep(MOMENT_S)
        for _ in range(8):
            leader.look(state)
            await asyncio.sleep(0)

        assert 3 == len(planner.asked)
        assert b"dorm_layout_fallbacks_total 1.0" in leader.metrics.scrape()

    in_world(test)


def test_the_end_of_a_term_gives_up_the_plan() -> None:
    """Nobody is left who could append it."""

    async def test(world: World) -> None:
        leader = a_leader(world, ScriptedPlanner(takes_s=100.0))
        state = state_of(*NODES, an_app("a"))
        leader.look(state)
        await world.clock.sleep(MOMENT_S)
        leader.look(state)
        await world.clock.sleep(1)
        await leader.planning.stop()

        assert 1 == leader.planner.cancelled

    in_world(test)
