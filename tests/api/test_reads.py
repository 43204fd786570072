"""What the API tells: nodes, events, the status, and why an application waits."""

import hashlib

import httpx
import pytest

from tests.api.world import World, a_ready_node, error_of
from tests.builders import (
    a_generation,
    an_app,
    node_lost,
)


def test_why_has_a_code_numbers_and_words(http: httpx.Client, world: World) -> None:
    """An application that waits without a reason is the first complaint about any scheduler."""
    world.happen(a_ready_node(cpus=1), an_app("a", cpus=8))

    why = http.get("/v1/apps/a/why").json()

    assert why["id"] == "a"
    assert why["phase"] == "pending"
    assert why["code"]
    assert why["message"]
    assert why["hint"]


def test_nodes_show_what_is_used(http: httpx.Client, world: World) -> None:
    """Free room is capacity less what may still run, also on a lost node."""
    world.happen(a_ready_node(cpus=4), an_app("a"), a_generation("a", "n1", "n1"), node_lost("n1"))

    (node,) = http.get("/v1/nodes").json()["nodes"]

    assert (node["id"], node["state"], node["containers"]) == ("n1", "lost", 2)
    assert (node["used"]["cpu_milli"], node["free"]["cpu_milli"]) == (2000, 2000)


def test_events_are_read_by_a_cursor_without_loss(http: httpx.Client, world: World) -> None:
    """Whoever reads on from `next` sees every event once, whatever the page size."""
    world.happen(*(an_app(f"a{number}") for number in range(7)))
    seen, after, at_end = [], 0, False

    while not at_end:  # Ends, because each page reads on.
        page = http.get(f"/v1/events?after={after}&limit=3").json()
        seen += [event["data"]["app_id"] for event in page["events"]]
        after, at_end = page["next"], page["at_end"]

    assert seen == [f"a{number}" for number in range(7)]
    assert http.get(f"/v1/events?after={after}").json()["events"] == []


async def test_events_of_one_transaction_stay_together(world: World) -> None:
    """Half of a revision cannot be asked for by its number."""
    await world.log.append(
        [an_app("a"), an_app("b"), an_app("c")], stamp=world.service._stamp("u", "")
    )

    page = await world.service.events(after=0, limit=1)

    assert (len(page["events"]), page["next"], page["at_end"]) == (3, 1, True)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=5000", "after=9e9"])
def test_a_senseless_cursor_is_refused(http: httpx.Client, query: str) -> None:
    """Starting from the beginning instead would look like new events."""
    error_of(http.get(f"/v1/events?{query}"), 400)


def test_a_cursor_of_another_log_is_told(http: httpx.Client, world: World) -> None:
    """A restored cluster must not look like one in which nothing happens."""
    world.happen(an_app("a"))

    error = error_of(http.get("/v1/events?after=2"), 409)

    assert (error["field"], error["value"]) == ("after", "2")
    assert http.get("/v1/events?after=1").json()["at_end"]


def test_the_status_counts_room_and_applications(http: httpx.Client, world: World) -> None:
    """A lost node's capacity is nobody's room."""
    world.happen(
        a_ready_node("n1", cpus=4), a_ready_node("n2", cpus=4), node_lost("n2"), an_app("a")
    )

    status = http.get("/v1/status").json()

    assert (status["master"], status["is_leader"], status["healthy"]) == ("m1", True, True)
    assert status["nodes"] == {"ready": 1, "lost": 1}
    assert status["total"]["cpu_milli"] == status["free"]["cpu_milli"] == 4000
    assert status["apps"] == {"pending": 1}
    assert status["revision"] == 4


def test_the_state_hashes_to_what_the_status_says(http: httpx.Client, world: World) -> None:
    """That is how an auditor compares a master with a replay."""
    world.happen(a_ready_node(), an_app("b"), an_app("a"))

    state = http.get("/v1/state").content

    assert hashlib.sha256(state).hexdigest() == http.get("/v1/status").json()["state_hash"]
