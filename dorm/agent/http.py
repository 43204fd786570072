"""The agent's HTTP face: the output of its containers, and whether it lives."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dorm.agent.agent import Agent
from dorm.streams import closing
from events.errors import NotFound, Unavailable


def build(agent: Agent) -> Starlette:
    """Return the application that serves `agent`."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "node": agent.node_id, "now_ms": agent.now_ms()})

    async def logs(request: Request) -> Response:
        output = agent.logs(
            request.path_params["app_id"],
            request.path_params["generation"],
            request.path_params["rank"],
            follow=request.query_params.get("follow", "") in {"1", "true"},
        )
        try:
            first = await anext(output, b"")  # Whether it is there shows with the first piece.
        except NotFound as error:
            return JSONResponse({"error": str(error)}, status_code=HTTPStatus.NOT_FOUND)
        except Unavailable as error:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            return JSONResponse({"error": str(error)}, status_code=status)
        return StreamingResponse(_with(first, output), media_type="application/octet-stream")

    return Starlette(
        routes=[
            Route("/v1/health", health),
            Route("/v1/logs/{app_id}/{generation:int}/{rank:int}", logs),
        ]
    )


async def _with(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with closing(rest):
        yield first
        async for chunk in rest:
            yield chunk
