"""All runs of one `dorm simulate`, next to each other on the cores of this machine."""

import functools
import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import Queue
from typing import Any, Final

import attrs

from dorm.simulate.agenda import Agenda
from dorm.simulate.app_run import result_of
from dorm.simulate.clusters import Cluster
from dorm.simulate.engine import Engine, World
from dorm.simulate.facts_world import FactsWorld
from dorm.simulate.job import Job
from dorm.simulate.layout_world import LayoutWorld
from dorm.simulate.metrics import summarize
from dorm.simulate.results import PolicyRun
from dorm.simulate.settings import RunSettings
from events.errors import DormError
from reconcilers.layout.decide import decide

Progress = Callable[[int, float, int], None]
"""Called with the index of the run, virtual seconds, and jobs done."""

POLL_S: Final = 0.1

_told: "Queue[tuple[int, float, int]] | None" = None  # of a child process, set at its start


@attrs.frozen(kw_only=True)
class Order:
    """One run to make."""

    cluster: Cluster
    jobs: tuple[Job, ...]
    settings: RunSettings


def run_all(orders: Sequence[Order], *, progress: Progress, cores: int = 0) -> list[PolicyRun]:
    """Return the runs in the order of `orders`; a core each, as far as there are cores.

    Raises:
        DormError: A policy was unsound, or a process died.
    """
    cores = min(len(orders), cores or len(os.sched_getaffinity(0)))
    if cores <= 1:
        return [
            run_one(order, tell=functools.partial(progress, index))
            for index, order in enumerate(orders)
        ]
    return _in_processes(orders, progress, cores)


def engine_of(order: Order, *, tell: Callable[[float, int], None]) -> Engine:
    """Return the run of an order, before it has begun."""
    settings, agenda = order.settings, Agenda()
    world: World
    if settings.fidelity == "facts":
        world = FactsWorld(order.cluster, settings, agenda)
    else:
        world = LayoutWorld(order.cluster, settings, agenda, decide)
    return Engine(
        cluster=order.cluster,
        jobs=order.jobs,
        settings=settings,
        agenda=agenda,
        world=world,
        tell=tell,
    )


def run_one(order: Order, *, tell: Callable[[float, int], None]) -> PolicyRun:
    """Return one run."""
    settings = order.settings
    engine = engine_of(order, tell=tell)
    wall_s, cpu_s = time.monotonic(), time.process_time()
    engine.run()
    wall_s, cpu_s = time.monotonic() - wall_s, time.process_time() - cpu_s
    tell(engine.recorder.now_ms / 1000, sum(run.finished_ms is not None for run in engine.runs))
    apps = tuple(result_of(run) for run in engine.runs)
    return PolicyRun(
        policy=settings.options.policy,
        label=settings.label,
        seed=settings.seed,
        options=attrs.asdict(settings.options),
        summary=summarize(
            engine.recorder, apps, failures=engine.failures, cpu_s=cpu_s, wall_s=wall_s
        ),
        apps=apps,
        moments=engine.recorder.moments(),
        decisions=engine.recorder.thinned_decisions(),
    )


def _in_processes(orders: Sequence[Order], progress: Progress, cores: int) -> list[PolicyRun]:
    # A fork would copy the threads of the progress bar in the middle of what they do.
    context = multiprocessing.get_context("spawn")
    told: Queue[tuple[int, float, int]] = context.Queue()
    pool = ProcessPoolExecutor(cores, mp_context=context, initializer=_begin, initargs=(told,))
    try:
        futures = {pool.submit(_run, index, order): index for index, order in enumerate(orders)}
        return _collect(futures, told, progress)
    except BrokenProcessPool as error:
        msg = "a simulation's process died; is the memory full?"
        raise DormError(msg) from error
    except BaseException:
        # Ctrl-C, or one run failed: nobody waits for the others.
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(
    futures: Mapping["Future[PolicyRun]", int],
    told: "Queue[tuple[int, float, int]]",
    progress: Progress,
) -> list[PolicyRun]:
    found: dict[int, PolicyRun] = {}
    pending = set(futures)
    while pending:  # Each run ends, or its process dies and the pool says so.
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
        for future in done:
            found[futures[future]] = future.result()
        _pass_on(told, progress)
    return [found[index] for index in range(len(futures))]


def _pass_on(told: "Queue[tuple[int, float, int]]", progress: Progress) -> None:
    while True:  # Ends when the queue is empty; children write slower than we read.
        try:
            progress(*told.get_nowait())
        except queue.Empty:
            return


def _begin(told: Any) -> None:  # noqa: ANN401 - a queue of multiprocessing has no public type
    """Prepare a child process: it is ended by its parent, not by Ctrl-C."""
    global _told  # noqa: PLW0603 - the only way to hand something to all calls of one process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _told = told


def _run(index: int, order: Order) -> PolicyRun:
    told = _told
    assert told is not None, "_begin runs first in every child"
    last_s = 0.0

    def tell(at_s: float, done: int) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= POLL_S:
            last_s = now_s
            told.put((index, at_s, done))

    return run_one(order, tell=tell)
