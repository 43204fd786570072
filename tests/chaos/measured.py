"""The measurements, one function for each."""

import time
from itertools import pairwise
from typing import Final

from dorm.tenure import FENCE_S
from events.catalog import Event
from events.control import LeaderElected
from events.layouts import LayoutDecided
from tests.chaos.bench import Bench, Row
from tests.chaos.journal import boottime
from tests.chaos.programs import ENGINE, MASTERS, MEMBERS
from tests.chaos.record import Diary

FAILOVER_S: Final = 6.0
HANDOVER_S: Final = 1.0
REPLACED_S: Final = 16.0
FENCED_S: Final = 6.0
OUTAGE_S: Final = 60.0
STANDSTILL_S: Final = 1.5  # a gap between two moments of a container that is a freeze
SETTLED_S: Final = 4.0
FROZEN_S: Final = 12.0
SIZE: Final = 2


def leader_killed(bench: Bench) -> tuple[Row, Row]:
    """Kill the leader while an application waits for its layout."""
    return _next_decisions(bench, "master.kill", most=FAILOVER_S)


def leader_stopped(bench: Bench) -> tuple[Row, Row]:
    """Stop the leader as an operator does."""
    return _next_decisions(bench, "master.stop", most=HANDOVER_S)


def node_off(bench: Bench) -> Row:
    """Take a machine's power: its agent, its warden and its containers end at once."""
    figures = tuple(_replaced(bench, "node.off")[0] for _ in range(bench.rounds))
    return Row(what="node off, until the new generation runs", figures=figures, most=REPLACED_S)


def node_cut(bench: Bench) -> tuple[Row, Row]:
    """Cut a machine off from everybody."""
    found = [_replaced(bench, "node.cut") for _ in range(bench.rounds)]
    return (
        Row(
            what="node cut off, until the new generation runs",
            figures=tuple(replaced for replaced, _ in found),
            most=REPLACED_S,
        ),
        Row(
            what="node cut off: last moment of its containers after the last renewal",
            figures=tuple(last for _, last in found),
            most=FENCED_S,
        ),
    )


def agent_frozen(bench: Bench) -> Row:
    """Freeze a node's agent; only its warden is left."""
    figures = []
    for _ in range(bench.rounds):
        bench.quiet()
        app_id = bench.running()
        node = bench.node_of(app_id)
        with bench.suffering("agent.freeze", node):
            time.sleep(FROZEN_S)
            renewed_s = bench.last_renewal_s(node, fence_s=FENCE_S)
            figures.append(_last_s(bench, app_id) - renewed_s)
        bench.quiet()
        bench.cancel(app_id)
    return Row(
        what="agent frozen: last moment of its containers after the last renewal",
        figures=tuple(figures),
        most=FENCED_S,
    )


def quorum_lost(bench: Bench) -> tuple[Row, Row]:
    """Freeze two members of etcd for a minute."""
    bench.quiet()
    apps = [bench.running(size=SIZE) for _ in range(2)]
    before, began_s = bench.processes(), boottime()
    with bench.suffering("quorum.freeze", "quorum"):
        time.sleep(OUTAGE_S)
    ended_s = boottime()
    bench.quiet()
    after = bench.processes()
    gaps = [_longest_gap_s(one, began_s, ended_s) for one in bench.diaries() if one.app_id in apps]
    for app_id in apps:
        bench.cancel(app_id)
    killed = sum(after.get(name) != process for name, process in before.items())
    return (
        Row(
            what=f"no quorum of etcd for {OUTAGE_S:.0f} s: containers killed",
            figures=(killed,),
            most=0,
            unit="containers",
        ),
        Row(
            what=f"no quorum of etcd for {OUTAGE_S:.0f} s: longest standstill of one",
            figures=(max(gaps),),
            most=STANDSTILL_S,
        ),
    )


