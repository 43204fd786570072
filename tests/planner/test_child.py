"""One child: what it is told, what it answers, and what becomes of it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dorm.planner.inline import InlinePlanner
from dorm.planner.pipe import COMMAND
from dorm.planner.supervisor import ChildPlanner
from events.fold import fold
from events.layouts import LayoutDecided, join
from events.state import ClusterState
from tests.builders import a_node, an_app, history, state_of
from tests.planner.conftest import NewPlanner
from tests.planner.programs import ROOT


def a_cluster(*names: str) -> ClusterState:
    """A node of 1,000 cpus, and an application of each name."""
    return state_of(a_node("n1", cpus=1000, memory_gib=1000), *(an_app(name) for name in names))


def granted(decisions: tuple[LayoutDecided, ...]) -> list[str]:
    """Return who got something new."""
    return sorted(join(decisions))


async def test_a_child_decides_as_its_parent_would(new_planner: NewPlanner) -> None:
    """The process is a limit, not another opinion."""
    plan = await new_planner().plan(a_cluster("a", "b"))

    assert ["a", "b"] == granted(plan.decisions)
    assert "" == plan.fallback
    assert plan.rss_bytes > 1 << 20


async def test_the_real_child_decides_what_the_real_reconciler_decides(
    new_planner: NewPlanner,
) -> None:
    """Bit by bit, or no auditor could take its decisions again."""
    state = a_cluster("a", "b", "c")
    inline = await InlinePlanner().plan(state)
    apart = await new_planner(command=COMMAND, memory_bytes_max=4 << 30, cpu_s_max=60).plan(state)

    assert ("", inline.decisions) == (apart.fallback, apart.decisions)
    assert ["a", "b", "c"] == granted(apart.decisions)


async def test_a_warm_child_is_there_before_the_first_plan_and_makes_it(
    new_planner: NewPlanner,
) -> None:
    """Loading a solver takes a second, and a new leader has none."""
    planner = new_planner()
    await planner.warm()
    warm = planner.pid
    await planner.warm()
    plan = await planner.plan(a_cluster("a"))

    assert warm is not None
    assert planner.pid == warm
    assert ["a"] == granted(plan.decisions)


async def test_a_planner_that_cannot_be_started_says_so_when_it_is_asked(
    new_planner: NewPlanner,
) -> None:
    """A master serves its API without one."""
    planner = new_planner(command=["/nowhere/python"])
    await planner.warm()

    assert planner.pid is None


async def test_a_child_stays_and_is_told_only_what_changed(new_planner: NewPlanner) -> None:
    """A whole state costs a second at 10,000 nodes, for an arrival that changes a line of it."""
    planner = new_planner()
    events = history(a_node("n1"), an_app("a"), an_app("b"), an_app("c"))
    before = fold(events[:3])
    await planner.plan(before)
    pid = planner.pid
    later = fold(events[3:], before)
    plan = await planner.plan(later)

    assert (pid, ["a", "b", "c"]) == (planner.pid, granted(plan.decisions))
    assert "4-own/1" == plan.decisions[0].decision_id


async def test_a_child_is_humble(new_planner: NewPlanner) -> None:
    """It makes way for the master: for its leases, and when the machine is short of memory."""
    planner = new_planner(niceness=7)
    await planner.plan(a_cluster("a"))
    process = Path(f"/proc/{planner.pid}")

    assert os.getpriority(os.PRIO_PROCESS, planner.pid or 0) >= 7
    assert "500" == (process / "oom_score_adj").read_text().strip()
    assert b"OPENBLAS_NUM_THREADS=1" in (process / "environ").read_bytes().split(b"\0")
    assert 4 == len(list((process / "fd").iterdir()))


async def test_what_a_solver_prints_does_not_end_up_in_an_answer(new_planner: NewPlanner) -> None:
    """Libraries print when they like."""
    plan = await new_planner().plan(a_cluster("print-1"))

    assert ("", ["print-1"]) == (plan.fallback, granted(plan.decisions))


@pytest.mark.parametrize(
    ("name", "limits", "why"),
    [
        ("raise-1", {}, "the planner failed: RuntimeError: division by a spec"),
        ("exit-1", {}, "the planner ended with exit code 9"),
        ("memory-1", {}, "the planner needed more than 2048 MiB of memory"),
        ("cpu-1", {"cpu_s_max": 0}, "the planner used more than 0 s of CPU time"),
        ("hang-1", {"wall_s_max": 2.0}, "no plan came within 2 s"),
        ("nonsense-1", {}, "the planner's layout is unsound: a has 1000 containers"),
    ],
)
async def test_whatever_a_child_does_the_greedy_policy_decides_and_says_why(
    new_planner: NewPlanner, name: str, limits: dict[str, float], why: str
) -> None:
    """Everybody else gets a layout at once; the search for the guilty one comes after that."""
    plan = await new_planner(**limits).plan(a_cluster("a", name))

    assert ["a", name] == granted(plan.decisions)
    assert "drf/1" == plan.decisions[0].policy
    assert plan.decisions[0].quality is not None
    assert plan.decisions[0].quality.fallback.startswith(why)
    assert plan.again


async def test_a_child_that_is_killed_in_the_middle_is_replaced(new_planner: NewPlanner) -> None:
    """The kernel, short of memory, or an operator may do that once; it is nobody's fault."""
    planner = new_planner()
    await planner.plan(a_cluster("a"))
    planning = asyncio.create_task(planner.plan(a_cluster("a", "slow-1")))
    await asyncio.sleep(0.3)
    kill(planner)
    plan = await planning

    assert ("", ["a", "slow-1"]) == (plan.fallback, granted(plan.decisions))


