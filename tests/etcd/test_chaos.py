"""The short form of `tests.etcd.chaos`; the long one runs by hand."""

import pytest

from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from tests.etcd.chaos import Chaos

SECONDS = 12.0

pytestmark = pytest.mark.etcd


async def test_nothing_is_lost_doubled_or_out_of_order(
    three_members: EtcdCluster, keys: Keys
) -> None:
    """The leading member is killed, then frozen, with a roll-over and a compaction each second."""
    outcome = await Chaos(three_members, keys).run(SECONDS)

    table = outcome.table()
    assert outcome.kills, table
    assert outcome.freezes, table
    assert outcome.roll_overs > 2, table
    assert (0, 0, True) == (outcome.lost, outcome.doubled, outcome.in_order), table
    assert outcome.acked_count == len(outcome.stored), table
    assert outcome.followed_exactly, table
