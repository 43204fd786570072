"""What a node's warden does next: freeze, thaw or kill groups of containers.

A node may run containers while its permit says so. The warden is a process apart from the agent,
so this is the rule that still holds when the agent is dead, stopped or cut off:

- Without a permit nobody knows whether the node has a right: freeze, and never kill. A frozen
  training loses no step if it turns out that it may go on.
- A group of another tenure than the permit's has lost its right for good: kill it. Its empty group
  stays frozen, so that a start which an engine still had on its way executes nothing.
- Containers that may run on while the cluster is out of reach (`keep`) end with their tenure only.
"""

from collections.abc import Iterable
from typing import Literal, assert_never

import attrs

OnDisconnect = Literal["stop", "keep"]
Verdict = Literal["valid", "lapsed", "over", "unknown"]
"""What the permit says of a group. Without a permit nothing is known."""


@attrs.frozen(kw_only=True)
class Permit:
    """A node's right to run containers.

    Attributes:
        tenure: Whose containers may run.
        deadline_s: Until when, on this machine's clock that counts from its boot.
    """

    tenure: str
    deadline_s: float


@attrs.frozen(kw_only=True)
class Group:
    """The containers of one tenure and one kind.

    Attributes:
        frozen: Whether it was told to freeze; a process that waits for a disk freezes later.
        populated: Whether a process is in it.
    """

    tenure: str
    on_disconnect: OnDisconnect
    frozen: bool
    populated: bool


@attrs.frozen(kw_only=True)
class Freeze:
    """Stop the group in place; whatever joins it stops too."""

    tenure: str
    on_disconnect: OnDisconnect
    why: Verdict


@attrs.frozen(kw_only=True)
class Thaw:
    """Let the group go on where it stood."""

    tenure: str
    on_disconnect: OnDisconnect
    why: Verdict


@attrs.frozen(kw_only=True)
class Kill:
    """End all that is in the group, and leave the group frozen."""

    tenure: str
    on_disconnect: OnDisconnect
    why: Verdict


Action = Freeze | Thaw | Kill


def verdict(permit: Permit | None, group: Group, now_s: float) -> Verdict:
    """Return whether a group may run now; a deadline counts for the groups that stop by it."""
    if permit is None:
        return "unknown"
    if permit.tenure != group.tenure:
        return "over"
    in_time = group.on_disconnect == "keep" or now_s <= permit.deadline_s
    return "valid" if in_time else "lapsed"


def plan(permit: Permit | None, groups: Iterable[Group], now_s: float) -> tuple[Action, ...]:
    """Return what to do now, at most one action a group; what is quickly done comes first.

    Args:
        permit: The node's, or None when there is no readable one.
        groups: All groups of the node, in any order.
        now_s: On the clock of the permit's deadline.
    """
    ordered = sorted(groups, key=lambda group: (group.tenure, group.on_disconnect))
    steps = (_step(group, verdict(permit, group, now_s)) for group in ordered)
    actions = [action for action in steps if action is not None]
    return tuple(sorted(actions, key=lambda action: isinstance(action, Kill)))


def _step(group: Group, verdict: Verdict) -> Action | None:
    tenure, kind = group.tenure, group.on_disconnect
    match verdict:
        case "valid":
            thaws = Thaw(tenure=tenure, on_disconnect=kind, why=verdict)
            return thaws if group.frozen else None
        case "over" if group.populated:
            return Kill(tenure=tenure, on_disconnect=kind, why=verdict)
        case "unknown" if kind == "keep":
            return None
        case "lapsed" | "over" | "unknown":
            freezes = Freeze(tenure=tenure, on_disconnect=kind, why=verdict)
            return None if group.frozen else freezes
        case _ as never:
            assert_never(never)
