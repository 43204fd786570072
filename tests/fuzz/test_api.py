"""Requests that schemathesis makes from `GET /openapi.json`, to a master's API over real HTTP.

Half of them fit the document, half of them break it somewhere. No answer may be a failure of the
server, and every answer is one that the document has. The seed is fixed; `DORM_FUZZ_EXAMPLES=2000`
makes more of them.
"""

import os
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dorm.api.openapi import OPERATIONS, document
from dorm.spec import to_plain
from tests.api.test_openapi import world
from tests.cli.conftest import master
from tests.spec.test_properties import sound_specs

__all__ = ["master", "world"]

EXAMPLES: Final = int(os.environ.get("DORM_FUZZ_EXAMPLES", "30"))
KNOWN: Final = {
    "app": ("run", "move", "wait", "done", "sick", "twin", "ru", "x" * 300, "\x1b[31m"),
    "node": ("n1", "n2", "n3"),
}
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
CASES: Final = [
    (route, mode)
    for route, operation in OPERATIONS.items()
    for mode in GenerationMode
    # A route that takes nothing but a name of any kind cannot be asked wrongly.
    if mode is GenerationMode.POSITIVE or operation.body or {*operation.parameters} - {*KNOWN}
]
SCHEMA: Final = schemathesis.openapi.from_dict(document())


@pytest.mark.parametrize(
    ("route", "mode"),
    CASES,
    ids=lambda part: part.value if isinstance(part, GenerationMode) else " ".join(part),
)
def test_whatever_comes_is_answered_as_published(
    route: tuple[str, str], mode: GenerationMode, master: str
) -> None:
    """Sound requests and broken ones, for what is there and for what is not."""
    method, path = route
    session = requests.Session()
    session.trust_env = False

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=SCHEMA[path][method].as_strategy(generation_mode=mode), data=st.data())
    def ask(case: Case[Any], data: st.DataObject) -> None:
        for name, known in KNOWN.items():
            if name in case.path_parameters and data.draw(st.booleans()):
                case.path_parameters[name] = data.draw(st.sampled_from(known))
        if "cpu" in str(case.body) and mode is GenerationMode.POSITIVE and data.draw(st.booleans()):
            case.body = to_plain(data.draw(sound_specs()))  # One that is accepted, too.
        case.query.pop("follow", None)  # It ends when the application does.
        answer = case.call(base_url=master, session=session, timeout=20)
        case.validate_response(answer, checks=CHECKS)

    ask()
    session.close()
