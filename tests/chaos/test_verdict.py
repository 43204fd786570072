"""The verdict can condemn: each check, on a small record that breaks what it guards."""

from collections.abc import Callable, Iterator

import attrs
import pytest

from dorm.keys import Keys
from dorm.log.leadership import LeaderRecord
from events.codec import to_json
from events.fold import fold
from events.recorded import Stamp
from events.snapshot import state_hash
from reconcilers import desired
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_completed,
    container_exited,
    container_started,
    history,
)
from tests.chaos import containers, verdict
from tests.chaos.containers import STEPS
from tests.chaos.journal import Line
from tests.chaos.record import Diary, Record

CLUSTER = "chaos-test"
KEYS = Keys(CLUSTER)
HISTORY = history(
    an_app(env={STEPS: "10"}),
    a_node(cpus=1),
    a_layout({"a": {"n1": 1}}),
    a_generation(),
    container_started(),
    container_exited(checkpoint_step=10),
    app_completed(),
)


def leads(master: str, *, revision: int) -> Line:
    """A master takes the leader key."""
    record = LeaderRecord(master=master, address="", token="t")
    return put(KEYS.leader, to_json(record).decode(), revision=revision)


def put(key: str, value: str, *, revision: int, version: int = 1) -> Line:
    """A write to etcd, seen one hundred seconds and its revision after boot."""
    return {
        "at": 100.0 + revision,
        "kind": "put",
        "key": key,
        "value": value,
        "revision": revision,
        "version": version,
    }


def document(through: int, *, revision: int) -> Line:
    """The document of `n1`, as the log up to a position has it."""
    found = desired.documents(fold(HISTORY[:through]))["n1"]
    return put(KEYS.desired("n1"), to_json(found).decode(), revision=revision)


def diary(*lines: tuple[float, str, int], generation: int = 1, rank: int = 0) -> Diary:
    """What a container of `a` wrote down: times, words and steps."""
    rows = tuple({"at": at, "what": what, "step": step} for at, what, step in lines)
    return Diary(key=("a", generation, rank), lines=rows)


SOUND = Record(
    cluster=CLUSTER,
    history=HISTORY,
    diaries=(diary((101, "began", 0), (102, "saved", 10), (103, "ended", 10)),),
    writes=(
        leads("m1", revision=1),
        *(put(f"{KEYS.events}e{one.revision}", "", revision=one.revision) for one in HISTORY[1:]),
        document(4, revision=20),
    ),
    docker=({"action": "create", "id": "f" * 64, "name": "a-g1-w0"},),
    cgroups=({"at": 101.0, "containers": {"f" * 64: "running"}},),
    permits=({"at": 101.0, "node": "n1", "permit": {"tenure": "t", "deadline_s": 105.0}},),
    users=(
        {"what": "asked", "name": "a"},
        {"what": "submitted", "name": "a", "app_id": "a"},
    ),
    end=(
        {"what": "status", "master": "m1", "revision": 7, "state_hash": state_hash(fold(HISTORY))},
    ),
)


def test_a_sound_record_is_found_sound() -> None:
    """Or every other test here would prove nothing."""
    assert verdict.problems(SOUND) == ()


def by(actor: str) -> Record:
    """The sound record, decided by somebody else."""
    rows = tuple(attrs.evolve(one, stamp=Stamp(at_ms=1, actor=actor)) for one in HISTORY)
    return attrs.evolve(SOUND, history=rows)


Check = Callable[[Record], Iterator[str]]

