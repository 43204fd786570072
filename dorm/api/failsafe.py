"""`POST /v1/failsafe`: a node that etcd does not answer asks this master for its word.

It is between agents and masters, not for users: the answer is what a right to run rests on.
"""

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from events.codec import from_json
from events.errors import Corrupt

BYTES_MAX = 1_000


class _Question(msgspec.Struct):
    node_id: str
    tenure: str


def answering(
    name: str, promise: Callable[[str, str], bool]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the route of the master of that name. It says who answers: an address may move on."""

    async def answer(request: Request) -> Response:
        raw = await request.body()
        try:
            question = from_json(raw[:BYTES_MAX], _Question)
        except Corrupt as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        if not promise(question.node_id, question.tenure):
            return JSONResponse({"error": "this tenure is over, or unknown"}, status_code=409)
        return JSONResponse({"master": name})

    return answer
