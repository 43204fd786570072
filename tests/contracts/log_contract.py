"""What every `EventLog` keeps: the one in memory, and the one on etcd wherever that runs.

A test class inherits `LogContract` and gives the fixture `world`.
"""

import asyncio
from typing import Protocol

import pytest

from events.codec import digest, encode
from events.errors import Conflict, Corrupt, Fenced
from events.log import EVENTS_PER_APPEND_MAX, EventLog
from events.recorded import Recorded
from tests.builders import BY_TEST, a_node, an_app, leader_elected, node_lost


class LogWorld(Protocol):
    """One log with two writers.

    Attributes:
        log: The one under test.
        other: Another process on the same log; may be the same object.
    """

    log: EventLog
    other: EventLog

    async def elect(self) -> int:
        """Put a new leader in office and return its epoch."""
        ...


async def read_all(log: EventLog, *, after: int = 0) -> list[Recorded]:
    """Return every event behind `after`, page by page."""
    found: list[Recorded] = []
    while True:  # Ends at the end of the log.
        page = await log.read(after=after)
        assert page.through >= after
        assert all(after < recorded.revision <= page.through for recorded in page.recorded)
        found += page.recorded
        after = page.through
        if page.at_end:
            return found


class LogContract:
    """The suite."""

    # Appending and reading

    async def test_an_empty_log_ends_at_once(self, world: LogWorld) -> None:
        """A new cluster has no history, and reading it is no error."""
        page = await world.log.read()

        assert ((), True) == (page.recorded, page.at_end)

    async def test_what_was_appended_is_read(self, world: LogWorld) -> None:
        """The event comes back whole, with its stamp and its position."""
        revision = await world.log.append((an_app("a"),), stamp=BY_TEST)

        (recorded,) = await read_all(world.log)

        assert (an_app("a"), BY_TEST, revision) == (
            recorded.event,
            recorded.stamp,
            recorded.revision,
        )

    async def test_order_is_that_of_appending(self, world: LogWorld) -> None:
        """Every reader folds the same history."""
        revisions = [
            await (world.log if n % 2 else world.other).append((an_app(f"a{n}"),), stamp=BY_TEST)
            for n in range(10)
        ]

        found = await read_all(world.log)

        assert revisions == [recorded.revision for recorded in found]
        assert sorted(set(revisions)) == revisions
        assert [an_app(f"a{n}") for n in range(10)] == [recorded.event for recorded in found]

    async def test_events_of_one_append_stand_together_in_their_order(
        self, world: LogWorld
    ) -> None:
        """A decision of several events takes effect at one revision."""
        events = [a_node(f"n{n}") for n in range(EVENTS_PER_APPEND_MAX)]

        revision = await world.log.append(events, stamp=BY_TEST)

        found = await read_all(world.log)
        assert events == [recorded.event for recorded in found]
        assert {revision} == {recorded.revision for recorded in found}

    @pytest.mark.parametrize("count", [0, EVENTS_PER_APPEND_MAX + 1])
    async def test_a_batch_that_no_transaction_holds_is_a_mistake(
        self, world: LogWorld, count: int
    ) -> None:
        """The caller must cut its batches; nothing is written in part."""
        with pytest.raises(ValueError, match="1 to 100 events"):
            await world.log.append([node_lost()] * count, stamp=BY_TEST)
        assert [] == await read_all(world.log)

    async def test_appends_at_the_same_moment_all_take_place_once(self, world: LogWorld) -> None:
        """The API and the reconcilers of one master write through one log."""
        revisions = await asyncio.gather(
            *(world.log.append((an_app(f"a{n}"),), stamp=BY_TEST) for n in range(20)),
            *(world.other.append((an_app(f"b{n}"),), stamp=BY_TEST) for n in range(20)),
        )

        found = await read_all(world.log)

        assert 40 == len(found)
        assert sorted(revisions) == [recorded.revision for recorded in found]
        assert 40 == len({recorded.event_id for recorded in found})

    async def test_reading_goes_on_behind_a_revision(self, world: LogWorld) -> None:
        """A master that starts from a snapshot reads the tail, and only that."""
        revisions = [await world.log.append((an_app(f"a{n}"),), stamp=BY_TEST) for n in range(5)]

        for cut, revision in enumerate(revisions):
            found = await read_all(world.log, after=revision)
            assert revisions[cut + 1 :] == [recorded.revision for recorded in found]

    async def test_a_long_log_is_read_in_pages_of_whole_transactions(self, world: LogWorld) -> None:
        """Pages join without a gap, without an overlap, and never split a decision."""
        for batch in range(15):
            events = [an_app(f"a{batch}-{n}") for n in range(90)]
            await world.log.append(events, stamp=BY_TEST)

        found = await read_all(world.log)

        assert 15 * 90 == len({recorded.event_id for recorded in found})
        assert sorted(found, key=lambda recorded: recorded.position) == found

    async def test_reading_at_the_end_gives_nothing_until_something_comes(
        self, world: LogWorld
    ) -> None:
        """A follower asks again and again from where it stands."""
        await world.log.append((an_app("a"),), stamp=BY_TEST)
        end = await world.log.read()

        again = await world.log.read(after=end.through)
        await world.other.append((an_app("b"),), stamp=BY_TEST)
        found = await read_all(world.log, after=again.through)

        assert ((), True) == (again.recorded, again.at_end)
        assert [an_app("b")] == [recorded.event for recorded in found]

    async def test_reading_behind_the_end_is_no_empty_page(self, world: LogWorld) -> None:
        """The reader's position is of another log: it must not wait there for ever."""
        await world.log.append((an_app("a"),), stamp=BY_TEST)
        end = (await world.log.read(after=0)).through

        with pytest.raises(Corrupt):
            await world.log.read(after=end + 1_000)

    async def test_each_producer_chains_its_events(self, world: LogWorld) -> None:
        """An auditor finds a removed or edited event by the hash of the one before it."""
        for n in range(3):
            await world.log.append((an_app(f"a{n}"), node_lost(f"n{n}")), stamp=BY_TEST)
            await world.other.append((an_app(f"b{n}"),), stamp=BY_TEST)

        newest: dict[str, str] = {}
        for recorded in await read_all(world.log):
            assert newest.get(recorded.producer, "") == recorded.previous
            newest[recorded.producer] = digest(encode(recorded))

    # Fencing

    async def test_the_leader_in_office_writes(self, world: LogWorld) -> None:
        """The guard lets the right one through."""
        epoch = await world.elect()

        await world.log.append((leader_elected(epoch=epoch),), stamp=BY_TEST, fence=epoch)

        assert 1 == len(await read_all(world.log))

    async def test_an_old_leader_writes_nothing(self, world: LogWorld) -> None:
        """A master that was paused past its lease must not decide anything."""
        old = await world.elect()
        await world.elect()

        with pytest.raises(Fenced):
            await world.log.append((an_app("a"), an_app("b")), stamp=BY_TEST, fence=old)

        assert [] == await read_all(world.log)

    async def test_a_fenced_master_can_still_write_what_needs_no_leader(
        self, world: LogWorld
    ) -> None:
        """It goes on serving submits, and its chain has no hole where the refused batch was."""
        old = await world.elect()
        await world.log.append((an_app("a"),), stamp=BY_TEST, fence=old)
        new = await world.elect()
        with pytest.raises(Fenced):
            await world.log.append((an_app("b"),), stamp=BY_TEST, fence=old)

        await world.log.append((an_app("c"),), stamp=BY_TEST)
        await world.log.append((an_app("d"),), stamp=BY_TEST, fence=new)

        first, second, third = await read_all(world.log)
        assert [an_app("a"), an_app("c"), an_app("d")] == [
            recorded.event for recorded in (first, second, third)
        ]
        assert digest(encode(first)) == second.previous

    # Submits

    async def test_a_repeated_submit_returns_the_first_answer(self, world: LogWorld) -> None:
        """A user whose connection broke submits again, and gets one application, not two."""
        first = await world.log.submit(an_app("a", name="x"), key="k", stamp=BY_TEST)

        again = await world.other.submit(an_app("b", name="x"), key="k", stamp=BY_TEST)

        assert (first.app_id, first.revision, True) == (
            again.app_id,
            again.revision,
            again.duplicate,
        )
        assert not first.duplicate
        assert [an_app("a", name="x")] == [r.event for r in await read_all(world.log)]

    async def test_a_key_used_for_another_application_is_a_conflict(self, world: LogWorld) -> None:
        """The user must learn that the second application was not accepted."""
        await world.log.submit(an_app("a", name="x"), key="k", stamp=BY_TEST)

        with pytest.raises(Conflict) as raised:
            await world.log.submit(an_app("b", name="y"), key="k", stamp=BY_TEST)

        assert "idempotency key" == raised.value.field
        await world.log.submit(an_app("b", name="y"), key="k2", stamp=BY_TEST)
        assert 2 == len(await read_all(world.log))

    async def test_of_submits_at_the_same_moment_one_is_first(self, world: LogWorld) -> None:
        """Two masters may get the same submit."""
        receipts = await asyncio.gather(
            *(
                log.submit(an_app(f"a{n}", name="x"), key="k", stamp=BY_TEST)
                for n, log in enumerate((world.log, world.other) * 5)
            )
        )

        assert 1 == len({receipt.app_id for receipt in receipts})
        assert [False] == [r.duplicate for r in receipts if not r.duplicate]
        assert 1 == len(await read_all(world.log))

    # Settling

    async def test_nothing_open_settles_to_nothing(self, world: LogWorld) -> None:
        """A leader settles at the start of each pass; in good health that changes nothing."""
        await world.log.append((an_app("a"),), stamp=BY_TEST)

        assert await world.log.settle() is None
        assert 1 == len(await read_all(world.log))
