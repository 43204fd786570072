"""What the API does when etcd fills up, and when the log begins later than a reader thinks."""

import attrs
import httpx
import pytest

from dorm.api.client import ApiClient
from dorm.ports.etcd import MemberStatus
from dorm.space.levels import Space, reckon
from events.errors import Archived, Full
from events.log import MemoryLog, Page
from events.policy import LayoutConfigured
from tests.api.world import World, error_of, submit
from tests.spec.texts import a_text


def filled(percent: int) -> Space:
    """A store so full."""
    status = MemberStatus(
        endpoint="etcd1:2379",
        version="3.5.16",
        cluster_id=1,
        member_id=1,
        leader_id=1,
        revision=1,
        db_bytes=percent << 20,
        in_use_bytes=percent << 20,
    )
    return reckon((status,), quota_bytes=100 << 20)


def test_new_work_is_refused_in_time_with_the_reason_and_the_way_out(
    world: World, http: httpx.Client
) -> None:
    """429, not 503: the store works, and what was accepted goes on."""
    world.view.room = filled(83)

    answer = submit(http)

    error = error_of(answer, 429)
    assert "etcd is at 83% of 100 MiB" in error["message"]
    assert "dorm admin reclaim" in error["hint"]
    assert 30 <= int(answer.headers["retry-after"])
    assert [] == world.events


def test_a_submit_that_was_accepted_is_answered_again_however_full_it_is(
    world: World, http: httpx.Client
) -> None:
    """Its answer was lost; to refuse the repetition would be a lie."""
    first = submit(http)
    world.view.room = filled(95)

    again = submit(http)

    assert (200, first.json()["id"]) == (again.status_code, again.json()["id"])
    assert again.json()["duplicate"]
    error_of(submit(http, a_text(name="other"), key="k1"), 409)
    error_of(submit(http, key="k2"), 429)


def test_changes_go_on_longer_than_submits_and_endings_longest(
    world: World, http: httpx.Client
) -> None:
    """A cancel makes room in the end."""
    app = submit(http).json()["id"]
    world.view.room = filled(85)
    assert 200 == http.patch("/v1/policy", json={"min_run_ms": 5}).status_code
    assert 200 == http.patch(f"/v1/apps/{app}", json={"weight": 2}).status_code

    world.view.room = filled(91)

    error_of(http.patch("/v1/policy", json={"min_run_ms": 6}), 429)
    error_of(http.patch(f"/v1/apps/{app}", json={"weight": 3}), 429)
    error_of(http.post(f"/v1/apps/{app}/retry"), 429)
    assert 202 == http.post(f"/v1/apps/{app}/cancel").status_code
    assert 1 == sum(isinstance(event, LayoutConfigured) for event in world.events)


def test_the_client_tells_a_full_store_from_a_wrong_request(world: World) -> None:
    """The same request may pass when there is room."""
    world.view.room = filled(85)
    client = ApiClient(["http://m1.test"], user="ann", transport=world.transport())

    with pytest.raises(Full, match="85%"):
        client.submit(a_text(), key="k1")
    client.close()


def test_status_shows_how_full_it_is(world: World, http: httpx.Client) -> None:
    """An operator looks there first."""
    world.view.room = filled(85)

    space = http.get("/v1/status").json()["space"]

    assert ("no_submits", 0.85) == (space["level"], space["fill"])
    assert ["etcd1:2379"] == [one["endpoint"] for one in space["members"]]


class ShortLog(MemoryLog):
    """A log that begins behind its second event: what was before is archived."""

    async def read(self, *, after: int = 0) -> Page:
        """See `EventLog`."""
        if after < 2:
            raise Archived(1, 2)
        return await super().read(after=after)


def test_events_begin_where_the_log_begins_and_a_cursor_before_that_is_told(world: World) -> None:
    """A reader that goes on as if nothing were missing would have a hole in its history."""
    log = ShortLog()
    world.service = attrs.evolve(world.service, log=log)
    log.recorded = world.log.recorded
    with httpx.Client(transport=world.transport(), base_url="http://m1.test") as http:
        for name in ("a", "b", "c"):
            assert 201 == submit(http, a_text(name=name), key=name).status_code

        page = http.get("/v1/events").json()
        assert [3] == [event["revision"] for event in page["events"]]
        error = error_of(http.get("/v1/events", params={"after": 1}), 410)

    assert "after=2" in error["hint"]
