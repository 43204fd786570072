"""The published document says what the routes do: no route, field or status is missing."""

import json
from collections.abc import Iterator
from typing import Any, Final

import attrs
import httpx
import jsonschema_rs
import pytest
from hypothesis import given, settings
from starlette.routing import Route

from dorm.api.changes import Change
from dorm.api.openapi import OPERATIONS, document
from dorm.api.requests import CHANGE, RULES, SPEC
from dorm.api.routes import build
from dorm.spec import from_plain, to_plain
from dorm.spec.parse import FIELDS
from dorm.status import NodeStatus, Progress
from events.apps import AppSpec
from events.layouts import LayoutQuality
from events.policy import LayoutRules
from tests.api.conformity import differences, faults_of
from tests.api.world import World, a_ready_node
from tests.builders import (
    a_generation,
    a_layout,
    an_app,
    app_completed,
    app_quarantined,
    app_retrying,
    checkpoint_requested,
    container_exited,
    container_started,
    node_lost,
)
from tests.spec.test_properties import sound_specs
from tests.spec.texts import a_text

KEY: Final = {"Idempotency-Key": "k"}

REQUESTS: Final[dict[tuple[str, str], list[tuple[str, dict[str, Any], int]]]] = {
    ("POST", "/v1/apps"): [
        ("/v1/apps", {"content": a_text(), "headers": KEY}, 201),
        ("/v1/apps", {"content": a_text(), "headers": KEY}, 200),
        ("/v1/apps", {"content": a_text(weight="2"), "headers": KEY}, 409),
        ("/v1/apps", {"content": "name: X\nimage: 1\n", "headers": KEY}, 400),
        ("/v1/apps", {"content": "x" * 70_000, "headers": KEY}, 413),
    ],
    ("GET", "/v1/apps"): [("/v1/apps?all=1", {}, 200), ("/v1/apps?all=2", {}, 400)],
    ("GET", "/v1/apps/{app}"): [
        *((f"/v1/apps/{app}", {}, 200) for app in ("run", "move", "wait", "done", "sick")),
        ("/v1/apps/none", {}, 404),
        ("/v1/apps/twin", {}, 409),
    ],
    ("PATCH", "/v1/apps/{app}"): [
        ("/v1/apps/run", {"json": {"weight": 2}}, 200),
        ("/v1/apps/run", {"json": {"weight": 0}}, 400),
        ("/v1/apps/none", {"json": {"weight": 2}}, 404),
        ("/v1/apps/done", {"json": {"weight": 2}}, 409),
        ("/v1/apps/run", {"content": "x" * 70_000}, 413),
    ],
    ("POST", "/v1/apps/{app}/cancel"): [
        ("/v1/apps/wait/cancel", {}, 202),
        ("/v1/apps/wait/cancel", {"headers": {"Dorm-User": "a b"}}, 400),
        ("/v1/apps/none/cancel", {}, 404),
        ("/v1/apps/done/cancel", {}, 409),
    ],
    ("POST", "/v1/apps/{app}/retry"): [
        ("/v1/apps/sick/retry", {}, 202),
        ("/v1/apps/sick/retry", {"headers": {"Dorm-User": ""}}, 400),
        ("/v1/apps/none/retry", {}, 404),
        ("/v1/apps/run/retry", {}, 409),
    ],
    ("GET", "/v1/apps/{app}/why"): [
        *((f"/v1/apps/{app}/why", {}, 200) for app in ("run", "move", "wait", "done", "sick")),
        ("/v1/apps/none/why", {}, 404),
        ("/v1/apps/twin/why", {}, 409),
    ],
    ("GET", "/v1/apps/{app}/logs"): [
        ("/v1/apps/run/logs", {}, 200),
        ("/v1/apps/run/logs?rank=x", {}, 400),
        ("/v1/apps/run/logs?rank=99", {}, 404),
        ("/v1/apps/twin/logs", {}, 409),
    ],
    ("GET", "/v1/policy"): [("/v1/policy", {}, 200)],
    ("PATCH", "/v1/policy"): [
        ("/v1/policy", {"json": {"policy": "drf"}}, 200),
        ("/v1/policy", {"json": {"policy": "chance"}}, 400),
        ("/v1/policy", {"content": "x" * 70_000}, 413),
    ],
    ("GET", "/v1/nodes"): [("/v1/nodes", {}, 200)],
    ("POST", "/v1/nodes/{node}/forget"): [
        ("/v1/nodes/n2/forget", {}, 200),
        ("/v1/nodes/n1/forget", {"headers": {"Dorm-User": "é".encode("latin-1")}}, 400),
        ("/v1/nodes/none/forget", {}, 404),
        ("/v1/nodes/n1/forget", {}, 409),
    ],
    ("GET", "/v1/events"): [
        ("/v1/events?after=0&limit=5", {}, 200),
        ("/v1/events?limit=0", {}, 400),
        ("/v1/events?after=999", {}, 409),
    ],
    ("GET", "/v1/status"): [("/v1/status", {}, 200)],
    ("POST", "/v1/admin/new-epoch"): [
        ("/v1/admin/new-epoch", {"json": {"after": 1}}, 200),
        ("/v1/admin/new-epoch", {"json": {"after": 0}}, 400),
        ("/v1/admin/new-epoch", {"json": {"after": 1}}, 409),
        ("/v1/admin/new-epoch", {"content": "x" * 70_000}, 413),
    ],
    ("GET", "/v1/admin/doctor"): [("/v1/admin/doctor", {}, 200)],
    ("GET", "/healthz"): [("/healthz", {}, 200)],
    ("GET", "/readyz"): [("/readyz", {}, 200)],
    ("GET", "/v1/state"): [("/v1/state", {}, 200)],
    ("GET", "/openapi.json"): [("/openapi.json", {}, 200)],
}

