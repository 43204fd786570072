"""The API over HTTP: what programs rely on."""

import asyncio

import httpx
import pytest
from starlette.requests import Request

from dorm.api import faults
from dorm.api.routes import build
from dorm.spec import from_yaml, to_plain
from dorm.status import NodeStatus, Progress
from events.apps import AppCancelRequested, AppChanged, AppSubmitted, Scale
from events.errors import Corrupt
from events.log import MemoryLog
from events.nodes import NodeForgotten
from tests.api.world import World, a_ready_node, error_of, submit
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_completed,
    container_exited,
    container_started,
    node_expelled,
    node_fenced,
    node_lost,
)
from tests.spec.texts import a_text


def test_a_submit_makes_an_application_with_an_id_of_its_own(
    world: World, http: httpx.Client
) -> None:
    """Names may repeat; ids never do."""
    answer = submit(http)

    assert (answer.status_code, answer.json()) == (
        201,
        {"id": "digits-t0001", "revision": 1, "duplicate": False},
    )
    assert world.events == [AppSubmitted(app_id="digits-t0001", spec=from_yaml(a_text()))]
    assert world.log.recorded[0].stamp.actor == "user/ann"


def test_a_submit_that_comes_again_makes_no_second_application(
    world: World, http: httpx.Client
) -> None:
    """A client whose answer was lost must be able to ask again."""
    submit(http)

    again = submit(http)

    assert (again.status_code, again.json()["id"]) == (200, "digits-t0001")
    assert len(world.events) == 1


def test_a_key_that_was_used_for_another_spec_is_a_conflict(http: httpx.Client) -> None:
    """Returning the first application would hide that the second was never made."""
    submit(http)

    error = error_of(submit(http, a_text(weight="2")), 409)

    assert error["value"] == "k1"


def test_json_is_taken_too(http: httpx.Client) -> None:
    """Programs write JSON; the fields are the same."""
    spec = to_plain(from_yaml(a_text()))

    answer = http.post("/v1/apps", json=spec, headers={"Idempotency-Key": "k"})

    assert answer.status_code == 201


def test_all_faults_of_a_spec_come_in_one_answer(world: World, http: httpx.Client) -> None:
    """And nothing is submitted."""
    error = error_of(submit(http, a_text(name=None, weight="0")), 400)

    assert [fault["field"] for fault in error["faults"]] == ["name", "weight"]
    assert error["field"] == "name"
    assert world.events == []


@pytest.mark.parametrize("key", ["", "a b", "ü", "x" * 129, "a/b"])
def test_a_submit_needs_a_sound_key(http: httpx.Client, key: str) -> None:
    """The key becomes part of a key of etcd."""
    headers = [(b"Idempotency-Key", key.encode())]

    answer = http.post("/v1/apps", content=a_text(), headers=headers)

    assert error_of(answer, 400)["field"] == "Idempotency-Key"


def test_a_body_without_end_is_refused_early(http: httpx.Client) -> None:
    """A master that reads whatever comes can be filled up by one request."""
    error = error_of(submit(http, "x" * 200_000), 413)

    assert error["field"] == "body"


def test_a_body_that_announces_its_size_is_refused_unread(http: httpx.Client) -> None:
    """Whoever sends 4 GiB is told so before the first byte of them."""
    headers = {"Idempotency-Key": "k", "Content-Length": str(4 << 30)}

    assert error_of(http.post("/v1/apps", content="x", headers=headers), 413)


def test_a_failure_that_nobody_foresaw_has_the_shape_of_every_refusal(world: World) -> None:
    """A log that cannot be trusted is said so; a bug of Dorm is not told to strangers."""
    answers = {
        str(error): asyncio.run(faults.on_failure(Request({"type": "http"}), error))
        for error in (Corrupt("event 7 is damaged"), ZeroDivisionError("secret"))
    }

    assert [answer.status_code for answer in answers.values()] == [500, 500]
    assert b"event 7 is damaged" in answers["event 7 is damaged"].body
    assert b"secret" not in answers["secret"].body
    assert Exception in build(world.service, world.logs).exception_handlers


def test_an_odd_user_name_is_refused(http: httpx.Client) -> None:
    """It would go into the history for ever."""
    answer = http.post("/v1/apps/a/cancel", headers={"Dorm-User": "a b\tc"})

    assert error_of(answer, 400)["field"] == "Dorm-User"


