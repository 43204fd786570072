"""The three members of a simulated etcd: which run, which reach each other, and who leads.

Their data is one, in `etcd_store`, for raft makes it so. What differs between members is whether
they can serve, and what they say of themselves.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

import attrs

IDS: Final = (101, 102, 103)
MAJORITY: Final = len(IDS) // 2 + 1
ELECTION_S: Final = (1.0, 2.0)  # etcd's election timeout of 1 s, and raft's spread of it


@attrs.define(eq=False)
class Member:
    """One member.

    Attributes:
        leader_id: Whom it takes for the leader, which it does for a while after that is over; 0
            for nobody.
        up: Its process runs.
        apart: It reaches none of the others, and goes on answering clients.
        revision: Where it stood when it was parted from the others; None while it follows them.
    """

    member_id: int
    leader_id: int
    up: bool = True
    apart: bool = False
    revision: int | None = None


class Members:
    """All three. Without a leader none of them serves anything that needs agreement.

    Attributes:
        leader: Who leads; None during an election and without a majority.
    """

    def __init__(self, *, elected: Callable[[], None], changed: Callable[[], None]) -> None:
        """Begin in good health.

        Args:
            elected: Called when a new leader has been elected.
            changed: Called whenever connections to a member may have broken.
        """
        self.all = tuple(Member(member_id=one, leader_id=IDS[0]) for one in IDS)
        self.leader: Member | None = self.all[0]
        self._elected, self._changed = elected, changed
        self._random = Random("elections")
        self._electing = False

    def crash(self, member: Member) -> None:
        """End a member's process."""
        member.up = False
        self._settle()

    def start(self, member: Member) -> None:
        """Start it again."""
        member.up, member.leader_id = True, 0
        self._settle()

    def part(self, member: Member, *, revision: int) -> None:
        """Cut a member off from the others; it stands at `revision` then."""
        member.apart, member.revision = True, revision
        self._settle()

    def join(self, member: Member) -> None:
        """Let it reach the others again."""
        member.apart, member.revision = False, None
        self._settle()

    def depose(self) -> None:
        """Make the members elect anew, as a slow disk of the leader does."""
        self.leader = None
        self._settle()

    def lose(self, *, revision: int) -> None:
        """Part all of them from each other; they have noticed already."""
        for member in self.all:
            member.apart, member.revision, member.leader_id = True, revision, 0
        self.leader = None

    def heal(self) -> None:
        """Bring all of them together at once, with a leader."""
        for member in self.all:
            member.up, member.apart, member.revision = True, False, None
        if self.leader is None:
            self._elect()
        self._settle()

    def serves(self, member: Member) -> bool:
        """Return whether a member can carry out what needs agreement."""
        return member.up and not member.apart and self.leader is not None

    def _able(self) -> list[Member]:
        return [member for member in self.all if member.up and not member.apart]

    def _settle(self) -> None:
        """Take note of a change: the leader stays, or an election follows."""
        able = self._able()
        if self.leader not in able or len(able) < MAJORITY:
            self.leader = None
        if self.leader is not None:
            for member in able:
                member.leader_id = self.leader.member_id
        stale = any(member.apart and member.leader_id for member in self.all)
        if (self.leader is None or stale) and not self._electing:
            self._electing = True
            delay_s = self._random.uniform(*ELECTION_S)
            asyncio.get_running_loop().call_later(delay_s, self._time_out)
        self._changed()

    def _time_out(self) -> None:
        """Notice, as members do an election timeout later, that there is no leader any more."""
        self._electing = False
        able = self._able()
        for member in self.all:
            if member not in able or self.leader is None:
                member.leader_id = 0
        if self.leader is None and len(able) >= MAJORITY:
            self._elect()

    def _elect(self) -> None:
        able = self._able()
        self.leader = self._random.choice(able)
        for member in able:
            member.leader_id = self.leader.member_id
        self._elected()
