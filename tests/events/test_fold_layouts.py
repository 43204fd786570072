"""The fold's rules about when a layout is to be decided, by which rules, and without whom."""

import attrs
import pytest

from events.catalog import Event
from events.fold import fold
from events.layouts import LayoutQuality
from events.log import MemoryLog
from events.policy import LayoutRules
from events.recorded import Stamp
from events.state import ClusterState
from tests import builders as b

MIN = 60_000
SETTLED = (
    b.a_node("n1"),
    b.an_app("a"),
    b.a_layout({"a": {"n1": 1}}, problem_hash="p1"),
)


def state_at(*timed: tuple[int, Event]) -> ClusterState:
    """The state after events at these times, of which none was senseless."""
    log = MemoryLog()
    for at_ms, event in timed:
        log.record(event, stamp=Stamp(at_ms=at_ms, actor="master/m1"))
    state = fold(log.recorded)
    assert {} == state.ignored
    return state


def test_rules_are_set_as_a_whole() -> None:
    """Whoever reads the newest event knows all of them."""
    first = b.layout_configured(loss_factor=0.05)
    state = b.state_of(first, b.layout_configured(policy="drf"))

    assert LayoutRules(policy="drf") == state.rules
    assert LayoutRules() == ClusterState().rules


def test_a_decision_settles_its_problem() -> None:
    """While a state poses the same problem there is nothing to decide."""
    assert "p1" == b.state_of(*SETTLED).settled


def test_only_a_whole_decision_settles_anything() -> None:
    """The half of it changed nothing yet."""
    parts = [b.a_layout({"a": {}}, part=part, parts=2, problem_hash="p2") for part in (1, 2)]

    assert "p1" == b.state_of(*SETTLED, parts[0]).settled
    assert "p2" == b.state_of(*SETTLED, *parts).settled


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((b.layout_due(),), id="time passed"),
        pytest.param((b.layout_configured(),), id="the rules were set"),
        pytest.param((b.app_quarantined("a"),), id="an app is left out"),
        pytest.param((b.a_layout({}),), id="a decision of an older Dorm, which kept no hash"),
    ],
)
def test_what_is_no_part_of_the_problem_unsettles_it(events: tuple[Event, ...]) -> None:
    """The problem looks the same as before, and yet its answer may be another one."""
    assert "" == b.state_of(*SETTLED, *events).settled


@pytest.mark.parametrize("end", [b.app_unquarantined("a"), b.app_changed("a", weight=2.0)])
def test_a_quarantine_ends_by_word_or_by_change(end: Event) -> None:
    """A change may have cured what was wrong; nobody should have to know of the quarantine."""
    out = b.state_of(*SETTLED, b.app_quarantined("a", reason="no memory left"))
    decided = (*SETTLED, b.app_quarantined("a"), b.a_layout({}, problem_hash="p2"))
    back = b.state_of(*decided, end)

    assert ("no memory left", ["n1"]) == (out.apps["a"].quarantine, list(out.apps["a"].partition))
    assert ("", "") == (back.apps["a"].quarantine, back.settled)


def test_a_change_of_a_sound_app_leaves_the_rest_settled() -> None:
    """Whether a change of weight poses another problem, the problem's hash tells."""
    assert "p1" == b.state_of(*SETTLED, b.app_changed("a", weight=2.0)).settled


def test_what_ends_is_quarantined_no_more() -> None:
    """A finished application waits for nothing."""
    state = b.state_of(*SETTLED, b.app_quarantined("a"), b.app_cancelled("a"))

    assert "" == state.finished["a"].quarantine


def test_the_newest_decision_is_remembered_with_its_quality() -> None:
    """`dorm policy` tells how good the layout in force is, long after it was decided."""
    quality = LayoutQuality(objective=1.5, bound=1.6, gap=0.0625)
    parts = (
        b.a_layout({"a": {"n1": 1}}, part=1, parts=2, quality=quality),
        b.a_layout({"b": {"n1": 1}}, part=2, parts=2),
    )

    last = b.state_of(b.an_app("a"), b.an_app("b"), *parts).last_decision

    assert last is not None
    assert ("d1", "drf/1", 4, 2, quality, b.BY_TEST.at_ms) == (
        last.decision_id,
        last.policy,
        last.revision,
        last.changed,
        last.quality,
        last.at_ms,
    )


