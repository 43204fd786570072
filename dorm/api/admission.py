"""Which writes are accepted while there is little room in etcd.

Refused first is what brings more, last what ends something: a cancel is accepted as long as etcd
takes it, and reports of agents never pass here.
"""

from typing import Final

from dorm.space.levels import Level, Space
from events.errors import Full

_HINT: Final = (
    "the masters make room by themselves if they have an --archive; if they have none, or it does "
    "not help, an operator runs dorm admin reclaim (docs/operations-space.md)"
)


def check_submit(space: Space) -> None:
    """Let a new application in, or not.

    Raises:
        Full: There is too little room for more work.
    """
    if space.level >= Level.NO_SUBMITS:
        raise Full(f"is not accepted: etcd is at {space}", field="submit", hint=_HINT)


def check_change(space: Space, what: str) -> None:
    """Let a change pass, or not, that ends nothing.

    Raises:
        Full: The room that is left is for what ends something.
    """
    if space.level >= Level.ONLY_ENDINGS:
        raise Full(f"is not accepted: etcd is at {space}", field=what, hint=_HINT)
