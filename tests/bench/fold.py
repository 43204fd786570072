"""How fast histories fold: `python -m tests.bench.fold`.

The stream is what a busy cluster writes: applications arrive, are placed, start, are resized and
end, while a given number of them is alive at all times.
"""

import argparse
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from events.catalog import Event
from events.codec import decode, encode
from events.fold import apply, fold
from events.log import MemoryLog
from events.recorded import Recorded
from events.state import ClusterState
from tests import builders as b

NODES = 50
CONTAINERS = 2


def life(app_id: str) -> Iterator[Event]:
    """Yield the events of one application after its submit: one resize, then its end."""
    nodes = [f"n{(hash_of(app_id) + index) % NODES}" for index in range(CONTAINERS)]
    for generation in (1, 2):
        partition = dict.fromkeys(nodes, 1)
        yield b.a_layout({app_id: partition}, generation=generation, decision_id=app_id)
        yield b.a_generation(app_id, *nodes, generation=generation)
        for rank, node_id in enumerate(nodes):
            yield b.container_started(app_id, rank=rank, node_id=node_id, generation=generation)
        if generation == 1:
            yield b.checkpoint_requested(app_id, generation=generation)
        for rank, node_id in enumerate(nodes):
            yield b.container_exited(app_id, rank=rank, node_id=node_id, generation=generation)
        if generation == 1:
            yield b.generation_stopped(app_id, generation=generation)
    yield b.app_completed(app_id)


def hash_of(app_id: str) -> int:
    """Return the number in an application's id."""
    return int(app_id.removeprefix("app"))


def stream(live_apps: int, events: int) -> tuple[list[Recorded], list[Recorded]]:
    """Return a history that brings `live_apps` to life, and `events` more that keep them alive."""
    log = MemoryLog()
    for number in range(NODES):
        log.record(b.a_node(f"n{number}", cpus=1000, memory_gib=1000), stamp=b.BY_TEST)
    lives: list[Iterator[Event]] = []
    submitted = 0

    def submit() -> Iterator[Event]:
        nonlocal submitted
        app_id = f"app{submitted}"
        submitted += 1
        log.record(b.an_app(app_id), stamp=b.BY_TEST)
        return life(app_id)

    lives = [submit() for _ in range(live_apps)]
    for place, steps in enumerate(lives):
        for _ in range(place % 4):  # so that they stand at different places of their lives
            log.record(next(steps), stamp=b.BY_TEST)
    start = len(log.recorded)
    place = 0
    while len(log.recorded) < start + events:
        event = next(lives[place], None)
        if event is None:
            lives[place] = submit()
        else:
            log.record(event, stamp=b.BY_TEST)
        place = (place + 1) % live_apps
    return log.recorded[:start], log.recorded[start:]


def rate(work: Callable[[], object], events: int, repeat: int) -> float:
    """Return events per second of the fastest of some runs."""
    best = min(_seconds(work) for _ in range(repeat))
    return events / best


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time, which a busy machine falsifies less than the wall's."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def one_by_one(history: list[Recorded], state: ClusterState) -> ClusterState:
    """Fold with a whole state after each event."""
    for recorded in history:
        state = apply(state, recorded)
    return state


def rates(live_apps: int, *, events: int, repeat: int) -> tuple[float, float, float]:
    """Return events per second of the fold, of decoding and fold, and of single steps."""
    before, history = stream(live_apps, events)
    state = fold(before)
    ended = fold(history, state)
    assert not ended.ignored, f"the stream is not realistic: {ended.ignored}"
    assert len(ended.apps) > live_apps * 0.9, f"only {len(ended.apps)} applications are alive"
    stored = [(encode(recorded), recorded.revision) for recorded in history]
    works = (
        lambda: fold(history, state),
        lambda: fold((decode(raw, revision=at, segment=0) for raw, at in stored), state),
        lambda: one_by_one(history, state),
    )
    first, second, third = (rate(work, events, repeat) for work in works)
    return first, second, third


def main() -> None:
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(description="How fast histories fold.")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    runs = f"best of {options.repeat} runs over {options.events:,} events"
    table = Table(title=f"events/s of processor time, {runs}")
    for column in ("live apps", "fold", "decode + fold", "apply one by one"):
        table.add_column(column, justify="right")
    for live_apps in (100, 1_000, 5_000):
        row = rates(live_apps, events=options.events, repeat=options.repeat)
        table.add_row(f"{live_apps:,}", *(f"{events_s:,.0f}" for events_s in row))
    Console().print(table)


if __name__ == "__main__":
    main()
