"""A master that cannot vouch for the present: it answers, marked, and accepts nothing."""

import asyncio

import httpx
import pytest

from dorm.api.present import WRITE_S, NotNow, writing
from tests.api.world import StandInView, World
from tests.simulation.loop import virtual_loop

SPEC = (
    "name: a\nimage: i\nrun: {start: [x]}\n"
    "resources: {cpu: 1, memory: 1GiB}\nscale: {min: 1, max: 1}\n"
)
READS = ("/v1/apps", "/v1/nodes", "/v1/status", "/v1/policy", "/v1/state")


def submit(http: httpx.Client, key: str = "k") -> httpx.Response:
    """Submit an application."""
    headers = {"Idempotency-Key": key, "Content-Type": "application/yaml"}
    return http.post("/v1/apps", content=SPEC, headers=headers)


@pytest.mark.parametrize("path", READS)
def test_a_fresh_answer_is_not_marked(http: httpx.Client, path: str) -> None:
    """A mark that is always there says nothing."""
    answer = http.get(path)

    assert "Dorm-Stale" not in answer.headers
    if path != "/v1/state":
        assert answer.json()["freshness"] == {"stale": False, "age_s": 0.2, "hold": ""}


@pytest.mark.parametrize("path", READS)
def test_a_stale_answer_says_how_old_it_is(world: World, http: httpx.Client, path: str) -> None:
    """In the header for every reader, in the body for programs."""
    world.view.stale = True
    answer = http.get(path)

    assert (200, "42") == (answer.status_code, answer.headers["Dorm-Stale"])
    if path != "/v1/state":
        assert answer.json()["freshness"] == {"stale": True, "age_s": 42.0, "hold": ""}


def test_a_master_that_holds_answers_and_says_why(world: World, http: httpx.Client) -> None:
    """What it shows is the history that it knew."""
    world.view.held = "node/n1: the store stands at revision 4, but 9 was seen"
    answer = http.get("/v1/status")

    assert answer.json()["hold"] == world.view.held
    assert "revision 4" in answer.headers["Dorm-Hold"]


@pytest.mark.parametrize(("held", "stale"), [("the store went back", False), ("", True)])
def test_a_write_is_refused_at_once_and_nothing_was_written(
    world: World, http: httpx.Client, *, held: str, stale: bool
) -> None:
    """With the reason, the way out, and when to try again."""
    world.view.held, world.view.stale = held, stale
    answer = submit(http)
    error = answer.json()["error"]

    assert (503, "1", "no") == (
        answer.status_code,
        answer.headers["Retry-After"],
        error["written"],
    )
    assert ("new-epoch" if held else "try again") in error["hint"]
    assert [] == world.events


def test_a_write_without_an_answer_says_that_its_outcome_is_unknown(
    world: World, http: httpx.Client
) -> None:
    """It is in the log here: only the same key makes a second try safe."""
    world.view.behind = True
    error = submit(http).json()["error"]
    world.view.behind = False

    assert "unknown" == error["written"]
    assert "same idempotency key" in error["hint"]
    assert submit(http).json()["duplicate"]


def test_a_write_has_a_deadline() -> None:
    """Without quorum etcd's client alone takes ten seconds, and the next in line ten more."""

    async def wait_for_ever(world: World) -> None:
        with pytest.raises(NotNow, match="within 3 s"):
            async with writing(StandInView(world.log), []):
                await asyncio.sleep(1000)

    with virtual_loop() as loop:
        loop.run_until_complete(wait_for_ever(World()))
        assert loop.time() == pytest.approx(WRITE_S)


def test_what_an_older_master_cannot_read_is_not_written(world: World, http: httpx.Client) -> None:
    """It would stop at that event, in the middle of an upgrade."""
    world.view.old_master = "m2"
    error = submit(http).json()["error"]

    assert ("no", True) == (error["written"], "m2" in error["message"])
    assert [] == world.events


def test_a_master_lives_while_it_is_not_ready(world: World, http: httpx.Client) -> None:
    """A restart helps nobody; sending users elsewhere may."""
    assert [200, 200] == [http.get(path).status_code for path in ("/healthz", "/readyz")]
    world.view.stale = True
    assert [200, 503] == [http.get(path).status_code for path in ("/healthz", "/readyz")]


def test_an_operator_begins_an_epoch_by_the_number_that_was_seen(
    world: World, http: httpx.Client
) -> None:
    """Also while the master holds: that is what it waits for."""
    world.view.held = "the store went back"
    first = http.post("/v1/admin/new-epoch", json={"after": 1})
    again = http.post("/v1/admin/new-epoch", json={"after": 1})
    wrong = http.post("/v1/admin/new-epoch", json={"after": True})

    assert [200, 409, 400] == [one.status_code for one in (first, again, wrong)]
    assert 2 == first.json()["epoch"]
