"""Whether the store still has the history that a witness has seen.

etcd that is restored from a backup goes back in time, under the same cluster id, and says nothing.
Containers that ran since then are not in its history, and its next numbers were used before. So
every agent and master remembers how far it has seen, and compares.
"""

from typing import Literal

import attrs

Kind = Literal["first", "same", "regressed", "new"]


@attrs.frozen(kw_only=True)
class Position:
    """A place in the history of a store.

    Attributes:
        epoch: Of the store, 0 while it has no mark: then nobody has ever led with it.
        store_id: New with each epoch.
        revision: etcd's. For what is known it is the highest that was ever seen.
    """

    epoch: int = 0
    store_id: str = ""
    revision: int = 0


@attrs.frozen(kw_only=True)
class Verdict:
    """What a witness makes of the store.

    Attributes:
        kind: `first`: nothing was known yet. `same`: the known history, or a later part of it.
            `regressed`: not the known history: obey nothing of it. `new`: an operator vouched for
            what is there, although it is another history.
        reason: Of `regressed`, for people.
    """

    kind: Kind
    reason: str = ""


def judge(known: Position, found: Position) -> Verdict:
    """Compare what is there with what was seen before.

    Args:
        known: As of before the look was sent, else an answer that overtook it looks like a regress.
        found: The store at the time of the look.
    """
    if known == Position():
        return Verdict(kind="first" if found.epoch else "same")
    if found.epoch > max(known.epoch, 1):  # The first mark is everybody's, not an operator's word.
        return Verdict(kind="new")
    reason = _regress(known, found)
    if reason:
        return Verdict(kind="regressed", reason=reason)
    return Verdict(kind="same" if known.epoch == found.epoch else "first")


def _regress(known: Position, found: Position) -> str:
    """Return why what is there is not what was known, or a later part of it."""
    if found.epoch < known.epoch:
        what = f"is in epoch {found.epoch}" if found.epoch else "has no mark"
        return f"the store {what}, but epoch {known.epoch} was known"
    if known.epoch and found.store_id != known.store_id:
        return f"the store is {found.store_id}, but {known.store_id} was known in this epoch"
    if found.revision < known.revision:
        return f"the store stands at revision {found.revision}, but {known.revision} was seen"
    return ""
