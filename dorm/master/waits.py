"""How long applications wait after a failure, and the layout for a look, by the leader's clock.

Masters' wall clocks may differ by any amount, so a wait is a length, never a moment: a new leader
measures it anew. An application waits longer then, at most once its wait for each new leader.
"""

from dorm.ports import Clock
from events.state import ClusterState


class Waits:
    """The waits of one term of leadership."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, int], float] = {}
        self._look: tuple[int, float] | None = None

    def waited_ms(self, state: ClusterState) -> dict[str, int]:
        """Return for how long each waiting application has been seen waiting, by its id."""
        now = self._clock.monotonic()
        waiting = {(app.app_id, app.backoff.revision) for app in state.apps.values() if app.backoff}
        self._since = {key: self._since.get(key, now) for key in sorted(waiting)}
        return {app_id: int((now - since) * 1000) for (app_id, _), since in self._since.items()}

    def since_look_ms(self, state: ClusterState) -> int:
        """Return for how long the layout has been seen without another look at it."""
        now = self._clock.monotonic()
        if self._look is None or self._look[0] != state.looked_at_ms:
            self._look = state.looked_at_ms, now
        return int((now - self._look[1]) * 1000)