FULL: Final[dict[str, Any]] = {
    "name": "full",
    "image": "i",
    "run": {"start": ["a"], "resume": ["b"]},
    "resources": {"cpu": 0.5, "memory": "1GiB", "gpu": 1, "pids": 10},
    "scale": {"min": 1, "max": 2},
    "weight": 2,
    "priority": -1,
    "onDisconnect": "keep",
    "speed": [{"containers": 1, "nodes": 1, "speed": 1.5}],
    "env": {"A": "b"},
    "checkpoint": {"keep": 3, "signal": "SIGINT", "grace": "1m30s", "path": "/c/x"},
    "mounts": [{"name": "c", "target": "/c", "mode": "rw"}],
    "retry": {"max": 1, "backoff": "1s", "maxBackoff": "2s"},
}


@pytest.fixture
def world() -> World:
    """A cluster in which every field of every answer has something to say."""
    world = World(
        a_ready_node("n1", cpus=16, gpus=2),
        a_ready_node("n2"),
        node_lost("n2"),
        an_app("run"),
        an_app("move"),
        an_app("wait"),
        an_app("done"),
        an_app("sick"),
        an_app("twin-1", name="twin"),
        an_app("twin-2", name="twin"),
        a_layout({"run": {"n1": 2}, "move": {"n1": 2}}, quality=LayoutQuality(gap=0.1)),
        a_generation("run", "n1", "n1", gpus=1),
        a_generation("move", "n1", "n1"),
        container_started("run", rank=0),
        container_exited("run", rank=1),
        container_started("move", rank=0),
        checkpoint_requested("move"),
        app_completed("done"),
        app_quarantined("sick"),
        app_retrying("wait"),
    )
    world.view.told["n1"] = NodeStatus(
        node_id="n1",
        incarnation="i",
        document_revision=3,
        progress={"run": Progress(generation=1, step=3, total=9, loss=0.5)},
    )
    return world


def test_every_route_is_published_and_no_other(world: World) -> None:
    """A program that trusts the document finds everything, and nothing that is not there."""
    app = build(world.service, world.logs)
    routes = {
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }

    assert routes == OPERATIONS.keys() == REQUESTS.keys()


@pytest.mark.parametrize("route", REQUESTS, ids=" ".join)
def test_every_answer_has_the_published_fields_and_no_other(
    route: tuple[str, str], world: World, http: httpx.Client
) -> None:
    """A field that is missing in the document, or in an answer, fails here."""
    method, path = route
    del world
    for url, more, status in REQUESTS[route]:
        answer = http.request(method, url, **more)
        assert (answer.status_code, faults_of(answer, method, path)) == (status, []), answer.text


@pytest.mark.parametrize("route", [route for route in REQUESTS if route[0] != "GET"], ids=" ".join)
def test_a_write_that_nobody_can_tell_of_is_answered_as_published(
    route: tuple[str, str], world: World, http: httpx.Client
) -> None:
    """503, with the same fields as every refusal."""
    method, path = route
    world.view.behind = True
    url, more, _ = REQUESTS[route][0]

    answer = http.request(method, url, **more)

    assert (answer.status_code, faults_of(answer, method, path)) == (503, [])
    assert answer.headers["Retry-After"]
    assert answer.json()["error"]["written"] == "unknown"


def test_the_document_is_the_one_that_is_served(http: httpx.Client) -> None:
    """And it is JSON that any tool reads."""
    assert http.get("/openapi.json").json() == json.loads(json.dumps(document()))
    assert document()["openapi"] == "3.1.0"


def test_the_fields_of_requests_are_those_that_the_parsers_know() -> None:
    """Each of them is documented, and each documented one is accepted, at every level."""
    assert SPEC["properties"].keys() == set(FIELDS)
    assert CHANGE["properties"].keys() == {field.name for field in attrs.fields(Change)}
    assert RULES["properties"].keys() == {field.name for field in attrs.fields(LayoutRules)}
    assert set(_names(FULL)) == set(_documented(SPEC))
    assert from_plain(FULL).name == "full"
    assert list(differences(FULL, SPEC)) == []


@given(spec=sound_specs())
@settings(max_examples=50)
def test_every_sound_spec_is_one_by_the_document(spec: AppSpec) -> None:
    """What `GET` shows of a spec may be submitted again, says the document too."""
    validator = jsonschema_rs.validator_for(SPEC)

    assert [error.message for error in validator.iter_errors(to_plain(spec))] == []


def _names(value: object, at: str = "") -> Iterator[str]:
    """Yield the path of every field of a document."""
    if isinstance(value, list):
        value = value[0] if value and isinstance(value[0], dict) else {}
    if isinstance(value, dict) and at not in {".env", ".speed"}:
        for name, inner in value.items():
            yield f"{at}.{name}"
            yield from _names(inner, f"{at}.{name}")


def _documented(schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """Yield the path of every field that a schema names, but for those of `speed`."""
    inner = schema.get("items", schema)
    for name, one in inner.get("properties", {}).items():
        yield f"{at}.{name}"
        yield from _documented(one, f"{at}.{name}")
