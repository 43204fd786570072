"""The HTTP form of `Service`. docs/api.md lists the routes for users."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dorm.api import faults, idempotency, openapi, present
from dorm.api.changes import Change
from dorm.api.logs import Choice, LogReader
from dorm.api.lookup import find_app
from dorm.api.numbers import as_whole
from dorm.api.service import EVENTS_PER_PAGE_MAX, Service
from dorm.api.shapes import Shape
from dorm.spec import from_json_text, from_yaml
from dorm.spec.document import DOCUMENT_BYTES_MAX
from events.errors import Rejected

REVISION_MAX: Final = (1 << 63) - 1

_USER: Final = re.compile(r"[A-Za-z0-9._@-]{1,64}", re.ASCII)
_JSON_TYPE: Final = "application/json"
_AFTER_HINT: Final = 'send {"after": 1} with the epoch that dorm status shows'


def build(service: Service, logs: LogReader) -> Starlette:
    """Return the ASGI application of one master."""
    routes = Routes(service, logs)
    return Starlette(
        routes=[
            Route("/v1/apps", routes.submit, methods=["POST"]),
            Route("/v1/apps", routes.apps, methods=["GET"]),
            Route("/v1/apps/{app}", routes.app, methods=["GET"]),
            Route("/v1/apps/{app}", routes.change, methods=["PATCH"]),
            Route("/v1/apps/{app}/cancel", routes.cancel, methods=["POST"]),
            Route("/v1/apps/{app}/retry", routes.retry, methods=["POST"]),
            Route("/v1/apps/{app}/why", routes.why, methods=["GET"]),
            Route("/v1/apps/{app}/logs", routes.logs, methods=["GET"]),
            Route("/v1/policy", routes.policy, methods=["GET"]),
            Route("/v1/policy", routes.set_policy, methods=["PATCH"]),
            Route("/v1/nodes", routes.nodes, methods=["GET"]),
            Route("/v1/nodes/{node}/forget", routes.forget, methods=["POST"]),
            Route("/v1/events", routes.events, methods=["GET"]),
            Route("/v1/status", routes.status, methods=["GET"]),
            Route("/v1/admin/new-epoch", routes.new_epoch, methods=["POST"]),
            Route("/v1/admin/doctor", routes.doctor, methods=["GET"]),
            Route("/healthz", routes.healthz, methods=["GET"]),
            Route("/readyz", routes.readyz, methods=["GET"]),
            Route("/v1/state", routes.state, methods=["GET"]),
            Route("/openapi.json", routes.openapi, methods=["GET"]),
        ],
        exception_handlers=faults.HANDLERS,
    )


class Routes:
    """One method for each route; no decision is made here."""

    def __init__(self, service: Service, logs: LogReader) -> None:
        self._service, self._logs = service, logs

    async def submit(self, request: Request) -> Response:
        """POST /v1/apps: the spec as YAML, or as JSON with that content type."""
        body = await _body(request)
        is_json = request.headers.get("content-type", "").startswith(_JSON_TYPE)
        # Parsing 64 KiB of YAML takes a tenth of a second: too long for the master's loop.
        spec = await asyncio.to_thread(from_json_text if is_json else from_yaml, body)
        receipt = await self._service.submit(spec, key=_key(request), user=_user(request))
        content = {
            "id": receipt.app_id,
            "revision": receipt.revision,
            "duplicate": receipt.duplicate,
        }
        return JSONResponse(content, status_code=200 if receipt.duplicate else 201)

    async def apps(self, request: Request) -> Response:
        """GET /v1/apps?all=1."""
        return self._page({"apps": self._service.apps(finished=_flag(request, "all"))})

    async def app(self, request: Request) -> Response:
        """GET /v1/apps/{app}."""
        return self._page(self._service.app(request.path_params["app"]))

    async def change(self, request: Request) -> Response:
        """PATCH /v1/apps/{app}: any of weight, min, max, priority."""
        change = _change(await _body(request))
        app = await self._service.change(request.path_params["app"], change, user=_user(request))
        return JSONResponse(self._service.app(app.app_id))

    async def cancel(self, request: Request) -> Response:
        """POST /v1/apps/{app}/cancel."""
        app = await self._service.cancel(request.path_params["app"], user=_user(request))
        return JSONResponse(self._service.app(app.app_id), status_code=202)

    async def retry(self, request: Request) -> Response:
        """POST /v1/apps/{app}/retry."""
        app = await self._service.retry(request.path_params["app"], user=_user(request))
        return JSONResponse(self._service.app(app.app_id), status_code=202)

    async def why(self, request: Request) -> Response:
        """GET /v1/apps/{app}/why."""
        return self._page(self._service.why(request.path_params["app"]))

    async def logs(self, request: Request) -> Response:
        """GET /v1/apps/{app}/logs?rank=&generation=&follow=1."""
        app = find_app(self._service.state(), request.path_params["app"])
        choice = Choice(
            rank=_number(request, "rank"),
            generation=_number(request, "generation"),
            follow=_flag(request, "follow"),
        )
        # The choice is checked first: once a stream has begun, a fault gets no proper answer.
        await self._logs.check(app.app_id, choice)
        return _Stream(self._logs.read(app.app_id, choice))

    async def policy(self, _: Request) -> Response:
        """GET /v1/policy."""
        return self._page(self._service.policy())

    async def set_policy(self, request: Request) -> Response:
        """PATCH /v1/policy: any of the rules."""
        wanted = _json(await _body(request), hint='such as {"policy": "goodput"}')
        await self._service.set_policy(wanted, user=_user(request))
        return self._page(self._service.policy())

    async def nodes(self, _: Request) -> Response:
        """GET /v1/nodes."""
        return self._page({"nodes": self._service.nodes()})

    async def forget(self, request: Request) -> Response:
        """POST /v1/nodes/{node}/forget."""
        node_id = request.path_params["node"]
        await self._service.forget_node(node_id, user=_user(request))
        return JSONResponse({"id": node_id, "forgotten": True})

    async def events(self, request: Request) -> Response:
        """GET /v1/events?after=&limit=."""
        after = _number(request, "after") or 0
        limit = _number(request, "limit", low=1, high=EVENTS_PER_PAGE_MAX) or 100
        return JSONResponse(await self._service.events(after=after, limit=limit))

    async def status(self, _: Request) -> Response:
        """GET /v1/status."""
        return self._page(self._service.status())

    async def healthz(self, _: Request) -> Response:
        """GET /healthz: 200 while the process lives, whatever etcd does: a restart helps nobody."""
        return self._page({"status": "ok"})

    async def readyz(self, _: Request) -> Response:
        """GET /readyz: 503 while this master takes no writes: send users to another one."""
        fresh = present.staleness(self._service.view)
        status = "hold" if fresh["hold"] else "stale" if fresh["stale"] else "ok"
        return self._page({"status": status}, status_code=503 if fresh["stale"] else 200)

    async def doctor(self, _: Request) -> Response:
        """GET /v1/admin/doctor."""
        found = await self._service.findings()
        return self._page({"findings": found})

    async def new_epoch(self, request: Request) -> Response:
        """POST /v1/admin/new-epoch: {"after": the epoch that the operator has seen}."""
        wanted = _json(await _body(request), hint=_AFTER_HINT)
        after = wanted.get("after") if isinstance(wanted, dict) else None
        if not isinstance(after, int) or isinstance(after, bool) or after < 1:
            raise Rejected(
                "must be the present epoch of the store", field="after", hint=_AFTER_HINT
            )
        mark = await self._service.new_epoch(after=after, user=_user(request))
        return JSONResponse({"epoch": mark.epoch, "id": mark.store_id, "after": after})

    def _page(self, content: Mapping[str, object], *, status_code: int = 200) -> Response:
        return present.page(self._service.view, content, status_code=status_code)

    async def state(self, _: Request) -> Response:
        """GET /v1/state: the bytes whose sha256 is the state hash."""
        answer = Response(self._service.state_bytes(), media_type=_JSON_TYPE)
        return present.marked(self._service.view, answer)

    async def openapi(self, _: Request) -> Response:
        """GET /openapi.json: these routes, for programs that write clients and tests."""
        return JSONResponse(openapi.document())


class _Stream(StreamingResponse):
    """Lines as they come; their source is closed at once when the user goes away."""

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        super().__init__(lines, media_type="text/plain; charset=utf-8")
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See `StreamingResponse`."""
        async with aclosing(self._lines):
            await super().__call__(scope, receive, send)


