"""Whether answers are what `GET /openapi.json` says, field by field."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import jsonschema_rs

from dorm.api.openapi import document

Json = dict[str, Any]

OPTIONAL: Final = {"faults", "written"}  # of a refusal: only a spec has several faults


def strict(schema: Any) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """Return a schema that allows no field which it does not name, and misses none.

    What is published is open, since fields may be added; but those there are have to be named.
    """
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
        closed["required"] = sorted(closed["properties"].keys() - OPTIONAL)
    return closed


def faults_of(answer: httpx.Response, method: str, path: str) -> list[str]:
    """Return how an answer differs from what is published for that route; nothing if not at all."""
    responses = document()["paths"][path][method.lower()]["responses"]
    published = responses.get(str(answer.status_code))
    if published is None:
        return [f"{method} {path} answers {answer.status_code}, which is not published"]
    kind = answer.headers["content-type"].partition(";")[0]
    if kind not in published["content"]:
        return [f"{method} {path} answers {kind}, not one of {list(published['content'])}"]
    if kind != "application/json":
        return []
    return list(differences(answer.json(), published["content"][kind]["schema"]))


def differences(value: object, schema: Json) -> Iterator[str]:
    """Yield how a value differs from a schema of the document, taken strictly."""
    closed = strict({**schema, "components": document()["components"]})
    for error in jsonschema_rs.validator_for(closed).iter_errors(value):
        yield f"{error.instance_path}: {error.message}"
