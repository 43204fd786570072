"""The network between processes and the members of etcd: what gets lost, late or broken on it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

import attrs

from events.errors import DormError
from tests.simulation.etcd_members import IDS, Member
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.process import Process

TRY_S: Final = 0.7  # the real client's (`dorm.etcd.channels`)
LATE_S_MAX: Final = 20.0

Answer = tuple[object, DormError | None] | None


@attrs.define
class NetworkFaults:
    """How bad the network between processes and etcd is; all are probabilities of one try.

    Attributes:
        lost_request: The request never arrives.
        lost_reply: The request is carried out, and the caller cannot know.
        late_commit: A lost request arrives after all, seconds later.
        slow: The try takes long, within its deadline or past it.
        broken_watch: A watch breaks, at each batch it yields.
        counts: How often each of them has happened.
    """

    lost_request: float = 0.0
    lost_reply: float = 0.0
    late_commit: float = 0.0
    slow: float = 0.0
    broken_watch: float = 0.0
    counts: Counter[str] = attrs.field(factory=Counter, kw_only=True)

    def become(self, other: "NetworkFaults") -> None:
        """Take the other's probabilities, for every client at once."""
        for name in ("lost_request", "lost_reply", "late_commit", "slow", "broken_watch"):
            setattr(self, name, getattr(other, name))


class Connection:
    """The way of one process to the members, and the one that it talks to.

    Attributes:
        now: The index of that member.
    """

    def __init__(self, store: EtcdStore, process: Process, faults: NetworkFaults) -> None:
        """Connect a process to the store."""
        self.store, self.members, self.process, self.faults = store, store.members, process, faults
        self.now = process.random.randrange(len(IDS))

    def reaches(self, member: Member) -> bool:
        """Return whether a member is there, and not cut off from this process."""
        return member.up and member.member_id not in self.process.cut_from

    def happens(self, kind: str) -> bool:
        """Return whether a fault happens to this try, and count it."""
        probability: float = getattr(self.faults, kind)
        if not probability or self.process.random.random() >= probability:
            return False
        self.faults.counts[kind.replace("_", " ")] += 1
        return True

    def latency(self) -> float:
        """Return how long one way takes, in seconds."""
        slow = self.happens("slow")
        return self.process.random.uniform(*((0.02, 1.2) if slow else (0.001, 0.02)))

    def leave(self, index: int) -> None:
        """Turn to the next member, unless that was done already."""
        if self.now == index:
            self.now = (index + 1) % len(IDS)


class Try:
    """One request on its way to one member and back. It goes on when its sender dies.

    Attributes:
        answer: Value and error; None when there is no answer in time.
    """

    def __init__(
        self, way: Connection, member: Member, request: Callable[[], object], try_s: float
    ) -> None:
        self._way, self._member, self._request = way, member, request
        self._loop = asyncio.get_running_loop()
        self._gives_up_at = self._loop.time() + try_s
        self.answer: asyncio.Future[Answer] = self._loop.create_future()
        if member.up or member.member_id in way.process.cut_from:
            self._loop.call_later(way.latency(), self._arrive)
        else:
            self._back(None)  # The connection is refused.

    def _arrive(self) -> None:
        way, member = self._way, self._member
        if not way.reaches(member):
            self._silence()
        elif not member.leader_id:
            self._back(None)  # As the metadata `hasleader` asks for: it says so at once.
        elif not way.members.serves(member) or way.happens("lost_request"):
            if way.happens("late_commit"):
                self._arrive_later()
            self._silence()
        else:
            outcome = self._carry_out()
            if way.happens("lost_reply"):
                self._silence()
            else:
                self._back(outcome)

    def _carry_out(self) -> Answer:
        try:
            return self._request(), None
        except DormError as error:
            return None, error

    def _back(self, outcome: Answer) -> None:
        at = self._loop.time() + self._way.latency()
        if at > self._gives_up_at:
            self._silence()
        else:
            self._loop.call_at(at, self._tell, outcome)

    def _silence(self) -> None:
        self._loop.call_at(self._gives_up_at, self._tell, None)

    def _tell(self, outcome: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(outcome)

    def _arrive_later(self) -> None:
        """Let a lost request arrive after all, as a proposal does that was stuck in raft's log."""
        delay_s = self._way.process.random.uniform(TRY_S, LATE_S_MAX)
        self._loop.call_later(delay_s, self._arrive_late)

    def _arrive_late(self) -> None:
        if self._way.members.leader is None:
            self._arrive_later()
        else:
            self._carry_out()  # Nobody waits for this answer any more.
