"""The client: several masters, one answer."""

from collections.abc import Callable
from contextlib import closing

import httpx
import pytest

from dorm.api.client import ApiClient
from dorm.spec import SpecFaults
from events.errors import Conflict, NotFound, Rejected, Unavailable
from tests.api.world import World
from tests.spec.texts import a_text

Handler = Callable[[httpx.Request], httpx.Response]


def a_client(handler: Handler, *masters: str, give_up_s: float = 0.0) -> ApiClient:
    """A client of masters that `handler` plays."""
    return ApiClient(
        masters or ("m1:7070", "m2:7070"),
        user="ann",
        give_up_s=give_up_s,
        transport=httpx.MockTransport(handler),
    )


class Masters:
    """Plays masters by host: a status each, or None for one that is dead."""

    def __init__(self, **status: int | None) -> None:
        """Begin with these."""
        self.status = status
        self.asked: list[str] = []
        self.keys: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        host = request.url.host
        self.asked.append(host)
        self.keys.append(request.headers.get("idempotency-key"))
        status = self.status[host]
        if status is None:
            raise httpx.ConnectError("connection refused")
        return httpx.Response(status, json={"apps": [], "id": "a-1"})


def test_a_dead_master_is_passed_over() -> None:
    """Any master can answer, so the death of one is nobody's trouble."""
    masters = Masters(m1=None, m2=200)

    assert a_client(masters).apps() == []
    assert masters.asked == ["m1", "m2"]


def test_the_master_that_answered_is_asked_first_from_then_on() -> None:
    """A dead one would cost its time limit at each request."""
    masters = Masters(m1=None, m2=200)
    client = a_client(masters)
    client.apps()
    masters.asked.clear()

    client.apps()

    assert masters.asked == ["m2"]


def test_a_submit_is_tried_again_under_the_same_key() -> None:
    """So that a lost answer never makes a second application."""
    masters = Masters(m1=503, m2=201)

    a_client(masters).submit(a_text(), key="k7")

    assert masters.keys == ["k7", "k7"]


def test_all_masters_are_tried_in_rounds_until_the_time_is_over() -> None:
    """A new leader is in office within seconds; a user should not notice."""
    answers = iter([503, 503, 503, 200])

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(next(answers), json={"apps": []})

    assert a_client(answer, give_up_s=5.0).apps() == []


def test_nothing_that_answers_says_who_was_asked_and_why() -> None:
    """The usual cause is a wrong address, so the address must be in the message."""
    with pytest.raises(Unavailable) as caught:
        a_client(Masters(m1=None, m2=503)).apps()

    assert "http://m1:7070: connection refused" in str(caught.value)
    assert "http://m2:7070: answers 503" in str(caught.value)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"nonsense"])
def test_an_answer_that_no_master_gives_is_told(content: bytes) -> None:
    """A proxy, or another program on the port."""
    client = a_client(lambda _: httpx.Response(200, content=content))

    with pytest.raises(Unavailable, match="is it a master"):
        client.status()


@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_error_that_no_master_gives_is_told(status: int) -> None:
    """Also when it pretends to be a refusal."""
    client = a_client(lambda _: httpx.Response(status, content=b"<html>"))

    with pytest.raises(Unavailable, match="is it a master"):
        client.status()


@pytest.mark.parametrize("master", ["", "ftp://m1", "http://", "m1:port", "http://[::1", "m" * 64])
def test_an_address_that_is_none_is_refused_at_once(master: str) -> None:
    """A typing mistake must not look like a cluster that is down."""
    with pytest.raises(Rejected, match="is no address of a master"):
        a_client(Masters(), master)


def test_refusals_arrive_as_they_were_raised() -> None:
    """The CLI prints field, value, rule and way out as the master said them."""
    with closing(ApiClient(["m1.test"], user="ann", transport=World().transport())) as client:
        with pytest.raises(SpecFaults) as faults:
            client.submit(a_text(weight="0", name=None), key="k")
        with pytest.raises(NotFound, match="is no application"):
            client.app("nothing at?all")
        client.submit(a_text(), key="k")
        with pytest.raises(Conflict, match="with another spec"):
            client.submit(a_text(weight="2"), key="k")

    assert [fault.field for fault in faults.value.faults] == ["name", "weight"]


def test_a_stream_that_breaks_is_told() -> None:
    """Lines that were read stay; the reader learns that there may be more."""

    class Breaking(httpx.SyncByteStream):
        def __iter__(self) -> "Breaking":
            return self

        def __next__(self) -> bytes:
            raise httpx.ReadError("connection reset")

    client = a_client(lambda _: httpx.Response(200, stream=Breaking()))

    with client.logs("a", params={}) as chunks, pytest.raises(Unavailable, match="stream broke"):
        next(chunks)
