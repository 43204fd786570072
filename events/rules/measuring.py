"""What an application shows of itself: how long a move takes it, how fast it is at which size.

Times are `ClusterState.now_ms`, which never goes back, so no measure is below zero.
"""

from typing import Final

import attrs

from events.state import App, Generation, Measured, Progress

RESTART_MIN_MS: Final = 1_000
RESTART_MAX_MS: Final = 1_800_000  # longer than half an hour, it was something else that took time
SIZES_MAX: Final = 16  # of which speeds are kept; the one not seen for longest makes room


def moving(measured: Measured, now_ms: int) -> Measured:
    """Return the measure from the request on that begins a move."""
    return attrs.evolve(measured, moving_since_ms=now_ms)


def unmoved(measured: Measured) -> Measured:
    """Return the measure without the move under way: a queue or a failure takes time as well."""
    if measured.moving_since_ms is None:
        return measured
    return attrs.evolve(measured, moving_since_ms=None)


def moved(measured: Measured, now_ms: int) -> Measured:
    """Return the measure when the last container of a generation was seen running.

    After the first, a measurement counts for a quarter: one slow pull of an image must not make
    an application untouchable, nor one quick move make it a plaything.
    """
    if measured.moving_since_ms is None:
        return measured
    took_ms = now_ms - measured.moving_since_ms
    restart_ms = min(max(took_ms, RESTART_MIN_MS), RESTART_MAX_MS)
    if measured.restart_ms:
        restart_ms = (measured.restart_ms * 3 + restart_ms) // 4
    return attrs.evolve(measured, restart_ms=restart_ms, moving_since_ms=None)


def stepped(app: App, generation: Generation, step: int, *, at_will: bool) -> Measured:
    """Return the measure after a checkpoint report of rank 0, which comes with its end.

    Steps are counted from the start of the last container to the request to save and end, and only
    if the container ended `at_will`, by itself: the newest checkpoint of one that crashed or was
    killed is of any age. A step at or below the one that it went on from is a training that
    began anew, and tells nothing of speed.
    """
    measured = attrs.evolve(app.measured, last_step=step)
    stop, steps = generation.stop, step - generation.first_step
    if not at_will or stop is None or stop.cause != "resize" or steps <= 0:
        return measured
    took_ms = stop.at_ms - (generation.running_since_ms or stop.at_ms)
    if took_ms <= 0:
        return measured
    count = len(generation.members)
    speeds = dict(measured.speeds)
    before = speeds.pop(count, Progress())
    speeds[count] = Progress(steps=before.steps + steps, ms=before.ms + took_ms)
    if len(speeds) > SIZES_MAX:
        del speeds[next(iter(speeds))]
    return attrs.evolve(measured, speeds=speeds)