def test_a_log_that_does_not_answer_is_a_503_with_a_time_to_wait(
    world: World, http: httpx.Client
) -> None:
    """The submit may have been written: the client must try again with the same key."""
    world.view.behind = True

    answer = submit(http)

    error_of(answer, 503)
    assert answer.headers["Retry-After"] == "1"
    world.view.behind = False
    assert submit(http).json() == {"id": "digits-t0001", "revision": 1, "duplicate": True}


def test_unknown_paths_and_methods_answer_in_json(http: httpx.Client) -> None:
    """A client that parses errors must not meet HTML."""
    assert error_of(http.get("/v1/nothing"), 404)["value"] == "/v1/nothing"
    assert error_of(http.delete("/v1/apps"), 405)["field"] == "DELETE"


def test_applications_are_listed_unfinished_first_of_all(http: httpx.Client, world: World) -> None:
    """The usual question is what runs now; the past is asked for."""
    world.happen(a_ready_node(), an_app("old"), app_completed("old"), an_app("new"))

    now = http.get("/v1/apps").json()["apps"]
    every = http.get("/v1/apps?all=1").json()["apps"]

    assert [app["id"] for app in now] == ["new"]
    assert [(app["id"], app["phase"]) for app in every] == [
        ("old", "completed"),
        ("new", "pending"),
    ]


def test_an_application_shows_its_containers_and_progress(http: httpx.Client, world: World) -> None:
    """Everything that `dorm show` prints comes from here."""
    world.happen(
        a_ready_node("n1"),
        a_ready_node("n2"),
        an_app("a", max=2),
        a_layout({"a": {"n1": 1, "n2": 1}}),
        a_generation("a", "n1", "n2"),
        container_started("a", rank=0, node_id="n1"),
        container_exited("a", rank=1, node_id="n2", exit_code=1),
    )
    progress = Progress(generation=1, step=70, total=100, loss=0.5)
    world.view.told["n1"] = NodeStatus(node_id="n1", incarnation="x", progress={"a": progress})

    page = http.get("/v1/apps/a").json()

    assert (page["phase"], page["size"], page["granted"]) == ("starting", 1, 2)
    assert page["progress"] == {"generation": 1, "step": 70, "total": 100, "loss": 0.5}
    assert [one["state"] for one in page["containers"]] == ["running", "exited"]
    assert page["containers"][1]["exit"]["exit_code"] == 1
    assert page["partition"] == {"n1": 1, "n2": 1}


@pytest.mark.parametrize("wanted", ["digits-t0001", "digits", "digits-t"])
def test_an_application_is_found_by_id_name_or_beginning(http: httpx.Client, wanted: str) -> None:
    """People type what they remember."""
    submit(http)

    assert http.get(f"/v1/apps/{wanted}").json()["id"] == "digits-t0001"


def test_a_name_that_means_several_is_a_conflict_that_lists_them(http: httpx.Client) -> None:
    """Guessing would cancel the wrong one."""
    submit(http, key="k1")
    submit(http, key="k2")

    error = error_of(http.get("/v1/apps/digits"), 409)

    assert "digits-t0001, digits-t0002" in error["rule"]


def test_a_name_means_the_one_that_is_not_finished(http: httpx.Client, world: World) -> None:
    """The same name is submitted every day; the past ones are in nobody's way."""
    world.happen(an_app("d-1", name="d"), app_completed("d-1"), an_app("d-2", name="d"))

    assert http.get("/v1/apps/d").json()["id"] == "d-2"


def test_what_is_not_there_is_a_404(http: httpx.Client) -> None:
    """With a way out."""
    assert "dorm ps" in error_of(http.get("/v1/apps/nothing"), 404)["hint"]
    assert "dorm nodes" in error_of(http.post("/v1/nodes/n9/forget"), 404)["hint"]


def test_cancelling_twice_asks_once(http: httpx.Client, world: World) -> None:
    """A client whose answer was lost asks again."""
    world.happen(an_app("a"))

    first, second = http.post("/v1/apps/a/cancel"), http.post("/v1/apps/a/cancel")

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["phase"] == "cancelling"
    assert world.events.count(AppCancelRequested(app_id="a")) == 1


