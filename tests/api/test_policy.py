"""The rules of layouts and quarantines over HTTP."""

import httpx
import pytest

from events.apps import AppChanged, AppUnquarantined
from events.layouts import LayoutQuality
from events.policy import LayoutConfigured, LayoutRules
from tests.api.world import World, a_ready_node, error_of
from tests.builders import (
    BY_TEST,
    a_layout,
    an_app,
    app_quarantined,
    layout_configured,
)


def test_the_rules_have_defaults_before_anybody_sets_them(http: httpx.Client) -> None:
    """A new cluster decides by something, and tells by what."""
    page = http.get("/v1/policy").json()

    assert ("goodput", 0.2, 600_000) == (
        page["rules"]["policy"],
        page["rules"]["loss_factor"],
        page["rules"]["min_run_ms"],
    )
    assert (None, []) == (page["last_decision"], page["quarantined"])


def test_setting_one_rule_leaves_the_others(http: httpx.Client, world: World) -> None:
    """An operator who tries another policy keeps the price that took weeks to find."""
    http.patch("/v1/policy", json={"shortfall_price": 3, "min_run_ms": 0})
    answer = http.patch("/v1/policy", json={"policy": "utilization"}, headers={"Dorm-User": "olga"})

    expected = LayoutRules(policy="utilization", shortfall_price=3.0, min_run_ms=0)
    assert LayoutConfigured(rules=expected) == world.events[-1]
    assert "user/olga" == world.log.recorded[-1].stamp.actor
    assert "utilization" == answer.json()["rules"]["policy"]


def test_what_is_so_already_is_not_set_again(http: httpx.Client, world: World) -> None:
    """Each setting makes the masters decide anew; a script may say the same every minute."""
    world.happen(layout_configured(policy="drf"))

    assert http.patch("/v1/policy", json={"policy": "drf"}).status_code == 200
    assert len(world.events) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "body: is not valid JSON"),
        ("[]", "body: must name some of policy, loss_factor"),
        ("{}", "body: must name some of policy, loss_factor"),
        ('{"theta": 1}', "body: must name some of policy, loss_factor"),
        (
            '{"policy": "fair"}',
            "policy: fair must be one of goodput, utilization, drf, static, two-level (",
        ),
        ('{"policy": ["drf"]}', "policy: ['drf'] must be one of goodput, "),
        ('{"loss_factor": 1.5}', "loss_factor: 1.5 must be a number from 0 to 1 (0.2 is usual)"),
        ('{"touch_factor": -0.1}', "touch_factor: -0.1 must be a number from 0 to 1"),
        ('{"loss_factor": NaN}', "loss_factor: nan must be a number from 0 to 1"),
        ('{"loss_factor": true}', "loss_factor: True must be a number from 0 to 1"),
        ('{"shortfall_price": 1e999}', "shortfall_price: inf must be a number from 0 to 1000000"),
        ('{"horizon_ms": 0}', "horizon_ms: 0 must be a whole number from 1 to 604800000"),
        ('{"min_run_ms": 1.5}', "min_run_ms: 1.5 must be a whole number from 0 to 604800000"),
        ('{"gang_wait_ms": "10m"}', "gang_wait_ms: 10m must be a whole number from 0"),
        ('{"static_containers": 0}', "static_containers: 0 must be a whole number from 1 to 10000"),
        ('{"static_containers": null}', "static_containers: None must be a whole number from 1"),
    ],
)
def test_rules_that_are_not_possible_are_refused(
    http: httpx.Client, world: World, body: str, message: str
) -> None:
    """With field, value, rule and way out; and they leave no event."""
    answer = http.patch("/v1/policy", content=body)

    assert error_of(answer, 400)["message"].startswith(message)
    assert [] == world.events


def test_the_newest_layout_tells_how_good_it_is(http: httpx.Client, world: World) -> None:
    """The gap is a certificate: nothing better exists than that."""
    quality = LayoutQuality(objective=1.75, bound=2.0, gap=0.125, touched=("a",), touches_max=1)
    decision = a_layout({"a": {"n1": 2}}, quality=quality, policy="goodput/1")
    world.happen(a_ready_node(), an_app("a"), decision, app_quarantined("a"))

    page = http.get("/v1/policy").json()

    assert ["a"] == page["quarantined"]
    last = page["last_decision"]
    assert ("goodput/1", 3, BY_TEST.at_ms, 1) == (
        last["policy"],
        last["revision"],
        last["at_ms"],
        last["changed"],
    )
    assert (0.125, ["a"], "") == (
        last["quality"]["gap"],
        last["quality"]["touched"],
        last["quality"]["fallback"],
    )


def test_a_quarantine_is_shown_and_ended(http: httpx.Client, world: World) -> None:
    """The user of a quarantined application must see it, and know the way out."""
    world.happen(a_ready_node(), an_app("a"), app_quarantined("a", reason="no memory left"))

    (row,) = http.get("/v1/apps").json()["apps"]
    why = http.get("/v1/apps/a/why").json()
    answer = http.post("/v1/apps/a/retry")

    assert "no memory left" == row["quarantine"]
    assert ("Quarantined", True) == (why["code"], "dorm retry a" in why["hint"])
    assert (202, "") == (answer.status_code, answer.json()["quarantine"])
    assert AppUnquarantined(app_id="a") == world.events[-1]


def test_only_what_is_quarantined_can_be_retried(http: httpx.Client, world: World) -> None:
    """A user may take the word for starting a failed training again."""
    world.happen(an_app("a"))

    error = error_of(http.post("/v1/apps/a/retry"), 409)

    assert "app: a is not quarantined (see what it waits for with dorm why a)" == error["message"]
    assert 404 == http.post("/v1/apps/b/retry").status_code
    assert len(world.events) == 1


def test_a_priority_is_changed_within_its_bounds(http: httpx.Client, world: World) -> None:
    """And is shown with the application."""
    world.happen(an_app("a"))

    answer = http.patch("/v1/apps/a", json={"priority": -7})
    error = error_of(http.patch("/v1/apps/a", json={"priority": 1001}), 400)

    assert -7 == answer.json()["priority"]
    assert AppChanged(app_id="a", priority=-7) == world.events[-1]
    assert "priority: 1001 must be from -1000 to 1000 (0 is usual)" == error["message"]
    assert 400 == http.patch("/v1/apps/a", json={"priority": 1.5}).status_code