def test_time_never_goes_back() -> None:
    """The clock of one master may be behind that of another, and an agent's behind both."""
    state = state_at((1000, b.an_app("a")), (400, b.a_node("n1")), (700, b.an_app("b")))

    assert 1000 == state.now_ms
    assert 1000 == state.apps["b"].waiting_since_ms


def test_a_measured_wait_counts_whatever_the_clock_says() -> None:
    """A new leader's clock may be hours behind; a gang must not wait hours longer for that."""
    decided = b.a_layout({}, problem_hash="p1")
    state = state_at((100 * MIN, decided), (5 * MIN, b.layout_due(10 * MIN)))
    again = state_at(
        (100 * MIN, decided),
        (5 * MIN, b.layout_due(10 * MIN)),
        (16 * MIN, b.layout_due(11 * MIN)),
    )

    assert (110 * MIN, 110 * MIN) == (state.now_ms, state.looked_at_ms)
    assert (121 * MIN, 121 * MIN) == (again.now_ms, again.looked_at_ms)


def test_a_wait_is_not_counted_on_top_of_a_clock_that_went_on() -> None:
    """Ten minutes are ten minutes, whether they were measured or read off a wall clock."""
    state = state_at((100 * MIN, b.a_layout({})), (110 * MIN, b.layout_due(10 * MIN)))

    assert 110 * MIN == state.now_ms


def test_an_app_waits_from_its_submit_and_again_when_it_loses_everything() -> None:
    """Gangs are served after a wait; what has room does not wait."""
    events: list[tuple[int, Event]] = [
        (1 * MIN, b.an_app("a")),
        (2 * MIN, b.a_layout({"a": {"n1": 1}})),
        (5 * MIN, b.a_layout({"a": {"n1": 2}}, generation=2)),
        (9 * MIN, b.a_layout({"a": {}}, generation=3)),
        (12 * MIN, b.a_layout({"a": {}}, generation=4)),
    ]
    times = [
        (app.waiting_since_ms // MIN, (app.disturbed_at_ms or 0) // MIN)
        for app in (state_at(*events[:count]).apps["a"] for count in range(1, 6))
    ]

    assert [(1, 0), (1, 0), (1, 5), (9, 9), (9, 9)] == times


def test_a_new_number_for_the_same_places_is_no_change() -> None:
    """An application that only starts again after a failure has not been touched."""
    state = state_at(
        (1 * MIN, b.an_app("a")),
        (2 * MIN, b.a_layout({"a": {"n1": 1}})),
        (5 * MIN, b.a_layout({"a": {"n1": 1}}, generation=2)),
    )

    assert state.apps["a"].disturbed_at_ms is None


@pytest.mark.parametrize(
    ("field", "value"), [("loss_factor", float("inf")), ("touch_factor", float("nan"))]
)
def test_rules_that_could_not_be_read_again_are_not_made(field: str, value: float) -> None:
    """JSON turns infinity into null: one such event would stop every reader for ever."""
    with pytest.raises(ValueError, match=f"{field} is (inf|nan): give a number of 0 or more"):
        attrs.evolve(LayoutRules(), **{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["objective", "bound", "gap", "loss", "loss_bound"])
def test_quality_that_could_not_be_read_again_is_not_made(field: str) -> None:
    """A bound that nobody computed is not infinite: it is left out, or the objective itself."""
    with pytest.raises(ValueError, match=f"{field} is inf, which cannot be recorded"):
        attrs.evolve(LayoutQuality(), **{field: float("inf")})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prices: that of 1/gpu is nan, which cannot be recorded"):
        LayoutQuality(prices={"1/gpu": float("nan")})


def test_every_field_of_the_rules_is_kept_by_an_event() -> None:
    """A rule that is set and then forgotten is worse than one that cannot be set."""
    other = LayoutRules(
        policy="drf",
        loss_factor=0.3,
        touch_factor=0.2,
        shortfall_price=3.0,
        horizon_ms=5,
        min_run_ms=6,
        gang_wait_ms=7,
        static_containers=9,
    )
    usual = attrs.asdict(LayoutRules())

    assert not [name for name, value in attrs.asdict(other).items() if value == usual[name]]
    assert other == b.state_of(b.layout_configured(**attrs.asdict(other))).rules