def restarts(bench: Bench) -> tuple[Row, ...]:
    """Kill everything that can be started again, one after the other."""
    rows = []
    bench.quiet()
    apps = [bench.running(size=SIZE) for _ in range(2)]
    node = bench.node_of(apps[0])
    for what, kind, target in (
        ("agent", "agent.kill", node),
        ("warden", "warden.kill", node),
        ("master that leads", "master.kill", "leader"),
        ("Docker engine", "engine.kill", ENGINE),
        ("member of etcd", "etcd.kill", MEMBERS[0]),
    ):
        before = bench.processes()
        with bench.suffering(kind, target):
            time.sleep(1.0)
        bench.quiet()
        time.sleep(SETTLED_S)
        after = bench.processes()
        changed = sum(after.get(name) != process for name, process in before.items())
        rows.append(
            Row(
                what=f"{what} killed and started: containers with another process",
                figures=(changed,),
                most=0,
                unit="containers",
            )
        )
    for app_id in apps:
        bench.cancel(app_id)
    return tuple(rows)


def _next_decisions(bench: Bench, kind: str, *, most: float) -> tuple[Row, Row]:
    found = [_next_decision(bench, kind) for _ in range(bench.rounds)]
    what = {"master.kill": "leader killed", "master.stop": "leader stopped"}[kind]
    return (
        Row(
            what=f"{what}, until another is elected",
            figures=tuple(elected for elected, _ in found),
            most=most,
        ),
        Row(
            what=f"{what}, until the next layout is decided",
            figures=tuple(decided for _, decided in found),
            most=most,
        ),
    )


def _next_decision(bench: Bench, kind: str) -> tuple[float, float]:
    """Submit at the moment of the fault; return when another was elected, and decided."""
    bench.quiet()
    leader = bench.wait_for("a master leads", bench.lab.programs.leader)
    with bench.suffering(kind, leader) as began_s:
        app_id = bench.submit()
        decided_s = bench.wait_for("another decides", lambda: _first_s(bench, began_s, leader))
        elected_s = _first_s(bench, began_s, leader, LeaderElected)
    bench.cancel(app_id)
    assert elected_s is not None, "whoever decides was elected"
    return elected_s - began_s, decided_s - began_s


def _first_s(
    bench: Bench, after_s: float, old: str, kind: type[Event] = LayoutDecided
) -> float | None:
    """Return when a master other than the old leader wrote the first event of a kind."""
    others = {f"master/{name}" for name in MASTERS if name != old}
    for at_s, actor, event in bench.events(after_s=after_s):
        if isinstance(event, kind) and actor in others:
            return at_s
    return None


def _replaced(bench: Bench, kind: str) -> tuple[float, float]:
    """Return how long it took to run elsewhere, and for how long it ran on after the renewal."""
    bench.quiet()
    app_id = bench.running()
    node = bench.node_of(app_id)
    with bench.suffering(kind, node) as began_s:
        newer = bench.wait_for("the next generation runs", lambda: _newer(bench, app_id))
        renewed_s = bench.last_renewal_s(node, fence_s=FENCE_S)
        last_s = bench.diaries(app_id)[0].last_s
    bench.quiet()
    bench.cancel(app_id)
    return newer.first_s - began_s, last_s - renewed_s


def _newer(bench: Bench, app_id: str) -> Diary | None:
    return next((one for one in bench.diaries(app_id) if one.generation > 1), None)


def _last_s(bench: Bench, app_id: str) -> float:
    """Return the last moment of the first generation before it stood still, if it did."""
    diary = bench.diaries(app_id)[0]
    for before, after in pairwise(diary.lines):
        if float(after["at"]) - float(before["at"]) > STANDSTILL_S:
            return float(before["at"])
    return diary.last_s


def _longest_gap_s(diary: Diary, began_s: float, ended_s: float) -> float:
    moments = [float(line["at"]) for line in diary.lines]
    inside = [at for at in moments if began_s < at < ended_s]
    return max(after - before for before, after in pairwise([began_s, *inside, ended_s]))
