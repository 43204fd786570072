"""Where a master begins: with the newest snapshot, so that it need not fold the whole history."""

import attrs
import structlog

from dorm.keys import Keys
from dorm.log import snapshots
from dorm.log.etcd_log import EtcdLog
from dorm.ports import Etcd
from dorm.space.archive import Archive
from events.errors import Corrupt, NotFound
from events.fold import fold
from events.state import ClusterState

_log = structlog.get_logger()


@attrs.frozen(kw_only=True)
class Beginning:
    """A state, and the revision to read on from: the log has everything behind it."""

    state: ClusterState
    after: int


async def beginning(etcd: Etcd, keys: Keys, log: EtcdLog, archive: Archive | None) -> Beginning:
    """Return where to begin: the newest snapshot, else the archive, else nothing at all.

    The archive is needed when no snapshot can be read although the log no longer has its first
    segments, such as after an upgrade to a Dorm whose state has another shape.

    Raises:
        Corrupt: A piece of the history is nowhere to be found.
        Unavailable: etcd or the disk did not answer.
    """
    first = (await log.segments.openings())[0]
    # Asked for afterwards: whoever deleted what was before `first` saw a snapshot behind it.
    snapshot = await snapshots.load(etcd, keys)
    if snapshot is not None and (first.number == 0 or snapshot.revision >= first.revision):
        return Beginning(state=snapshot, after=snapshot.revision)
    if first.number == 0:
        return Beginning(state=ClusterState(), after=0)
    what = f"the log begins with segment {first.number}, and no snapshot in etcd can be used"
    if archive is None:
        raise Corrupt(
            f"{what}: start this master with --archive DIR, where the segments before are"
        )
    _log.warning("master.reads_archive", why=what, segments=first.number)
    state = ClusterState()
    for number in range(first.number):
        try:
            state = fold(await archive.read(number), state)
        except NotFound as error:
            raise Corrupt(f"{what}: {error}") from error
    return Beginning(state=state, after=first.revision)