BROKEN: dict[str, tuple[Check, Record]] = {
    "has it 0 times": (
        verdict.acknowledged,
        attrs.evolve(
            SOUND, users=(*SOUND.users, {"what": "submitted", "name": "b", "app_id": "b"})
        ),
    ),
    "the change of a was acknowledged": (
        verdict.acknowledged,
        attrs.evolve(SOUND, users=(*SOUND.users, {"what": "changed", "name": "a", "app_id": "a"})),
    ),
    "the cancel of a was acknowledged": (
        verdict.acknowledged,
        attrs.evolve(
            SOUND, users=(*SOUND.users, {"what": "cancelled", "name": "a", "app_id": "a"})
        ),
    ),
    "a is in the log 1 times": (verdict.acknowledged, attrs.evolve(SOUND, users=())),
    "has 0 terminal events": (verdict.one_end, attrs.evolve(SOUND, history=HISTORY[:-1])),
    "generation 1 still ran": (
        containers.one_generation,
        attrs.evolve(SOUND, diaries=(*SOUND.diaries, diary((102.5, "began", 10), generation=2))),
    ),
    "was begun 2 times": (
        containers.never_twice,
        attrs.evolve(SOUND, diaries=SOUND.diaries * 2),
    ),
    "was made 2 times": (containers.never_twice, attrs.evolve(SOUND, docker=SOUND.docker * 2)),
    "was never granted": (
        containers.never_twice,
        attrs.evolve(SOUND, diaries=(diary((101, "began", 0), rank=5),)),
    ),
    "after its end was in the log": (
        containers.gone_is_gone,
        attrs.evolve(SOUND, diaries=(diary((101, "began", 0), (107, "ran", 10)),)),
    ),
    "ran on n1 at 101.000 without": (containers.permitted, attrs.evolve(SOUND, permits=())),
    "ran on n1 at 106.500 without": (
        containers.permitted,
        attrs.evolve(SOUND, diaries=(diary((101, "began", 0), (106.5, "ran", 10)),)),
    ),
    "n1 runs 2 containers": (
        containers.capacity,
        attrs.evolve(
            SOUND,
            docker=(*SOUND.docker, {"action": "create", "id": "e" * 64, "name": "a-g1-w0"}),
            cgroups=({"at": 101.0, "containers": {"f" * 64: "running", "e" * 64: "running"}},),
        ),
    ),
    "began at 3, 10 was saved": (
        containers.progress,
        attrs.evolve(SOUND, diaries=(*SOUND.diaries, diary((110, "began", 3), generation=2))),
    ),
    "is called completed at 0 of 10": (
        containers.progress,
        attrs.evolve(SOUND, diaries=(diary((101, "began", 0)),)),
    ),
    "decided at 2, while m1 led": (verdict.led, by("master/m2")),
    "decided at 2, while nobody led": (
        verdict.led,
        attrs.evolve(by("master/m1"), writes=SOUND.writes[1:]),
    ),
    "went back to 4": (
        verdict.led,
        attrs.evolve(
            SOUND, writes=(*SOUND.writes, document(6, revision=21), document(4, revision=22))
        ),
    ),
    "without a leader": (verdict.led, attrs.evolve(SOUND, writes=SOUND.writes[1:])),
    "is no fold at 4": (
        verdict.led,
        attrs.evolve(
            SOUND,
            writes=(
                *SOUND.writes[:-1],
                {**SOUND.writes[-1], "value": SOUND.writes[-1]["value"].replace("train", "x")},
            ),
        ),
    ),
    "was put at 5, version 2": (
        verdict.led,
        attrs.evolve(
            SOUND, writes=(*SOUND.writes, put(f"{KEYS.events}e5", "", revision=5, version=2))
        ),
    ),
    "m1 has another state": (
        verdict.replayed,
        attrs.evolve(SOUND, end=({**SOUND.end[0], "state_hash": "0"},)),
    ),
    "I6 ": (verdict.replayed, attrs.evolve(SOUND, history=HISTORY[1:])),
    "something is left": (
        verdict.converged,
        attrs.evolve(SOUND, end=({"what": "missing", "told": "something is left"},)),
    ),
    "m1 ended by itself": (
        verdict.converged,
        attrs.evolve(SOUND, faults=({"what": "ended by itself", "target": "m1", "words": ""},)),
    ),
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_record_is_condemned(words: str) -> None:
    """By the check that is meant for it, and in words that say what is wrong."""
    check, record = BROKEN[words]

    found = [sentence for sentence in check(record) if words in sentence]

    assert found, list(check(record))


def test_two_generations_at_once_are_seen_in_the_kernel_too() -> None:
    """Without a word from the containers; one that is gone in the next look is no proof."""
    granted = history(
        an_app(env={STEPS: "10"}), a_node(cpus=4), a_generation(), a_generation(generation=2)
    )
    made = tuple(
        {"action": "create", "id": ident * 64, "name": f"a-g{number}-w0"}
        for number, ident in ((1, "a"), (2, "b"))
    )
    old, new = {"a" * 64: "running"}, {"b" * 64: "running"}
    looks = (
        {"at": 1.0, "containers": old},
        {"at": 2.0, "containers": {**old, **new}},
        {"at": 2.1, "containers": new},
        {"at": 9.0, "containers": {}},
    )
    record = attrs.evolve(SOUND, history=granted, docker=made, cgroups=looks)
    longer = attrs.evolve(record, cgroups=(*looks[:2], {"at": 4.0, "containers": new}))
    frozen = attrs.evolve(
        record,
        cgroups=(
            {"at": 2.0, "containers": {**dict.fromkeys(old, "frozen"), **new}},
            {"at": 9.0, "containers": {}},
        ),
    )

    assert [] == list(containers.one_generation_by_kernel(record))
    assert [] == list(containers.one_generation_by_kernel(frozen))
    assert len(list(containers.one_generation_by_kernel(longer))) == 1
