"""Which faults a run suffers, and when: all of it from one seed. Pure."""

from collections.abc import Sequence
from random import Random
from typing import Final

import attrs

from tests.chaos.programs import ENGINE, MASTERS, MEMBERS, NODES

PAUSE_S: Final = (0.5, 4.0)  # from the begin of one fault to that of the next
LEADER: Final = "leader"
QUORUM: Final = "quorum"


@attrs.frozen(kw_only=True)
class Fault:
    """One fault. It begins at `at_s` and is over after `lasts_s`.

    Attributes:
        kind: A key of `KINDS`.
        target: A host, the engine, or `leader`: whoever leads then.
        other: The second host of a partition; empty for everybody.
    """

    at_s: float
    lasts_s: float
    kind: str
    target: str
    other: str = ""

    def __str__(self) -> str:
        """Return it in a few words."""
        where = f"{self.target} and {self.other}" if self.other else self.target
        return f"{self.at_s:6.1f} s  {self.kind} {where} for {self.lasts_s:.1f} s"


@attrs.frozen
class Kind:
    """A kind of fault: how often it is drawn, whom it hits, and how long it lasts at least, most.

    Attributes:
        group: Of all faults with the same one, there is at most one at a time.
    """

    weight: int
    targets: Sequence[str]
    shortest_s: float
    longest_s: float
    group: str = ""
    others: Sequence[str] = ()


KINDS: Final[dict[str, Kind]] = {
    "etcd.kill": Kind(3, MEMBERS, 1.0, 6.0, group="etcd"),
    "etcd.freeze": Kind(3, MEMBERS, 1.0, 8.0, group="etcd"),
    "etcd.cut": Kind(2, MEMBERS, 2.0, 8.0, group="etcd"),
    "etcd.part": Kind(2, MEMBERS, 2.0, 8.0, group="etcd", others=MEMBERS),
    "quorum.freeze": Kind(1, (QUORUM,), 5.0, 15.0, group="etcd"),
    "master.kill": Kind(4, (LEADER, LEADER, *MASTERS), 0.2, 4.0),
    "master.stop": Kind(2, (LEADER, *MASTERS), 0.2, 2.0),
    "master.freeze": Kind(4, (LEADER, LEADER, *MASTERS), 1.0, 10.0),
    "master.cut": Kind(3, (LEADER, *MASTERS), 2.0, 10.0),
    "master.deaf": Kind(1, (LEADER, *MASTERS), 2.0, 8.0),
    "master.mute": Kind(1, (LEADER, *MASTERS), 2.0, 8.0),
    "agent.kill": Kind(4, NODES, 0.1, 4.0),
    "agent.freeze": Kind(3, NODES, 1.0, 14.0),
    "node.cut": Kind(4, NODES, 2.0, 16.0),
    "node.deaf": Kind(2, NODES, 2.0, 12.0),
    "node.mute": Kind(2, NODES, 2.0, 12.0),
    "node.part": Kind(2, NODES, 2.0, 10.0, others=(*MEMBERS, *MASTERS)),
    "node.off": Kind(2, NODES, 1.0, 20.0),
    "warden.kill": Kind(2, NODES, 0.0, 0.0),
    "container.kill": Kind(4, ("any",), 0.0, 0.0),
    "engine.kill": Kind(1, (ENGINE,), 0.2, 4.0, group="engine"),
    "engine.freeze": Kind(1, (ENGINE,), 1.0, 8.0, group="engine"),
}


def schedule(seed: int, *, seconds: float) -> tuple[Fault, ...]:
    """Return the faults of a run, in order of time, all over within `seconds`.

    Nobody suffers two faults at once, for then they would undo each other; several of different
    hosts go on at the same time.
    """
    random = Random(f"{seed}/faults")
    names = list(KINDS)
    weights = [kind.weight for kind in KINDS.values()]
    free_at: dict[str, float] = {}
    faults: list[Fault] = []
    at = random.uniform(*PAUSE_S)
    while at < seconds:
        name = random.choices(names, weights)[0]
        fault = _draw(random, name, at)
        busy = _held(fault)
        if fault.at_s + fault.lasts_s < seconds and all(free_at.get(one, 0) <= at for one in busy):
            faults.append(fault)
            free_at |= dict.fromkeys(busy, at + fault.lasts_s + 0.5)
        at += random.uniform(*PAUSE_S)
    return tuple(faults)


def _draw(random: Random, name: str, at: float) -> Fault:
    kind = KINDS[name]
    target = random.choice(kind.targets)
    others = [one for one in kind.others if one != target]
    return Fault(
        at_s=round(at, 3),
        lasts_s=round(random.uniform(kind.shortest_s, kind.longest_s), 3),
        kind=name,
        target=target,
        other=random.choice(others) if others else "",
    )


def _held(fault: Fault) -> tuple[str, ...]:
    """Return what no other fault may touch meanwhile. Who will lead is not known yet."""
    masters = MASTERS if fault.target == LEADER else ()
    group = KINDS[fault.kind].group
    return tuple(one for one in (fault.target, *masters, group) if one)
