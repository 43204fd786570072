"""The other end of the API: how the CLI talks to the masters.

Any master can answer, so a master that does not is passed over for the next one. Every request
may be repeated: submits carry an idempotency key, and the other writes are no-ops the second time.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import SystemRandom
from typing import Any, Final
from urllib.parse import quote

import httpx

from dorm.api import idempotency
from dorm.api.lookup import no_app, no_node
from dorm.spec import SpecFaults
from events.errors import Conflict, Full, NotFound, Rejected, Unavailable


class Refused(Unavailable):
    """Masters answered, but none of them can do it now. `unknown`: one of them may have done it."""

    def __init__(self, message: str, *, unknown: bool) -> None:
        """Keep whether it may have been done all the same."""
        self.unknown = unknown
        super().__init__(message)


CONNECT_S: Final = 2.0
ANSWER_S: Final = 10.0
GIVE_UP_S: Final = 5.0
BACKOFF_S_MAX: Final = 2.0
RETRIED: Final = (502, 503, 504)


class ApiClient:
    """Asks the masters in turn, beginning with the one that answered last.

    Attributes:
        freshness: Of the newest answer: `stale`, `age_s`, `hold`; empty when it does not tell.

    Every method raises, besides what it says itself:
        Rejected: The request cannot be carried out (or one of its kinds: NotFound, Conflict, Full).
        Unavailable: No master answered in time.
    """

    def __init__(
        self,
        masters: Sequence[str],
        *,
        user: str,
        give_up_s: float = GIVE_UP_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take the masters' addresses, as `http://host:port`; nothing is sent yet."""
        self.freshness: dict[str, Any] = {}
        self._masters = [_address(master) for master in masters]
        self._give_up_s = give_up_s
        self._http = httpx.Client(
            transport=transport,
            headers={"Dorm-User": user},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            trust_env=False,  # a proxy of the user's environment knows no masters
        )

    def submit(self, spec: str | bytes, *, key: str, is_json: bool = False) -> dict[str, Any]:
        """Submit a spec; the same key never makes a second application.

        Raises:
            SpecFaults: With all that is wrong with the spec.
        """
        kind = "application/json" if is_json else "application/yaml"
        headers = {idempotency.HEADER: idempotency.checked(key), "Content-Type": kind}
        return self._json("POST", "/v1/apps", content=spec, headers=headers)

    def apps(self, *, finished: bool = False) -> list[dict[str, Any]]:
        """Return one row for each application."""
        answer = self._json("GET", "/v1/apps", params={"all": int(finished)})
        return list(answer["apps"])

    def app(self, app: str) -> dict[str, Any]:
        """Return everything about one application."""
        return self._json("GET", f"/v1/apps/{_part(app)}")

    def why(self, app: str) -> dict[str, Any]:
        """Return why the application is in its phase."""
        return self._json("GET", f"/v1/apps/{_part(app)}/why")

    def change(self, app: str, change: Mapping[str, float]) -> dict[str, Any]:
        """Set any of weight, min, max and priority."""
        return self._json("PATCH", f"/v1/apps/{_part(app)}", content=_body(change))

    def cancel(self, app: str) -> dict[str, Any]:
        """Ask for the application's end."""
        return self._json("POST", f"/v1/apps/{_part(app)}/cancel")

    def retry(self, app: str) -> dict[str, Any]:
        """Have layouts decided with a quarantined application again."""
        return self._json("POST", f"/v1/apps/{_part(app)}/retry")

    def policy(self) -> dict[str, Any]:
        """Return the rules of layouts, and how good the newest decision is."""
        return self._json("GET", "/v1/policy")

    def set_policy(self, rules: Mapping[str, object]) -> dict[str, Any]:
        """Set some of the rules of layouts."""
        return self._json("PATCH", "/v1/policy", content=_body(rules))

    def nodes(self) -> list[dict[str, Any]]:
        """Return one row for each node."""
        return list(self._json("GET", "/v1/nodes")["nodes"])

    def forget(self, node: str) -> dict[str, Any]:
        """Vouch that a lost node is off for good."""
        return self._json("POST", f"/v1/nodes/{_part(node, no_node)}/forget")

    def events(self, *, after: int, limit: int = 100) -> dict[str, Any]:
        """Return a page of events; read on from its `next`."""
        return self._json("GET", "/v1/events", params={"after": after, "limit": limit})

    def status(self) -> dict[str, Any]:
        """Return how the cluster is, as the answering master sees it."""
        return self._json("GET", "/v1/status")

    def new_epoch(self, *, after: int) -> dict[str, Any]:
        """Begin the epoch of the store that follows `after`."""
        return self._json("POST", "/v1/admin/new-epoch", content=_body({"after": after}))

    def doctor(self) -> list[dict[str, Any]]:
        """Return what the answering master finds out about etcd, Docker and clocks."""
        return list(self._json("GET", "/v1/admin/doctor")["findings"])

    @contextmanager
    def logs(self, app: str, *, params: Mapping[str, int]) -> Iterator[Iterator[bytes]]:
        """Open a stream of output, without a limit on how long it is silent."""
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        path = f"/v1/apps/{_part(app)}/logs"
        answer = self._send("GET", path, params=dict(params), timeout=timeout, stream=True)
        try:
            yield _chunks(answer)
        finally:
            answer.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _json(self, method: str, path: str, **parts: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's own
        answer = self._send(method, path, **parts)
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Unavailable(f"{answer.request.url} answers something else: is it a master?")
        self.freshness = content.pop("freshness", {})
        return content

    def _send(
        self,
        method: str,
        path: str,
        *,
        stream: bool = False,
        **parts: Any,  # noqa: ANN401 - httpx's own
    ) -> httpx.Response:
        deadline, round_, unknown = time.monotonic() + self._give_up_s, 0, False
        while True:  # Each turn is one round over all masters; ends at the deadline.
            causes, answered = [], 0
            for master in tuple(self._masters):
                try:
                    request = self._http.build_request(method, master + path, **parts)
                    answer = self._http.send(request, stream=stream)
                except httpx.HTTPError as error:
                    causes.append(f"{master}: {_cause(error)}")
                    continue
                if answer.status_code in RETRIED:
                    answer.read()
                    message, written = _message(answer)
                    causes.append(f"{master}: {message}")
                    answered, unknown = answered + 1, unknown or written != "no"
                    continue
                self._prefer(master)
                return _checked(answer)
            pause = SystemRandom().uniform(0.5, 1) * min(BACKOFF_S_MAX, 0.1 * 2**round_)
            if time.monotonic() + pause >= deadline:
                message = "; ".join(causes)
                if answered == len(causes):
                    raise Refused(message, unknown=unknown)
                raise Unavailable(message)
            time.sleep(pause)
            round_ += 1

    def _prefer(self, master: str) -> None:
        self._masters.remove(master)
        self._masters.insert(0, master)


def _address(master: str) -> str:
    address = master.strip()
    if "://" not in address:
        address = f"http://{address}"
    try:
        host = httpx.URL(address).host
        host.encode("idna")  # as the look-up of the name will do, without asking
    except (httpx.InvalidURL, UnicodeError):
        host = ""
    if not host or not address.startswith(("http://", "https://")):
        hint = "write http://127.0.0.1:7070, several with commas"
        raise Rejected("is no address of a master", field="--master", value=master, hint=hint)
    return address.rstrip("/")


def _part(name: str, unknown: Callable[[str], NotFound] = no_app) -> str:
    """Return a name as one segment of a path.

    Raises:
        NotFound: It can be none, so nothing is called so; the path would be another one.
    """
    if name in {"", ".", ".."} or "/" in name or not name.isprintable():
        raise unknown(name)
    return quote(name, safe="")


def _body(values: Mapping[str, object]) -> bytes:
    """Return a JSON object. NaN is let through: the master refuses it in words, httpx does not."""
    return json.dumps(dict(values)).encode()


def _chunks(answer: httpx.Response) -> Iterator[bytes]:
    try:
        yield from answer.iter_raw()
    except httpx.HTTPError as error:
        raise Unavailable(f"the stream broke: {_cause(error)}") from error


def _cause(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__


def _checked(answer: httpx.Response) -> httpx.Response:
    """Return a success; turn anything else into the error that the master raised."""
    if answer.is_success:
        return answer
    answer.read()
    try:
        body = answer.json()["error"]
        faults = body.get("faults")
        if faults:
            raise SpecFaults([_refusal(Rejected, fault) for fault in faults])
        kind = {404: NotFound, 409: Conflict, 429: Full}.get(answer.status_code, Rejected)
        raise _refusal(kind, body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(
            f"{answer.request.url} answers {answer.status_code}: is it a master?"
        ) from error


def _refusal(kind: type[Rejected], body: Mapping[str, str]) -> Rejected:
    return kind(body["rule"], field=body["field"], value=body["value"], hint=body["hint"])


def _message(answer: httpx.Response) -> tuple[str, str]:
    """Return why a master cannot do it now, and whether it may have done it: `no`, `unknown`."""
    try:
        error = answer.json()["error"]
        return str(error["message"]), str(error.get("written", "unknown"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"answers {answer.status_code}", "unknown"
