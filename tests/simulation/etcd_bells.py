"""Bells of those who watch the simulated etcd: only the ones that a change concerns are rung."""

from collections.abc import Callable, Sequence

from dorm.ports.etcd import WatchEvent

Bell = Callable[[], None]


class Bells:
    """Each bell rings once."""

    def __init__(self) -> None:
        """Begin without any."""
        self._bells: dict[str, list[Bell]] = {}

    def add(self, prefix: str, bell: Bell) -> None:
        """Ring at the next change below `prefix`, compaction, or trouble of a member."""
        self._bells.setdefault(prefix, []).append(bell)

    def forget(self, prefix: str, bell: Bell) -> None:
        """Do not ring any more. A bell that has rung is no error."""
        bells = self._bells.get(prefix, [])
        if bell in bells:
            bells.remove(bell)

    def ring(self, changes: Sequence[WatchEvent]) -> None:
        """Ring whom these changes concern."""
        for prefix in list(self._bells):
            if any(change.item.key.startswith(prefix) for change in changes):
                self._ring(prefix)

    def ring_all(self) -> None:
        """Ring every bell."""
        for prefix in list(self._bells):
            self._ring(prefix)

    def _ring(self, prefix: str) -> None:
        for bell in self._bells.pop(prefix):
            bell()
