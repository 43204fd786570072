"""The warden's loop: read the permit, look at the groups, act, and say what was seen."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from dorm.warden import machine, permits, status
from dorm.warden.journal import Did, Journal
from dorm.warden.paths import RunPaths
from dorm.warden.status import GroupStatus, Status
from dorm.warden.tree import Tree
from reconcilers.warden import (
    Action,
    Freeze,
    Group,
    Kill,
    OnDisconnect,
    Permit,
    Thaw,
    plan,
    verdict,
)

POLL_S: Final = 0.25
AGAIN_S: Final = 0.05  # what was killed just now is gone by then


class Watch:
    """One warden at work."""

    def __init__(
        self,
        paths: RunPaths,
        tree: Tree,
        journal: Journal,
        *,
        now_s: Callable[[], float] = machine.now_s,
    ) -> None:
        self._paths, self._tree, self._journal, self._now_s = paths, tree, journal, now_s
        self._permit: Permit | None = None
        self._renewed_s = now_s()
        self._being_killed: set[tuple[str, OnDisconnect]] = set()
        self._errors: list[str] = []
        self._said = ""

    def look(self) -> float:
        """Do all that is to be done now; return after how many seconds to look again.

        An error of one group holds up no other, and what failed is tried again at the next look.
        """
        self._errors = []
        permit = self._read_permit()
        groups = self._groups()
        actions = plan(permit, groups, self._now_s())
        for action in actions:
            self._try(lambda action=action: self._perform(action))  # type: ignore[misc]
        killed = {(one.tenure, one.on_disconnect) for one in actions if isinstance(one, Kill)}
        new = killed - self._being_killed
        self._being_killed = killed
        self._try(lambda: self._report(self._groups() if actions else groups))
        self._say_errors()
        if any(isinstance(action, Thaw) for action in actions):
            return 0.0  # Had we slept for long before we thawed, the right would be over by now.
        return AGAIN_S if new else self._until_deadline()

    def is_populated(self) -> bool:
        """Return whether there is anything to guard; so it is when that cannot be seen."""
        try:
            return self._tree.is_populated()
        except OSError:
            return True

    def is_idle(self, idle_s: float) -> bool:
        """Return whether nothing is left to guard, and no agent has renewed a permit for long.

        Args:
            idle_s: From so many seconds on it is long.
        """
        now_s = self._now_s()
        valid = self._permit is not None and now_s <= self._permit.deadline_s
        return not valid and now_s - self._renewed_s > idle_s and not self.is_populated()

    def close_up(self) -> None:
        """Freeze every group: what an engine still starts in one executes nothing, unguarded.

        The next warden thaws what may run.
        """
        for group in self._tree.groups():
            self._try(
                lambda group=group: self._tree.freeze(group.tenure, group.on_disconnect)  # type: ignore[misc]
            )

    def _read_permit(self) -> Permit | None:
        """Return the permit, with groups made for a tenure before anything can be in them."""
        before, permit = self._permit, permits.read(self._paths.permit)
        if permit != before:
            self._permit, self._renewed_s = permit, self._now_s()
        if permit is not None:
            self._try(lambda: self._tree.make(permit.tenure))
            if before is None or before.tenure != permit.tenure:
                self._try(lambda: self._tree.drop_old(but=permit.tenure))
        return permit

    def _groups(self) -> tuple[Group, ...]:
        try:
            return self._tree.groups()
        except OSError as error:
            self._errors.append(str(error))
            return ()

    def _until_deadline(self) -> float:
        if self._permit is None:
            return POLL_S
        left_s = self._permit.deadline_s - self._now_s()
        return min(POLL_S, left_s + 0.001) if left_s >= 0 else POLL_S

    def _perform(self, action: Action) -> None:
        tenure, kind = action.tenure, action.on_disconnect
        match action:
            case Freeze():
                self._tree.freeze(tenure, kind)
                self._note("froze", action)
            case Thaw():
                self._tree.thaw(tenure, kind)
                self._note("thawed", action)
            case Kill():
                self._tree.kill(tenure, kind)
                if (tenure, kind) not in self._being_killed:
                    self._note("killed", action)
            case _ as never:
                assert_never(never)

    def _note(self, did: Did, action: Action) -> None:
        self._journal.note(
            did, tenure=action.tenure, on_disconnect=action.on_disconnect, why=action.why
        )

    def _report(self, groups: Sequence[Group]) -> None:
        permit, now_s = self._permit, self._now_s()
        seen = Status(
            version=status.VERSION,
            pid=os.getpid(),
            alive_s=round(now_s, 3),
            cgroups=self._tree.kernel.name,
            tenure=permit.tenure if permit else "",
            deadline_s=permit.deadline_s if permit else 0.0,
            groups=tuple(self._seen(group, now_s) for group in groups),
            error="; ".join(self._errors),
        )
        status.write(self._paths.status, seen)

    def _seen(self, group: Group, now_s: float) -> GroupStatus:
        state = "running"
        if group.frozen:
            state = "frozen" if self._tree.is_frozen(group) else "freezing"
        return GroupStatus(
            tenure=group.tenure,
            on_disconnect=group.on_disconnect,
            state=state,
            populated=group.populated,
            verdict=verdict(self._permit, group, now_s),
        )

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            self._errors.append(str(error))

    def _say_errors(self) -> None:
        """Print errors, each once until there are others: the output has no bound of its own."""
        words = "; ".join(self._errors)
        if words and words != self._said:
            sys.stderr.write(f"dorm warden: {words}\n")
            sys.stderr.flush()
        self._said = words