async def test_a_child_that_is_killed_each_time_is_a_failure(new_planner: NewPlanner) -> None:
    """A native solver that crashes on a problem crashes on it again."""
    planner = new_planner()
    planning = asyncio.create_task(planner.plan(a_cluster("a", "hang-1")))
    async with asyncio.timeout(10):
        while planner.pid is None:  # noqa: ASYNC110 - it is another process that is awaited
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    kill(planner)

    assert "the planner was killed by signal 9" == (await planning).fallback


def kill(planner: ChildPlanner) -> None:
    """End its child as the kernel would."""
    assert planner.pid
    os.kill(planner.pid, signal.SIGKILL)


async def test_a_cancelled_plan_leaves_no_child_that_works_on_it(new_planner: NewPlanner) -> None:
    """A term that ends takes its questions with it, and the next one gets its own answers."""
    planner = new_planner()
    await planner.plan(a_cluster("a"))
    pid = planner.pid
    assert pid
    planning = asyncio.create_task(planner.plan(a_cluster("hang-1")))
    await asyncio.sleep(0.2)
    planning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await planning

    assert not is_running(pid)
    assert ["b"] == granted((await planner.plan(a_cluster("b"))).decisions)


async def test_nothing_is_decided_when_the_greedy_policy_fails_too(new_planner: NewPlanner) -> None:
    """What runs goes on running; that is all that is left to do."""
    plan = await new_planner().plan(a_cluster("a", "always-1"))

    assert () == plan.decisions
    assert "the planner failed: RuntimeError: division by a spec" == plan.fallback


async def test_a_child_that_cannot_be_started_is_a_failure_like_any_other(
    new_planner: NewPlanner, tmp_path: Path
) -> None:
    """No memory for another process is no reason to end the master."""
    plan = await new_planner(command=[str(tmp_path / "nothing")]).plan(a_cluster("a"))

    assert "the planner cannot be started" == plan.fallback
    assert () == plan.decisions


def test_a_child_ends_with_its_parent() -> None:
    """In the middle of a plan too: nobody is left who could read it."""
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from dorm.clock import SystemClock, SystemRandomness
from dorm.config import PlannerConfig
from dorm.planner.supervisor import ChildPlanner
from tests.planner.programs import COMMAND
from tests.planner.test_child import a_cluster

async def run():
    planner = ChildPlanner(
        PlannerConfig(), clock=SystemClock(), randomness=SystemRandomness(), command=COMMAND
    )
    await planner.plan(a_cluster("a"))
    print(planner.pid, flush=True)
    await planner.plan(a_cluster("hang-1"))

asyncio.run(run())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(next(line for line in parent.stdout if line.strip().isdigit()))
        time.sleep(0.3)
        parent.kill()
    ends_at = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < ends_at:
        time.sleep(0.05)

    assert not is_running(pid)


def is_running(pid: int) -> bool:
    """Return whether a process runs: a zombie that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
