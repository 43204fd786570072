"""The masters that live, and which events each of them can read.

A master stops at a kind of event that it does not know, so during an upgrade nothing is written
that one of them would stop at. Each announces itself under its own lease; who is silent is gone.
Who may ever lead, alive or not, is another question, see `dorm.master.registry`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.ports import Clock, Compare, Etcd, Put, Randomness
from events.catalog import KIND_OF, Event
from events.codec import from_json, to_json
from events.errors import Corrupt, Rejected, Unavailable
from events.text import plural

_log = structlog.get_logger()

TTL_S: Final = 10.0
LOOK_S: Final = 2.0


@attrs.frozen(kw_only=True)
class MasterCard:
    """The value of a master's key.

    Attributes:
        version: Of its Dorm, for people.
        kinds: Wire names of all events that it can read, upcasts included.
    """

    name: str
    version: str
    kinds: tuple[str, ...]


class Company:
    """What one master knows of the others.

    Attributes:
        cards: Of the masters that live, by name; what was last read.
    """

    def __init__(
        self, etcd: Etcd, keys: Keys, *, card: MasterCard, clock: Clock, randomness: Randomness
    ) -> None:
        self.cards: tuple[MasterCard, ...] = ()
        self._etcd, self._keys, self._card = etcd, keys, card
        self._clock, self._randomness = clock, randomness
        self._lease_id = 0

    async def run(self) -> None:
        """Announce this master, and read who else is there, for ever."""
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Runs until it is cancelled.
            try:
                await self._announce()
                self.cards = await self._read()
                backoff.reset()
                wait_s = LOOK_S
            except (Unavailable, Rejected) as error:  # A lease that has just gone is refused.
                self._lease_id, wait_s = 0, backoff.next_s()
                _log.warning("company.unknown", error=str(error), retry_s=round(wait_s, 3))
            await self._clock.sleep(wait_s)

    def check(self, events: Sequence[Event]) -> None:
        """Let events pass that every living master can read.

        Raises:
            Unavailable: One of them cannot: hold them back until it is upgraded, or gone.
        """
        kinds = sorted({KIND_OF[type(event)] for event in events})
        unread = {kind: names for kind in kinds if (names := self._blind_to(kind))}
        if unread:
            words = "; ".join(f"{kind} by {', '.join(names)}" for kind, names in unread.items())
            raise Unavailable(
                f"held back: {plural(len(unread), 'kind')} of event cannot be read by every master"
                f" ({words}): upgrade them, or stop them"
            )

    def _blind_to(self, kind: str) -> tuple[str, ...]:
        return tuple(
            f"{card.name} (Dorm {card.version})" for card in self.cards if kind not in card.kinds
        )

    async def _announce(self) -> None:
        if self._lease_id and (await self._etcd.keep_alive(self._lease_id)).ttl_s > 0:
            return
        key = self._keys.master(self._card.name)
        found = await self._etcd.get(key)
        lease = await self._etcd.grant(TTL_S)
        guard = Compare(key, "mod", found.mod_revision if found else 0)
        put = Put(key, to_json(self._card), lease.lease_id)
        if (await self._etcd.txn((guard,), (put,))).succeeded:
            self._lease_id = lease.lease_id

    async def _read(self) -> tuple[MasterCard, ...]:
        found = await self._etcd.range(self._keys.cards)
        return tuple(_readable(item.value for item in found.items))


def _readable(values: Iterable[bytes]) -> Iterable[MasterCard]:
    for value in values:
        try:
            yield from_json(value, MasterCard)
        except Corrupt as error:
            _log.warning("company.unreadable", reason=str(error))