async def _body(request: Request) -> bytes:
    """Return the body, and stop reading one that is too large."""
    body = bytearray()
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > DOCUMENT_BYTES_MAX:
        raise _too_large()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > DOCUMENT_BYTES_MAX:
                break
    except ClientDisconnect as error:
        raise Rejected("ended before it was complete", field="body") from error
    if len(body) > DOCUMENT_BYTES_MAX:
        raise _too_large()
    return bytes(body)


def _too_large() -> faults.TooLarge:
    rule = f"is larger than {DOCUMENT_BYTES_MAX} bytes"
    hint = "keep data and scripts in the image or on a mount"
    return faults.TooLarge(rule, field="body", hint=hint)


def _key(request: Request) -> str:
    return idempotency.checked(request.headers.get(idempotency.HEADER, ""))


def _user(request: Request) -> str:
    user = request.headers.get("dorm-user", "anonymous")
    if not _USER.fullmatch(user):
        raise Rejected(
            "must be 1 to 64 letters, digits, dots, dashes, @ or _",
            field="Dorm-User",
            value=user[:64],
            hint="send your login name",
        )
    return user


def _flag(request: Request, name: str) -> bool:
    value = request.query_params.get(name, "0")
    if value not in ("0", "1", "false", "true"):
        raise Rejected("must be 0 or 1", field=name, value=value, hint=f"write {name}=1")
    return value in ("1", "true")


def _number(request: Request, name: str, *, low: int = 0, high: int = REVISION_MAX) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,19}", text) or not low <= int(text) <= high:
        rule = f"must be a whole number from {low} to {high}"
        raise Rejected(rule, field=name, value=text[:40], hint=f"write {name}={max(low, 1)}")
    return int(text)


def _json(body: bytes, *, hint: str) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Rejected("is not valid JSON", field="body", hint=hint) from error


def _change(body: bytes) -> Change:
    hint = 'send a JSON object with any of weight, min, max, priority, such as {"weight": 2}'
    wanted = _json(body, hint=hint)
    fields = {"weight", "min", "max", "priority"}
    if not isinstance(wanted, dict) or not wanted or wanted.keys() - fields:
        rule = "must name weight, min, max or priority and nothing else"
        raise Rejected(rule, field="body", hint=hint)
    return Change(
        weight=_json_number(wanted, "weight", float),
        min=_json_number(wanted, "min", int),
        max=_json_number(wanted, "max", int),
        priority=_json_number(wanted, "priority", int),
    )


def _json_number(wanted: Shape, name: str, kind: type[Any]) -> Any:  # noqa: ANN401 - int or float
    value = wanted.get(name) if kind is float else as_whole(wanted.get(name))
    fits = isinstance(value, int | float if kind is float else int) and value is not True
    if value is None or (fits and value is not False):
        return value
    word = "whole number" if kind is int else "number"
    raise Rejected(f"must be a {word}", field=name, value=str(value)[:40], hint="without quotes")