def test_what_has_ended_cannot_be_cancelled_or_changed(http: httpx.Client, world: World) -> None:
    """Saying yes would be a lie."""
    world.happen(an_app("a"), app_completed("a"))

    assert "already completed" in error_of(http.post("/v1/apps/a/cancel"), 409)["rule"]
    error_of(http.patch("/v1/apps/a", json={"weight": 2}), 409)


def test_a_minimum_that_would_stop_the_application_is_refused(
    http: httpx.Client, world: World
) -> None:
    """A gang is all or nothing: one that cannot be met would cost the user all that runs."""
    world.happen(a_node("n1", cpus=4), an_app("a", max=9))
    world.happen(a_layout({"a": {"n1": 4}}), a_generation("a", "n1", "n1", "n1", "n1"))

    error = error_of(http.patch("/v1/apps/a", json={"min": 5}), 409)

    assert (error["field"], error["value"]) == ("min", "5")
    assert http.patch("/v1/apps/a", json={"min": 4}).status_code == 200


def test_bounds_and_weight_are_changed_one_by_one(http: httpx.Client, world: World) -> None:
    """What is not named stays as it is."""
    world.happen(an_app("a", min=1, max=4))

    answer = http.patch("/v1/apps/a", json={"max": 8})
    http.patch("/v1/apps/a", json={"weight": 3})

    assert (answer.json()["min"], answer.json()["max"]) == (1, 8)
    assert world.events[1:] == [
        AppChanged(app_id="a", scale=Scale(min=1, max=8)),
        AppChanged(app_id="a", weight=3.0),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("{", "body"),
        ("{}", "body"),
        ("[1]", "body"),
        ('{"size": 3}', "body"),
        ('{"min": 0}', "min"),
        ('{"min": 5}', "max"),
        ('{"max": 1.5}', "max"),
        ('{"max": true}', "max"),
        ('{"max": 100000}', "max"),
        ('{"weight": 0}', "weight"),
        ('{"weight": NaN}', "weight"),
        ('{"weight": "2"}', "weight"),
        ('{"weight": 1e999}', "weight"),
        ("[" * 5000, "body"),
    ],
)
def test_a_change_that_is_not_possible_is_refused(
    http: httpx.Client, world: World, body: str, field: str
) -> None:
    """And leaves no event."""
    world.happen(an_app("a", min=1, max=4))

    assert error_of(http.patch("/v1/apps/a", content=body), 400)["field"] == field
    assert len(world.events) == 1


def test_only_a_lost_node_can_be_forgotten(http: httpx.Client, world: World) -> None:
    """Its containers would run twice."""
    world.happen(a_ready_node())
    error_of(http.post("/v1/nodes/n1/forget"), 409)
    world.happen(node_lost())

    answer = http.post("/v1/nodes/n1/forget")

    assert answer.json() == {"id": "n1", "forgotten": True}
    assert world.events[-1] == NodeForgotten(node_id="n1")


def test_a_node_that_is_being_fenced_off_is_not_forgotten_meanwhile(
    http: httpx.Client, world: World
) -> None:
    """Its tenure would stay open for ever, and no other agent could take the name."""
    world.happen(a_node("n1", tenure="n1-t1"))
    for event, state in ((node_lost(), "lost"), (node_expelled(), "expelled")):
        world.happen(event)
        error_of(http.post("/v1/nodes/n1/forget"), 409)
        assert [node["state"] for node in http.get("/v1/nodes").json()["nodes"]] == [state]
    world.happen(node_fenced())

    assert http.post("/v1/nodes/n1/forget").status_code == 200


def test_a_whole_number_may_be_written_with_a_point(http: httpx.Client, world: World) -> None:
    """JSON has one kind of number, and so has the published document: 3.0 is 3."""
    world.happen(an_app("a"))

    answers = (
        http.patch("/v1/apps/a", json={"min": 2.0, "max": 3.0, "priority": -1.0}),
        http.patch("/v1/policy", json={"static_containers": 4.0}),
    )

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [repr(answers[0].json()[field]) for field in ("min", "max", "priority")] == [
        "2",
        "3",
        "-1",
    ]
    assert repr(answers[1].json()["rules"]["static_containers"]) == "4"
    error_of(http.patch("/v1/apps/a", json={"max": 3.5}), 400)
    error_of(http.patch("/v1/policy", json={"static_containers": 1e300}), 400)


def test_the_log_stand_in_is_the_real_one() -> None:
    """These tests stand on the log that passes the contract of all logs."""
    assert isinstance(World().log, MemoryLog)
