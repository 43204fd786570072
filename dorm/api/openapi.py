"""The API as an OpenAPI document: `GET /openapi.json`.

Answers are the types of `dorm.api.answers`. Tests compare the document with the routes, with the
answers, and with what the parsers of requests accept, so it cannot fall behind.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import attrs
import msgspec

from dorm.api import answers
from dorm.api.idempotency import HEADER, KEY_LENGTH_MAX
from dorm.api.requests import BODIES, SPEC
from dorm.version import dorm_version

VERSION: Final = "3.1.0"
_REF: Final = "#/components/schemas/{name}"

Json = dict[str, Any]


@attrs.frozen(kw_only=True)
class Operation:
    """One route, as a program sees it.

    Attributes:
        answers: The type of the answer by status; None for text.
        refusals: Statuses with an `ErrorAnswer`, besides those that every route has.
        parameters: Names in `PARAMETERS`.
        body: Name in `BODIES`; empty for none.
    """

    summary: str
    answers: Mapping[int, Any]
    refusals: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()
    body: str = ""


def _query(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _header(name: str, description: str, pattern: str, **more: object) -> Json:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "description": description, "schema": schema, **more}


def _in_path(name: str, description: str) -> Json:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": description} | {
        "schema": schema
    }


_REVISION: Final = {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}
_FLAG: Final = {"type": "string", "enum": ["0", "1", "false", "true"]}

PARAMETERS: Final[Mapping[str, Json]] = {
    "app": _in_path("app", "An id, the beginning of one, or a name."),
    "node": _in_path("node", "The node's name."),
    "all": _query("all", "Finished applications too.", _FLAG),
    "follow": _query("follow", "Go on until the application has ended.", _FLAG),
    "rank": _query("rank", "Only this container.", _REVISION),
    "generation": _query("generation", "An older one than the newest.", _REVISION),
    "after": _query("after", "Only what is behind this revision.", _REVISION),
    "limit": _query(
        "limit", "About so many events.", {"type": "integer", "minimum": 1, "maximum": 1000}
    ),
    "key": _header(
        HEADER,
        "The same key never makes a second application.",
        f"^[A-Za-z0-9._:-]{{1,{KEY_LENGTH_MAX}}}$",
        required=True,
    ),
    "user": _header("Dorm-User", "Who asks, for the history.", "^[A-Za-z0-9._@-]{1,64}$"),
}

WRITES: Final = (400, 503)

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/apps"): Operation(
        summary="Submit an application",
        parameters=("key", "user"),
        body="spec",
        answers={201: answers.Submitted, 200: answers.Submitted},
        refusals=(*WRITES, 409, 413, 429),
    ),
    ("GET", "/v1/apps"): Operation(
        summary="List applications",
        parameters=("all",),
        answers={200: answers.Apps},
        refusals=(400,),
    ),
    ("GET", "/v1/apps/{app}"): Operation(
        summary="Show everything about an application",
        parameters=("app",),
        answers={200: answers.AppRead},
        refusals=(404, 409),
    ),
    ("PATCH", "/v1/apps/{app}"): Operation(
        summary="Change weight, bounds or priority",
        parameters=("app", "user"),
        body="change",
        answers={200: answers.AppPage},
        refusals=(*WRITES, 404, 409, 413, 429),
    ),
    ("POST", "/v1/apps/{app}/cancel"): Operation(
        summary="End an application",
        parameters=("app", "user"),
        answers={202: answers.AppPage},
        refusals=(*WRITES, 404, 409),
    ),
    ("POST", "/v1/apps/{app}/retry"): Operation(
        summary="Have layouts decided with a quarantined application again",
        parameters=("app", "user"),
        answers={202: answers.AppPage},
        refusals=(*WRITES, 404, 409, 429),
    ),
    ("GET", "/v1/apps/{app}/why"): Operation(
        summary="Explain why an application waits, or has its size",
        parameters=("app",),
        answers={200: answers.Why},
        refusals=(404, 409),
    ),
    ("GET", "/v1/apps/{app}/logs"): Operation(
        summary="Stream the output of an application's containers",
        parameters=("app", "rank", "generation", "follow"),
        answers={200: None},
        refusals=(400, 404, 409, 503),
    ),
    ("GET", "/v1/policy"): Operation(
        summary="Show the rules of layouts, and the newest decision",
        answers={200: answers.Policy},
    ),
    ("PATCH", "/v1/policy"): Operation(
        summary="Set rules of layouts",
        parameters=("user",),
        body="rules",
        answers={200: answers.Policy},
        refusals=(*WRITES, 413, 429),
    ),
    ("GET", "/v1/nodes"): Operation(summary="List nodes", answers={200: answers.Nodes}),
    ("POST", "/v1/nodes/{node}/forget"): Operation(
        summary="Vouch that a lost node is off for good",
        parameters=("node", "user"),
        answers={200: answers.Forgotten},
        refusals=(*WRITES, 404, 409),
    ),
    ("GET", "/v1/events"): Operation(
        summary="Read the events behind a revision",
        parameters=("after", "limit"),
        answers={200: answers.Events},
        refusals=(400, 409, 410, 503),
    ),
    ("GET", "/v1/status"): Operation(
        summary="Show how the cluster and this master are", answers={200: answers.StatusRead}
    ),
    ("POST", "/v1/admin/new-epoch"): Operation(
        summary="Vouch that the store is to go on from a backup",
        parameters=("user",),
        body="epoch",
        answers={200: answers.NewEpoch},
        refusals=(*WRITES, 409, 413),
    ),
    ("GET", "/v1/admin/doctor"): Operation(
        summary="Find what is wrong with versions and settings", answers={200: answers.Findings}
    ),
    ("GET", "/healthz"): Operation(
        summary="Tell whether the process lives", answers={200: answers.Health}
    ),
    ("GET", "/readyz"): Operation(
        summary="Tell whether this master takes writes",
        answers={200: answers.Health, 503: answers.Health},
    ),
    ("GET", "/v1/state"): Operation(
        summary="Read the whole state, whose sha256 is the state hash",
        answers={200: dict[str, Any]},
    ),
    ("GET", "/openapi.json"): Operation(
        summary="Read this document", answers={200: dict[str, Any]}
    ),
}


@cache
def document() -> Json:
    """Return the document. It is the same for every master of one version."""
    types = [kind for one in OPERATIONS.values() for kind in one.answers.values() if kind]
    schemas, components = msgspec.json.schema_components(
        [*types, answers.ErrorAnswer], ref_template=_REF
    )
    for page in ("AppPage", "AppRead"):
        components[page]["properties"]["spec"] = {"$ref": _REF.format(name="Spec")}
    schema_of = {_name(kind): schema for kind, schema in zip(types, schemas, strict=False)}
    paths: Json = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(operation, schema_of)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Dorm",
            "version": dorm_version(),
            "description": "Any master answers. Fields may be added; ignore those you do not know.",
        },
        "paths": paths,
        "components": {"schemas": components | {"Spec": SPEC}, "parameters": dict(PARAMETERS)},
    }


def _operation(operation: Operation, schema_of: Mapping[str, Json]) -> Json:
    responses = {
        str(status): _answer(schema_of[_name(kind)] if kind else None)
        for status, kind in operation.answers.items()
    }
    refusal = _answer({"$ref": _REF.format(name=answers.ErrorAnswer.__name__)}, "Not carried out")
    responses |= {str(status): refusal for status in operation.refusals}
    described: Json = {
        "summary": operation.summary,
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"} for name in operation.parameters
        ],
        "responses": responses,
    }
    if operation.body:
        described["requestBody"] = {"required": True, "content": BODIES[operation.body]}
    return described


def _answer(schema: Json | None, description: str = "Done") -> Json:
    if schema is None:
        return {"description": description, "content": {"text/plain": {"schema": {}}}}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _name(kind: Any) -> str:  # noqa: ANN401 - a type
    return str(kind)
