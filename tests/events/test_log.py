"""The log in memory. What every log has to do is tested by the contract suite."""

import pytest

from events.chain import verify
from events.errors import Conflict, Fenced
from events.log import EVENTS_PER_APPEND_MAX, MemoryLog
from tests import builders as b


async def test_a_batch_is_one_revision_and_ids_stand_in_order() -> None:
    """The order of the log is revision, then id."""
    log = MemoryLog(producer="m1-abc")
    first = await log.append([b.a_node("n1"), b.a_node("n2")], stamp=b.BY_TEST)
    second = await log.append([b.an_app("a")], stamp=b.BY_TEST)

    assert (1, 2) == (first, second)
    assert [
        (1, "m1-abc-0000000001-000"),
        (1, "m1-abc-0000000001-001"),
        (2, "m1-abc-0000000002-000"),
    ] == [recorded.position for recorded in log.recorded]
    assert {"m1-abc"} == {recorded.producer for recorded in log.recorded}


async def test_what_is_written_makes_an_audit_chain() -> None:
    """Histories of tests are as verifiable as real ones."""
    log = MemoryLog()
    await log.append([b.a_node("n1"), b.a_node("n2")], stamp=b.BY_TEST)
    await log.append([b.an_app("a")], stamp=b.BY_TEST)

    assert () == verify(log.recorded)
    assert verify(log.recorded[1:])


async def test_a_page_never_splits_a_revision() -> None:
    """A reader goes on from a revision, so half of one would be lost."""
    log = MemoryLog(page_size=3)
    for _ in range(3):
        await log.append([b.a_node("n1"), b.a_node("n2")], stamp=b.BY_TEST)

    page = await log.read()
    rest = await log.read(after=page.through)

    assert [1, 1, 2, 2] == [recorded.revision for recorded in page.recorded]
    assert (2, False) == (page.through, page.at_end)
    assert [3, 3] == [recorded.revision for recorded in rest.recorded]
    assert (3, True) == (rest.through, rest.at_end)
    assert (await log.read(after=3)).recorded == ()
    assert (await log.read(after=3)).through == 3


async def test_a_fenced_append_writes_nothing() -> None:
    """A paused old leader changes nothing."""
    log = MemoryLog()
    log.epoch = 2

    with pytest.raises(Fenced, match="epoch 1 is over"):
        await log.append([b.an_app("a")], stamp=b.BY_TEST, fence=1)

    assert [] == log.recorded
    assert 1 == await log.append([b.an_app("a")], stamp=b.BY_TEST, fence=2)
    assert await log.settle() is None


async def test_a_submit_under_the_same_key_is_the_first_one() -> None:
    """A user who tries again after a lost answer must not get two applications."""
    log = MemoryLog()
    first = await log.submit(b.an_app("a-1", name="a"), key="k", stamp=b.BY_TEST)
    again = await log.submit(b.an_app("a-2", name="a"), key="k", stamp=b.BY_TEST)

    assert ("a-1", False) == (first.app_id, first.duplicate)
    assert ("a-1", True) == (again.app_id, again.duplicate)
    assert 1 == len(log.recorded)
    with pytest.raises(Conflict, match="idempotency key: k was used for a-1, with another spec"):
        await log.submit(b.an_app("a-3", name="a", max=9), key="k", stamp=b.BY_TEST)


@pytest.mark.parametrize("count", [0, EVENTS_PER_APPEND_MAX + 1])
async def test_a_batch_that_no_transaction_can_hold_is_refused(count: int) -> None:
    """The store would refuse it later, with a message that nobody understands."""
    with pytest.raises(ValueError, match=f"not {count}"):
        await MemoryLog().append([b.node_lost()] * count, stamp=b.BY_TEST)


async def test_the_doorbell_rings_after_the_write() -> None:
    """Whoever is woken must find what woke it."""
    log = MemoryLog()
    seen: list[int] = []
    log.doorbell = lambda: seen.append(log.revision)

    await log.append([b.node_lost()], stamp=b.BY_TEST)

    assert [1] == seen
