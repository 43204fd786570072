"""The master: a follower always, a leader at times."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import structlog

from dorm.backoff import Backoff
from dorm.config import MasterConfig
from dorm.failpoints import point
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.leadership import Leadership
from dorm.log.tailer import Tailer
from dorm.master.beginning import beginning
from dorm.master.company import Company, MasterCard
from dorm.master.follower import Follower
from dorm.master.gauges import Gauges
from dorm.master.holding import Holding, NewEpoch
from dorm.master.metrics import Metrics
from dorm.master.office import Office
from dorm.master.presence import Presence
from dorm.master.promises import Promises
from dorm.master.registry import Registry
from dorm.master.statuses import Statuses
from dorm.planner.port import Planner
from dorm.ports import Clock, Etcd, Randomness
from dorm.space.archive import Archive
from dorm.space.gauges import SpaceGauges
from dorm.space.keeper import Keeper
from dorm.space.levels import Space
from dorm.space.watching import SpaceWatch
from dorm.status import NodeStatus
from dorm.store import Alarm, StoreMark
from dorm.version import dorm_version
from events.catalog import Event
from events.errors import Archived, Missed, Regressed, Unavailable
from events.log import EventLog
from events.recorded import Stamp
from events.state import ClusterState
from events.upcasts import readable_kinds

_log = structlog.get_logger()

TICK_S: Final = 1.0  # leases and waits are looked at this often, besides every move of the log
UPKEEP_S: Final = 5.0
SILENCE_S_MAX: Final = 6.0  # a follower that has not heard from etcd for longer is stale


class Master:
    """One master on its ports. It holds no truth: everything can be read from the log again.

    Attributes:
        metrics: Of this master, for `GET /metrics`.
        presence, promises, registry: What it is made of; a test puts a broken one in.
    """

    presence: ClassVar[type[Presence]] = Presence
    promises: ClassVar[type[Promises]] = Promises
    registry: ClassVar[type[Registry]] = Registry

    def __init__(  # noqa: PLR0913 - the ports, each by its name
        self,
        config: MasterConfig,
        *,
        etcd: Etcd,
        log: EtcdLog,
        planner: Planner,
        clock: Clock,
        randomness: Randomness,
        other_logs: Sequence[EventLog] = (),
        archive: Archive | None = None,
    ) -> None:
        """Take the ports; `other_logs` are those of this process that follow its epoch too.

        Without an archive nothing of the log is ever deleted.
        """
        self.metrics = Metrics()
        self.metrics.add(Gauges(self))
        self.metrics.add(SpaceGauges(self.space))
        self._config, self._etcd, self._event_log = config, etcd, log
        self._clock, self._randomness = clock, randomness
        self._keys = Keys(config.cluster.cluster)
        tailer = Tailer(etcd, self._keys, log=log, clock=clock, randomness=randomness)
        self._follower = Follower(tailer.batches, clock=clock)
        self._leadership = Leadership(
            etcd,
            self._keys,
            name=config.name,
            ttl_s=config.lease_ttl_s,
            clock=clock,
            randomness=randomness,
        )
        self._holding = Holding(
            etcd,
            self._keys,
            name=config.name,
            clock=clock,
            randomness=randomness,
            proof=self._last_read,
            look_s=config.store_look_s,
        )
        self._company = Company(
            etcd,
            self._keys,
            card=MasterCard(name=config.name, version=dorm_version(), kinds=readable_kinds()),
            clock=clock,
            randomness=randomness,
        )
        self._logs = (log, *other_logs)
        self._statuses = Statuses(
            etcd, self._keys, clock=clock, randomness=randomness, look_s=config.status_s
        )
        self._promises = self.promises(clock)
        self._registry = self.registry(
            etcd, self._keys, name=config.name, url=config.url, clock=clock, randomness=randomness
        )
        self._archive = archive
        self._space = SpaceWatch(etcd, clock=clock, quota_bytes=config.space.quota_bytes)
        self._office = Office(
            config=config,
            etcd=etcd,
            keys=self._keys,
            log=log,
            follower=self._follower,
            verified=lambda: tailer.verified,
            leadership=self._leadership,
            holding=self._holding,
            company=self._company,
            promises=self._promises,
            presence=self.presence,
            planner=planner,
            metrics=self.metrics,
            room=Keeper(
                config.space,
                etcd=etcd,
                keys=self._keys,
                log=log,
                archive=archive,
                watch=self._space,
                clock=clock,
                randomness=randomness,
            ),
            clock=clock,
            randomness=randomness,
        )

    # What the API sees (`dorm.api.view.View`)

    def state(self) -> ClusterState:
        """Return the newest folded state."""
        return self._follower.state

    def statuses(self) -> Mapping[str, NodeStatus]:
        """Return what agents last said of the present, by node id."""
        return self._statuses.now

    def is_leader(self) -> bool:
        """Return whether this master is in office, by its own clock."""
        return self._leadership.still_mine()

    def space(self) -> Space:
        """Return how full etcd was a moment ago."""
        return self._space.now

    async def wait_for(self, revision: int) -> None:
        """Wait until the state has reached `revision`."""
        await self._follower.wait_for(revision)

    def healthy(self) -> bool:
        """Return whether the state is fresh: etcd has answered a moment ago."""
        silence_s = self.silence_s()
        return silence_s is not None and silence_s < SILENCE_S_MAX

    def silence_s(self) -> float | None:
        """Return for how long the log has given no sign of life; None before the first."""
        return self._follower.silence_s()

    def hold(self) -> str:
        """Return why this master holds, see `dorm.master.holding`; empty when it does not."""
        return self._holding.reason

    def alarms(self) -> tuple[Alarm, ...]:
        """Return what witnesses say against the store."""
        return self._holding.alarms

    def store_epoch(self) -> int:
        """Return the epoch of the store as found; 0 before the first look."""
        return self._holding.known.epoch

    def check(self, events: Sequence[Event]) -> None:
        """Let events pass that every living master can read, see `dorm.master.company`."""
        self._company.check(events)

    async def begin_epoch(self, *, after: int, stamp: Stamp) -> StoreMark:
        """Begin the next epoch of the store, see `dorm.log.epochs.begin_epoch`."""
        return await self._holding.begin_epoch(after=after, stamp=stamp)

    def events_read(self) -> int:
        """Return how many events were folded since the start; a snapshot saves the rest."""
        return self._follower.events_read

    def promise(self, node_id: str, tenure: str) -> bool:
        """Give a node that etcd does not answer the word not to end its tenure for now.

        False when it is over already, as far as this master knows.
        """
        node = self.state().nodes.get(node_id)
        if node is None or node.report.tenure != tenure or node.expelled:
            return False
        self._promises.give(tenure)
        return True

    # Running

    async def run(self) -> None:
        """Follow, and lead when it is this master's turn, for ever.

        Raises:
            ExceptionGroup: Of `Corrupt`: the log does not fold. The process must stop.
        """
        while True:  # One turn for each epoch of the store.
            await self._begin()
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._follow(), name="follow")
                    tasks.create_task(self._space.run(), name="space")
                    tasks.create_task(self._statuses.run(), name="statuses")
                    tasks.create_task(self._lead(), name="lead")
                    tasks.create_task(self._holding.run(), name="hold")
                    tasks.create_task(self._company.run(), name="company")
            except* (NewEpoch, Missed, Archived) as group:
                reasons = [str(error) or type(error).__name__ for error in group.exceptions]
                _log.warning("master.begins_anew", reasons=reasons)
            await self._leadership.resign()

    async def resign(self) -> None:
        """Hand over at once, for a clean stop."""
        await self._leadership.resign()

    async def _begin(self) -> None:
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Ends when etcd answers; a master without etcd has nothing to do.
            try:
                await self._holding.begin()
                for log in self._logs:
                    log.enter(self._holding.known.epoch, self._holding.mark_revision)
                await self._event_log.bootstrap()
                found = await beginning(self._etcd, self._keys, self._event_log, self._archive)
            except Unavailable as error:
                _log.warning("master.start_delayed", error=str(error))
                await backoff.wait()
                continue
            self._follower.begin(found.state, after=found.after)
            if found.after:
                point("master.snapshot.loaded")
            return

    async def _follow(self) -> None:
        """Follow the log; stay where it was left while the store stands before that."""
        self._follower.paused = lambda: bool(self._holding.reason)
        while True:  # Follows until it is cancelled.
            try:
                await self._follower.run()
            except Regressed as error:
                self._holding.suspect(str(error), sure=False)
            await self._holding.until_free()

    async def _lead(self) -> None:
        """Take office again and again, once nodes may have asked this master for its word."""
        await self._registry.enter()
        await self._office.run()

    def _last_read(self) -> tuple[str, int] | None:
        """Return the key and revision of an event that the log surely has."""
        last = self._follower.last
        return (
            None if last is None else (self._keys.event(last.segment, last.event_id), last.revision)
        )
