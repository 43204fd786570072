"""Children that misbehave when a certain application is among those to be laid out.

What a child does is in the application's name, before the first dash: `raise-7` makes it raise.
Otherwise it deals out minimums, first fit: the optimizer is not what is tested here.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

from dorm.planner import child
from events.layouts import LayoutDecided, PartitionChange, Slots
from events.state import App, ClusterState

ROOT: Final = Path(__file__).parents[2]
_START: Final = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.planner import programs
programs.main()
"""
COMMAND: Final = (sys.executable, "-c", _START)


def main() -> None:
    """Run as the child of a planner under test."""
    child.main(sys.argv[1:], decide)


def decide(state: ClusterState, policy: str | None) -> tuple[LayoutDecided, ...]:
    """First fit, unless the cluster's own policy meets one of the bad applications."""
    apps = [app for app in state.apps.values() if not app.quarantine]
    if policy is None or any(app.spec.name.startswith("always") for app in apps):
        for app in apps:
            misbehave(app.spec.name.split("-")[0])
        if len([app for app in apps if app.spec.name.startswith("pair")]) > 1:
            raise RuntimeError("one of the pair is too many")
    if policy is None and any(app.spec.name.startswith("nonsense") for app in apps):
        return (first_fit(state, apps, "own/1", most=1_000),)
    decision = first_fit(state, apps, f"{policy or 'own'}/1")
    return (decision,) if decision.changes else ()


def misbehave(how: str) -> None:
    """Do what no planner should."""
    match how:
        case "raise" | "always":
            raise RuntimeError("division by a spec")
        case "memory":
            bytes(3 << 30)  # more than the limit of these tests; never touched
        case "cpu":
            while True:  # Until the kernel ends it.
                pass
        case "hang":
            time.sleep(600)
        case "slow":
            time.sleep(1)
        case "print":
            print("a solver's banner", flush=True)  # noqa: T201 - that is the point
        case "exit":
            os._exit(9)
        case _:
            pass


def first_fit(state: ClusterState, apps: list[App], policy: str, *, most: int = 0) -> LayoutDecided:
    """Give each application without a partition its minimum on the first node with room."""
    free = {node_id: node.report.capacity.cpu_milli for node_id, node in state.nodes.items()}
    for app in state.apps.values():
        for node_id, slots in app.partition.items():
            free[node_id] -= slots.count * app.demand.cpu_milli
    changes = {}
    for app in apps:
        count = most or app.spec.scale.min
        wanted = app.spec.scale.min * app.demand.cpu_milli
        roomy = [node_id for node_id, left in free.items() if left >= wanted]
        if not app.partition and roomy:
            free[roomy[0]] -= wanted
            changes[app.app_id] = PartitionChange(
                generation=app.last_generation + 1, partition={roomy[0]: Slots(count=count)}
            )
    return LayoutDecided(
        decision_id=f"{state.revision}-{policy}",
        input_revision=state.revision,
        policy=policy,
        changes=changes,
    )
