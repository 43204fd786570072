"""Errors to HTTP answers. Every answer that is no success has the same JSON shape."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dorm.api.present import NotNow
from dorm.spec import SpecFaults
from events.errors import Archived, Conflict, DormError, Full, NotFound, Rejected, Unavailable
from events.text import brief

RETRY_AFTER_S: Final = 1
FULL_RETRY_AFTER_S: Final = 60  # it takes minutes to make room


class TooLarge(Rejected):
    """The body is larger than any request needs; it was not read to its end."""


def shape(error: Rejected) -> dict[str, Any]:
    """Return a refusal as JSON-shaped Python."""
    return {
        "field": error.field,
        "value": error.value,
        "rule": error.rule,
        "hint": error.hint,
        "message": str(error),
    }


def answer(error: Rejected, status: int, **more: str) -> JSONResponse:
    """Return a refusal as an answer; `faults` lists all that is wrong with a spec."""
    body = shape(error) | more
    if isinstance(error, SpecFaults):
        body["faults"] = [shape(fault) for fault in error.faults]
    return JSONResponse({"error": body}, status_code=status)


async def on_rejected(_: Request, error: Exception) -> Response:
    """Answer 404, 409, 413, 429 or 400."""
    assert isinstance(error, Rejected)
    kinds = ((NotFound, 404), (Conflict, 409), (TooLarge, 413), (Full, 429))
    response = answer(error, next((code for kind, code in kinds if isinstance(error, kind)), 400))
    if isinstance(error, Full):
        response.headers["Retry-After"] = str(FULL_RETRY_AFTER_S)
    return response


async def on_unavailable(_: Request, error: Exception) -> Response:
    """Answer 503: this master cannot tell now; another one, or a later try, can."""
    assert isinstance(error, DormError)
    if isinstance(error, NotNow):
        refusal, written = Rejected(str(error), hint=error.hint), error.written
    else:  # A read that goes to the log.
        hint = "try again, or ask another master"
        refusal = Rejected(f"the cluster's log does not answer: {error}", hint=hint)
        written = "no"
    response = answer(refusal, 503, written=written)
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


async def on_failure(_: Request, error: Exception) -> Response:
    """Answer 500 for what nobody foresaw, and for a log that cannot be trusted."""
    what = str(error) if isinstance(error, DormError) else "an error of Dorm itself"
    rule = f"this master cannot answer: {brief(what)}"
    return answer(Rejected(rule, hint="its own log has the details; ask another master"), 500)


async def on_archived(_: Request, error: Exception) -> Response:
    """Answer 410: the events behind that revision have left the log."""
    assert isinstance(error, Archived)
    refusal = Rejected(
        str(error),
        field="after",
        hint=f"go on with after={error.revision}; dorm-events --archive DIR reads all of it",
    )
    return answer(refusal, 410)


async def on_http(request: Request, error: Exception) -> Response:
    """Answer for a path or a method that does not exist."""
    status = getattr(error, "status_code", 404)
    rule = "is not possible here" if status == 405 else "is no path of this API"  # noqa: PLR2004 - HTTP's own number
    refusal = Rejected(
        rule, field=request.method, value=brief(request.url.path), hint="the API is below /v1"
    )
    return answer(refusal, status)


HANDLERS: Final = {
    Rejected: on_rejected,
    Unavailable: on_unavailable,
    Archived: on_archived,
    404: on_http,
    405: on_http,
    Exception: on_failure,
}
