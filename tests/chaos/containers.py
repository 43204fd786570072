"""What must be true of the containers that ran: judged by their own diaries, and by the kernel."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dorm.tenure import FENCE_S, FREEZE_S_MAX
from events.apps import AppCompleted
from events.generations import ContainerExited
from events.nodes import NodeReported
from events.units import Resources, total_of
from tests.chaos.journal import Line
from tests.chaos.observer import LOOK_S
from tests.chaos.record import Diary, Key, Record

STEPS: Final = "CHAOS_STEPS"
SPANS: Final = 8  # of the permits that began last; an earlier one is over


def one_generation(record: Record) -> Iterator[str]:
    """I2: an older generation has run for the last time before a newer one runs at all."""
    apps = _by_app(record)
    for app_id, generations in sorted(apps.items()):
        last_s, last = 0.0, 0
        for number in sorted(generations):
            first_s = min(diary.first_s for diary in generations[number])
            if first_s <= last_s:
                yield (
                    f"I2 {app_id}: generation {last} still ran {last_s - first_s:.3f} s after "
                    f"generation {number} had begun"
                )
            here_s = max(diary.last_s for diary in generations[number])
            last_s, last = max((last_s, last), (here_s, number))


def one_generation_by_kernel(record: Record) -> Iterator[str]:
    """I2: no two generations of an application have unfrozen processes in one look.

    A look takes a moment, so what is gone in the next one and was not there before is no proof.
    """
    looks = [(float(line["at"]), _running(record, line)) for line in record.cgroups]
    looks.append((float("inf"), frozenset()))
    before: frozenset[Key] = frozenset()
    for (at, now), (next_at, after) in pairwise(looks):
        stands = next_at - at > 3 * LOOK_S
        for old in sorted(now):
            for new in sorted(now):
                if (
                    old[0] == new[0]
                    and old[1] < new[1]
                    and (stands or old in after or new in before)
                ):
                    yield f"I2 {old} and {new} run at once at {at:.3f}"
        before = now


def never_twice(record: Record) -> Iterator[str]:
    """I2: a container is made once, started once, and its program begins once."""
    made = Counter(line["name"] for line in record.docker if line["action"] == "create")
    started = Counter(line["name"] for line in record.docker if line["action"] == "start")
    begun = Counter(diary.key for diary in record.diaries)
    for word, counts in (("made", made), ("started", started), ("begun", begun)):
        for what, count in sorted(counts.items(), key=str):
            if count > 1:
                yield f"I2 {what} was {word} {count} times"
    for diary in record.diaries:
        if diary.key not in record.members:
            yield f"I2 {diary.key} ran, and was never granted"


def gone_is_gone(record: Record) -> Iterator[str]:
    """I2: after the log has the end of a container, it does not run."""
    ends = {}
    seen_at = {line["revision"]: float(line["at"]) for line in record.writes}
    for recorded in record.history:
        event = recorded.event
        if isinstance(event, ContainerExited) and recorded.revision in seen_at:
            key = event.app_id, event.generation, event.rank
            ends[key] = seen_at[recorded.revision]
    for diary in record.diaries:
        end_s = ends.get(diary.key)
        if end_s is not None and diary.last_s > end_s:
            yield f"I2 {diary.key} ran {diary.last_s - end_s:.3f} s after its end was in the log"


def permitted(record: Record) -> Iterator[str]:
    """I9: nothing runs longer than a moment after its node's right to run was over.

    A permit allows to run from the request that it rests on, so until its deadline.
    """
    spans: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in record.permits:
        deadline_s = float(line["permit"]["deadline_s"])
        spans[line["node"]].append((deadline_s - FENCE_S, deadline_s + FREEZE_S_MAX))
    for diary in record.diaries:
        node_id = record.members.get(diary.key, "")
        allowed = sorted(spans[node_id])
        begins = [begin for begin, _ in allowed]
        for line in diary.lines:
            at = float(line["at"])
            found = bisect_right(begins, at)
            if not any(at <= end for _, end in allowed[max(0, found - SPANS) : found]):
                yield f"I9 {diary.key} ran on {node_id} at {at:.3f} without a right to"
                break


def capacity(record: Record) -> Iterator[str]:
    """I3: what runs on a node fits into it."""
    demand = {event.app_id: event.spec.resources for event in record.submits}
    offers = {
        event.node_id: event.capacity
        for event in (recorded.event for recorded in record.history)
        if isinstance(event, NodeReported)
    }
    for line in record.cgroups:
        used: defaultdict[str, list[Resources]] = defaultdict(list)
        for ident in line["containers"]:
            key = record.keys_by_id.get(ident)
            if key is not None:
                used[record.members[key]].append(demand[key[0]])
        for node_id, demands in sorted(used.items()):
            if not total_of(demands).fits_in(offers[node_id]):
                yield f"I3 {node_id} runs {len(demands)} containers at {line['at']:.3f}"


def progress(record: Record) -> Iterator[str]:
    """I4: a generation goes on from a checkpoint no older than the newest complete one."""
    for app_id, generations in sorted(_by_app(record).items()):
        saved = 0
        for number in sorted(generations):
            for diary in generations[number]:
                begun = min(diary.steps("began")) if diary.key[2] == 0 else saved
                if begun < saved:
                    yield f"I4 {app_id}: generation {number} began at {begun}, {saved} was saved"
            saved = max(
                saved,
                *(step for diary in generations[number] for step in diary.steps("saved")),
                0,
            )
        yield from _ends(record, app_id, saved)


def _ends(record: Record, app_id: str, saved: int) -> Iterator[str]:
    steps = {event.app_id: int(event.spec.env[STEPS]) for event in record.submits}
    for recorded in record.history:
        match recorded.event:
            case AppCompleted(app_id=done) if done == app_id and saved < steps[app_id]:
                yield f"I1 {app_id} is called completed at {saved} of {steps[app_id]} steps"
            case ContainerExited(app_id=ended, checkpoint_step=int(step)) if ended == app_id:
                if step > saved:
                    yield f"I4 {app_id} reports checkpoint {step}, only {saved} was ever saved"
            case _:
                pass


def _by_app(record: Record) -> dict[str, dict[int, list[Diary]]]:
    apps: defaultdict[str, defaultdict[int, list[Diary]]] = defaultdict(lambda: defaultdict(list))
    for diary in record.diaries:
        apps[diary.app_id][diary.generation].append(diary)
    return {app_id: dict(generations) for app_id, generations in apps.items()}


def _running(record: Record, line: Line) -> frozenset[Key]:
    return frozenset(
        record.keys_by_id[ident]
        for ident, state in line["containers"].items()
        if state == "running" and ident in record.keys_by_id
    )
