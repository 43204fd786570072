"""How full the store is, and what that forbids."""

import pytest

from dorm.api import admission
from dorm.ports.etcd import MemberStatus
from dorm.space.levels import Level, reckon
from events.errors import Full

MIB = 1 << 20


def a_status(db: int, in_use: int, *, name: str = "a", no_space: bool = False) -> MemberStatus:
    """A member whose sizes are in percent of a quota of 100 MiB."""
    return MemberStatus(
        endpoint=name,
        version="3.5.16",
        cluster_id=1,
        member_id=1,
        leader_id=1,
        revision=1,
        db_bytes=db * MIB,
        in_use_bytes=in_use * MIB,
        no_space=no_space,
    )


def level(*statuses: MemberStatus) -> Level:
    """Return what they mean together."""
    return reckon(statuses, quota_bytes=100 * MIB).level


@pytest.mark.parametrize(
    ("db", "in_use", "expected"),
    [
        (69, 69, Level.ROOMY),
        (70, 70, Level.FILLING),
        (80, 80, Level.NO_SUBMITS),
        (90, 90, Level.ONLY_ENDINGS),
        (98, 20, Level.ROOMY),  # a large file with room inside takes writes
        (98, 65, Level.FILLING),
        (98, 75, Level.NO_SUBMITS),
        (99, 20, Level.ONLY_ENDINGS),  # etcd itself compares the file with the quota
    ],
)
def test_what_is_used_counts_until_the_file_is_at_its_end(
    db: int, in_use: int, expected: Level
) -> None:
    """Compaction frees space inside the file; only a defragmentation makes the file smaller."""
    assert expected is level(a_status(db, in_use))


def test_the_fullest_member_counts() -> None:
    """One full file stops all of etcd."""
    assert Level.NO_SUBMITS is level(a_status(10, 10), a_status(85, 85, name="b"))
    assert Level.FULL is level(a_status(85, 85), a_status(10, 10, name="b", no_space=True))


def test_a_store_that_nobody_has_seen_refuses_nothing() -> None:
    """A master that cannot ask yet is no reason to refuse work."""
    assert Level.ROOMY is level()
    assert "unknown" == str(reckon((), quota_bytes=1))


def test_new_work_is_refused_before_changes_and_changes_before_endings() -> None:
    """What brings more goes first; a cancel never asks."""
    tight, tighter = (reckon((a_status(n, n),), quota_bytes=100 * MIB) for n in (82, 92))

    admission.check_change(tight, "set")
    with pytest.raises(Full, match="82%"):
        admission.check_submit(tight)
    with pytest.raises(Full, match="dorm admin reclaim"):
        admission.check_change(tighter, "set")
