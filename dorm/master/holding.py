"""When a master holds: the store is not the one it knew, or a witness says so.

A master that holds decides nothing and accepts nothing, but answers questions, and says why. It
goes on in the next epoch of the store, which an operator begins. A master that was started after
the restore knows nothing better than the restored store, and leads it until the first alarm comes:
what it writes then is obeyed by no agent that had seen more.
"""

from typing import Final

import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.log import epochs
from dorm.log.etcd_log import EtcdLog
from dorm.log.witness import Accuser, Look, Proof, look
from dorm.ports import Clock, Etcd, Randomness
from dorm.store import Alarm, StoreMark
from events.errors import Unavailable
from events.recorded import Stamp
from reconcilers.history import Position, judge

_log = structlog.get_logger()

LOOK_S: Final = 1.0
ID_LENGTH: Final = 12
WAY_OUT: Final = "an operator looks at it (dorm status), then begins an epoch: dorm admin new-epoch"


class NewEpoch(Exception):
    """Not an error: the store is in another epoch, so what was read of it is to be forgotten."""


class Holding:
    """What one master makes of the store.

    Attributes:
        known: How far it has seen.
        alarms: Of all witnesses, about this epoch of the store.
        mark_revision: Mod revision of the mark of this epoch.
    """

    def __init__(  # noqa: PLR0913 - the ports, who it is, and what it goes by
        self,
        etcd: Etcd,
        keys: Keys,
        *,
        name: str,
        clock: Clock,
        randomness: Randomness,
        proof: Proof,
        look_s: float,
    ) -> None:
        """Begin without having seen anything; the store is looked at every `look_s` seconds."""
        self.known = Position()
        self.alarms: tuple[Alarm, ...] = ()
        self.mark_revision = 0
        self._own, self._sure = "", False
        self._look_s = look_s
        self._etcd, self._keys, self._name = etcd, keys, name
        self._clock, self._randomness = clock, randomness
        self._accuser = Accuser(etcd, keys, clock, witness=f"master/{name}", proof=proof)

    @property
    def reason(self) -> str:
        """Return why this master holds; empty when it does not."""
        return self._own or next((f"{one.witness}: {one.reason}" for one in self.alarms), "")

    async def begin(self) -> None:
        """Take the store as it is, unless it went back; for the beginning, and after an epoch.

        Raises:
            Unavailable: etcd did not answer; try again.
        """
        stamp = Stamp(at_ms=self._clock.now_ms(), actor=f"master/{self._name}")
        token = self._randomness.token(ID_LENGTH)
        seen = await epochs.ensure_mark(self._etcd, self._keys, store_id=token, stamp=stamp)
        await epochs.clear_void_alarms(self._etcd, self._keys, seen)
        self.alarms = await epochs.alarms(self._etcd, self._keys, seen.found)
        verdict = judge(self.known, seen.found)
        if verdict.kind == "regressed":
            self.suspect(verdict.reason, sure=False)
            return
        self.known, self.mark_revision = seen.found, seen.mark_revision
        self._own, self._sure = "", False

    def saw(self, revision: int) -> None:
        """Note how far the store was read."""
        if revision > self.known.revision:
            self.known = Position(
                epoch=self.known.epoch, store_id=self.known.store_id, revision=revision
            )

    def suspect(self, reason: str, *, sure: bool) -> None:
        """Hold at once; the next look judges, unless a write has shown it already (`sure`)."""
        self._own, self._sure = self._own or reason, self._sure or sure

    async def run(self) -> None:
        """Look at the store again and again.

        Raises:
            NewEpoch: Forget everything, `begin`, and go on.
        """
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Ends with an epoch, or when it is cancelled.
            try:
                await self._look()
                backoff.reset()
                wait_s = self._look_s
            except Unavailable as error:
                wait_s = backoff.next_s()
                _log.warning("store.unknown", error=str(error), retry_s=round(wait_s, 3))
            await self._clock.sleep(wait_s)

    async def until_free(self) -> None:
        """Wait until there is nothing to hold for, however long that takes."""
        while self.reason:
            await self._clock.sleep(LOOK_S)

    async def begin_epoch(self, *, after: int, stamp: Stamp) -> StoreMark:
        """Begin the next epoch, see `dorm.log.epochs.begin_epoch`."""
        token = self._randomness.token(ID_LENGTH)
        log = EtcdLog(self._etcd, self._keys, producer=f"{self._name}.epoch.{token}")
        return await epochs.begin_epoch(
            self._etcd,
            log,
            self._keys,
            after=after,
            known=self.known,
            store_id=token,
            stamp=stamp,
        )

    async def _look(self) -> None:
        known = self.known
        seen = await look(self._etcd, self._keys)
        verdict = judge(known, seen.found)
        if verdict.kind in {"new", "first"}:
            raise NewEpoch
        if verdict.kind == "regressed":
            await self._hold(known, seen, verdict.reason)
        elif self._sure:
            await self._hold(known, seen, self._own)
        else:
            self._own = ""
            self.saw(seen.found.revision)
        self.alarms = await epochs.alarms(self._etcd, self._keys, seen.found)

    async def _hold(self, known: Position, seen: Look, reason: str) -> None:
        if not self._own:
            _log.error("store.regressed", reason=reason, way_out=WAY_OUT)
        self._own = self._own or reason
        stands = await self._accuser.accuse(known, seen, self._own, sure=self._sure)
        self._sure = self._sure or stands
        if not stands:
            self._own = ""
