"""`dorm policy`, `dorm retry`, and priorities, as a user types them."""

import json

import pytest

from events.layouts import LayoutQuality
from events.policy import LayoutConfigured, LayoutRules
from tests.api.world import World, a_ready_node
from tests.builders import a_layout, an_app, app_quarantined
from tests.cli.conftest import Dorm
from tests.cli.test_dorm import good, json_of

QUALITY = LayoutQuality(
    objective=1.75,
    bound=1.76,
    gap=0.0057,
    loss=0.25,
    loss_bound=1.2,
    touched=("a",),
    touches_max=2,
    version="dorm/1",
    fallback="the planner ran out of memory",
)


def test_policy_shows_the_rules_before_any_layout(dorm: Dorm) -> None:
    """A new cluster has rules, and nothing to judge yet."""
    lines = good(dorm("policy")).splitlines()

    assert "Policy           goodput" == lines[0]
    assert "Minimum run      10 min" in lines
    assert "No layout has been decided yet." == lines[-1]
    assert lines == good(dorm("policy", "show")).splitlines()


def test_policy_shows_how_good_the_newest_layout_is(dorm: Dorm, world: World) -> None:
    """An operator asks: is it as good as it can be, and how many were disturbed for it?"""
    decision = a_layout({"a": {"n1": 1}}, quality=QUALITY, policy="drf/2")
    world.happen(a_ready_node(), an_app("a"), an_app("b"), decision, app_quarantined("b"))

    shown = good(dorm("policy"))

    for line in (
        "Newest layout  d1 by drf/2",
        "Decided        2023-11-14 22:13:20Z, 1 change",
        "Worth          1.75, at most 1.76 is possible",
        "Gap            0.57%",
        "Fairness loss  0.25 of 1.2 allowed",
        "Disturbed      1 running app, 2 allowed",
        "Version        dorm/1",
        "Fallback       the planner ran out of memory",
        "Quarantined    b",
    ):
        assert line in shown.splitlines()
    assert (
        0.0057 == json_of(dorm("policy", "show", "-o", "json"))["last_decision"]["quality"]["gap"]
    )


def test_a_layout_of_an_older_dorm_has_no_quality(dorm: Dorm, world: World) -> None:
    """Nothing is made up for it."""
    world.happen(an_app("a"), a_layout({}))

    assert "Quality        not recorded" in good(dorm("policy")).splitlines()


def test_policy_set_takes_times_and_factors(dorm: Dorm, world: World) -> None:
    """What is not named stays as it is."""
    good(dorm("policy", "set", "--min-run", "5m", "--horizon", "1h", "--gang-wait", "90s"))
    shown = good(dorm("policy", "set", "drf", "--loss-factor", "0.3", "--touch-factor", "0.05"))

    assert "Policy           drf" in shown
    rules = LayoutRules(
        policy="drf",
        loss_factor=0.3,
        touch_factor=0.05,
        min_run_ms=300_000,
        horizon_ms=3_600_000,
        gang_wait_ms=90_000,
    )
    assert LayoutConfigured(rules=rules) == world.events[-1]
    assert "static" == json_of(dorm("policy", "set", "static", "-o", "json"))["rules"]["policy"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fair",), "'fair' is not one of 'goodput'"),
        ((), "nothing to set: give a policy or an option"),
        (
            ("--min-run", "10"),
            '--min-run: "10" must be a span of time (write 500ms, 30s, 2m or 1h)',
        ),
        (("--loss-factor", "7"), "loss_factor: 7.0 must be a number from 0 to 1 (0.2 is usual)"),
        (("--loss-factor", "nan"), "loss_factor: nan must be a number from 0 to 1 ("),
        (("--shortfall-price", "inf"), "shortfall_price: inf must be a number from 0 to 1000000"),
    ],
)
def test_wrong_rules_are_refused_in_words(
    dorm: Dorm, world: World, words: tuple[str, ...], message: str
) -> None:
    """No traceback, and no event."""
    result = dorm("policy", "set", *words)

    assert 2 == result.exit_code
    assert message in result.stderr
    assert [] == world.events


def test_a_quarantined_app_is_seen_explained_and_tried_again(dorm: Dorm, world: World) -> None:
    """From the list to the way out without reading any page."""
    world.happen(a_ready_node(), an_app("a"), app_quarantined("a", reason="no memory left"))

    assert "pending, quarantined" in good(dorm("ps"))
    assert "dorm retry a" in good(dorm("why", "a"))
    assert "Quarantine  no memory left" in good(dorm("show", "a")).splitlines()[:12]
    assert "a takes part in layouts again\n" == good(dorm("retry", "a"))
    again = dorm("retry", "a")
    assert (4, "Error: app: a is not quarantined") == (again.exit_code, again.stderr[:32])


def test_a_priority_is_set_and_shown(dorm: Dorm, world: World) -> None:
    """What decides who goes first must be seen by those who wait."""
    world.happen(an_app("a"))

    said = good(dorm("set", "a", "--priority", "-5"))

    assert "a may have 1 to 4 containers, weight 1, priority -5\n" == said
    assert -5 == json.loads(good(dorm("ps", "-o", "json")))[0]["priority"]
    assert "-5" in good(dorm("ps")).splitlines()[1].split()


def test_changed_applications_may_need_no_rest(dorm: Dorm) -> None:
    """The masters allow 0, so the command line has to let it be said."""
    assert "Minimum run      0 ms" in good(dorm("policy", "set", "--min-run", "0s")).splitlines()
