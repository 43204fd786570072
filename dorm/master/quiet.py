"""When to plan after a change: once it has been quiet for a moment, and never much later.

Submits come in bursts, and a node that joins is followed by others. One plan for all of them costs
less and moves less than one for each. The larger the cluster, the longer a plan takes, and the
less a moment matters.
"""

from typing import Final

from dorm.ports import Clock

MOMENTS_S: Final = ((50, 0.1), (500, 0.5))  # below so many applications, so long
MOMENT_S_MAX: Final = 2.0
DELAY_FACTOR: Final = 5  # a change waits this many moments at most, however busy it is


class Quiet:
    """The wait between a change of the problem and the plan for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._problem: object = None
        self._since: float | None = None
        self._due_at = 0.0

    def look(self, problem: object, *, apps: int, is_urgent: bool) -> None:
        """Tell which problem is open now; one that is new may put the plan off a little."""
        if problem == self._problem:
            return
        self._problem = problem
        now, moment_s = self._clock.monotonic(), _moment_s(apps)
        if self._since is None:
            self._since, self._due_at = now, now + moment_s
        elif self._due_at > now:  # A plan that is due is never put off again.
            self._due_at = min(now + moment_s, self._since + DELAY_FACTOR * moment_s)
        if is_urgent:
            self._due_at = now

    def settled(self) -> float | None:
        """Forget the change; return how long ago it was first seen, None without one."""
        since, self._since, self._problem = self._since, None, None
        return None if since is None else self._clock.monotonic() - since

    @property
    def due_in_s(self) -> float | None:
        """Return how long the open problem still has to wait; None when none is open."""
        return None if self._since is None else max(0.0, self._due_at - self._clock.monotonic())


def _moment_s(apps: int) -> float:
    return next((moment_s for limit, moment_s in MOMENTS_S if apps < limit), MOMENT_S_MAX)
