"""The groups of one node: tenures, and the two kinds of containers below each."""

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from dorm import cgroups
from dorm.warden import groups
from dorm.warden.mounts import Hierarchies
from events.errors import Rejected
from reconcilers.warden import Group, OnDisconnect

KINDS: Final[tuple[OnDisconnect, ...]] = ("stop", "keep")
ENDED_MAX: Final = 64
"""So many groups of tenures that are over are kept, frozen and empty, for starts that an engine may
have on its way still. They cost some kilobytes each."""

_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


class Tree:
    """All groups of one node, wherever its engine puts them.

    An engine makes a group below the path that it is given, or, if systemd does that for it, in the
    slice of the same words (`dorm.cgroups`). Both places are watched; groups are made in advance
    only in the first: systemd removes what it does not know.
    """

    def __init__(self, hierarchies: Hierarchies, node: str) -> None:
        """Take the node's group, such as `/dorm/main/n1`."""
        self.kernel, self._roots, self._node = hierarchies.guarded, hierarchies.roots, node
        self._places: tuple[Callable[[str], str], ...] = (str, cgroups.slice_path)

    @property
    def base(self) -> Path:
        """Return the node's own group."""
        return self._directory(str, self._node)

    def check(self) -> None:
        """Make the node's group, so that everyone learns at once whether that works.

        Raises:
            Rejected: It does not, so nothing can be guarded here.
        """
        try:
            self.base.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in _FORBIDDEN:
                raise
            raise Rejected(
                f"cannot be made: {error.strerror}",
                field="cgroup",
                value=str(self.base),
                hint="run the agent as root, with the machine's own cgroups mounted writable",
            ) from error

    def groups(self) -> tuple[Group, ...]:
        """Return all groups, by tenure."""
        found = []
        for tenure in self.tenures():
            for kind in KINDS:
                places = self._existing(tenure, kind)
                if places:
                    found.append(
                        Group(
                            tenure=tenure,
                            on_disconnect=kind,
                            frozen=all(map(self.kernel.is_told_to_freeze, places)),
                            populated=any(map(self.kernel.is_populated, places)),
                        )
                    )
        return tuple(found)

    def tenures(self) -> list[str]:
        """Return the tenures that have groups here, sorted."""
        return sorted({tenure for tenure, _ in self._tenure_directories()})

    def make(self, tenure: str) -> None:
        """Make the groups of a tenure, so that they can be frozen before anything is in them."""
        for kind in KINDS:
            path = self._directory(str, f"{self._node}/{tenure}/{kind}")
            path.mkdir(parents=True, exist_ok=True)

    def freeze(self, tenure: str, kind: OnDisconnect) -> None:
        """Freeze a group."""
        for path in self._existing(tenure, kind):
            self.kernel.freeze(path)

    def thaw(self, tenure: str, kind: OnDisconnect) -> None:
        """Thaw a group."""
        for path in self._existing(tenure, kind):
            self.kernel.thaw(path)

    def kill(self, tenure: str, kind: OnDisconnect) -> None:
        """Freeze a group and kill what is in it; what cannot die now is tried again next time."""
        for path in self._existing(tenure, kind):
            self.kernel.freeze(path)
            self.kernel.kill(path)

    def is_frozen(self, group: Group) -> bool:
        """Return whether all that is in the group has really stopped."""
        places = self._existing(group.tenure, group.on_disconnect)
        return all(map(self.kernel.is_frozen, places))

    def is_populated(self) -> bool:
        """Return whether any process is left in any group of the node, dying ones included."""
        return any(self.kernel.is_populated(path) for _, path in self._tenure_directories())

    def has_only(self, tenure: str) -> bool:
        """Return whether nothing of any other tenure runs, or can: all is empty and frozen."""
        others = [path for name, path in self._tenure_directories() if name != tenure]
        open_groups = [one for one in self.groups() if one.tenure != tenure and not one.frozen]
        return not open_groups and not any(map(self.kernel.is_populated, others))

    def drop_old(self, *, but: str) -> None:
        """Remove the groups of the tenures that ended first, if there are more than `ENDED_MAX`.

        A kernel numbers its groups in the order in which they are made.
        """
        ended = [path for name, path in self._tenure_directories() if name != but]
        if len(ended) > ENDED_MAX:
            for path in sorted(ended, key=lambda one: one.stat().st_ino)[:-ENDED_MAX]:
                self._remove(path)

    def remove(self) -> None:
        """Remove every empty group of the node, and those above it if they are empty then."""
        for _, path in list(self._tenure_directories()):
            self._remove(path)
        for root in self._roots:
            base = root / self._node.lstrip("/")
            groups.remove_empty(base)
            for above in base.relative_to(root).parents[:-1]:
                with contextlib.suppress(OSError):
                    (root / above).rmdir()

    def _remove(self, path: Path) -> None:
        """Remove a tenure's empty groups, also those that an engine made in other hierarchies."""
        below = path.relative_to(self.kernel.root)
        for root in self._roots:
            groups.remove_empty(root / below)

    def _tenure_directories(self) -> Iterator[tuple[str, Path]]:
        for place in self._places:
            for path in groups.subgroups(self._directory(place, self._node)):
                tenure = path.name.removesuffix(cgroups.SLICE).rpartition("-")[2]
                if path == self._directory(place, f"{self._node}/{tenure}"):
                    yield tenure, path

    def _existing(self, tenure: str, kind: OnDisconnect) -> list[Path]:
        name = f"{self._node}/{tenure}/{kind}"
        paths = [self._directory(place, name) for place in self._places]
        return [path for path in paths if path.is_dir()]

    def _directory(self, place: Callable[[str], str], group: str) -> Path:
        return self.kernel.root / place(group).lstrip("/")
