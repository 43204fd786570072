"""Groups as directories: on plain files in place of the kernel's, and on the kernel's own."""

import os
import subprocess
from pathlib import Path

import pytest

from dorm import cgroups
from dorm.warden import machine, permits, status
from dorm.warden.groups import Kernel
from dorm.warden.journal import Journal
from dorm.warden.mounts import Hierarchies
from dorm.warden.paths import RunPaths
from dorm.warden.tree import ENDED_MAX, Tree
from dorm.warden.v2 import Version2
from dorm.warden.watch import AGAIN_S, POLL_S, Watch
from reconcilers.warden import Group, OnDisconnect, Permit
from tests.warden.nodes import Node, until

CGROUP = "/dorm/main/rack-1"
SLICES = "dorm.slice/dorm-main.slice/dorm-main-rack_1.slice"


class Paper:
    """Plain files where the kernel's would be, as version 2 names them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        kernel = Version2(root)
        self.tree = Tree(Hierarchies(guarded=kernel, roots=(root,)), CGROUP)

    def group(self, tenure: str = "t1", kind: str = "stop", *, pids: tuple[int, ...] = ()) -> Path:
        """Make a group with some processes in it."""
        return self.at(f"{CGROUP.lstrip('/')}/{tenure}/{kind}", pids=pids)

    def slice(self, tenure: str, kind: str, *, pids: tuple[int, ...] = ()) -> Path:
        """Make a group as systemd would."""
        base = f"dorm-main-rack_1-{tenure}"
        return self.at(f"{SLICES}/{base}.slice/{base}-{kind}.slice", pids=pids)

    def at(self, path: str, *, pids: tuple[int, ...] = ()) -> Path:
        """Make a group, and those above it."""
        group = self.root / path
        group.mkdir(parents=True)
        for one in (group, *group.parents):
            if one == self.root:
                break
            if pids or not (one / "cgroup.events").exists():
                populated = int(bool(pids))
                (one / "cgroup.events").write_text(f"populated {populated}\nfrozen 0\n")
            (one / "cgroup.freeze").write_text("0\n")
            (one / "cgroup.procs").write_text("")
        (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        return group


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    """Groups on plain files."""
    return Paper(tmp_path / "cgroup")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = machine.now_s()

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    """A clock that a test sets."""
    return Clock()


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    """A run directory."""
    (tmp_path / "run").mkdir()
    return RunPaths(tmp_path / "run")


@pytest.fixture
def watch(paper: Paper, paths: RunPaths, clock: Clock) -> Watch:
    """A warden on plain files."""
    return Watch(paths, paper.tree, Journal(paths.journal), now_s=clock)


def test_a_group_is_named_in_one_place() -> None:
    """Agent, engine and warden must mean the same one."""
    group = cgroups.of_containers("main", "rack-1.a", "t5", "keep")

    assert group == "/dorm/main/rack-1.a/t5/keep"
    assert cgroups.slice_of(group) == "dorm-main-rack_1.a-t5-keep.slice"
    assert cgroups.slice_path(cgroups.of_node("main", "rack-1")) == f"/{SLICES}"


def test_groups_are_seen_wherever_the_engine_makes_them(paper: Paper) -> None:
    """One that systemd looks after puts them into slices."""
    paper.group("t1", "stop")
    paper.slice("t1", "stop", pids=(77,))
    paper.slice("t2", "keep")
    paper.at(f"{SLICES}/other.slice/other-stop.slice", pids=(78,))

    assert paper.tree.groups() == (
        Group(tenure="t1", on_disconnect="stop", frozen=False, populated=True),
        Group(tenure="t2", on_disconnect="keep", frozen=False, populated=False),
    )
    paper.tree.freeze("t1", "stop")
    assert [one.frozen for one in paper.tree.groups()] == [True, False]
    assert not paper.tree.has_only("t2")
    assert not paper.tree.has_only("t1")
    paper.tree.freeze("t2", "keep")
    assert paper.tree.has_only("t1")


def test_a_group_is_frozen_only_where_all_of_it_is(paper: Paper) -> None:
    """Half of it would run on."""
    group = paper.group("t1", "stop")
    paper.slice("t1", "stop")
    (group / "cgroup.freeze").write_text("1\n")

    assert [one.frozen for one in paper.tree.groups()] == [False]


def test_a_kernel_that_can_kill_a_group_is_asked_to(paper: Paper) -> None:
    """One write, which also reaches a process that is just being made."""
    group = paper.group(pids=(os.getpid(),))  # would end this test if it were killed one by one
    (group / "cgroup.kill").write_text("")

    paper.tree.kill("t1", "stop")

    assert (group / "cgroup.kill").read_text() == "1"
    assert (group / "cgroup.freeze").read_text().strip() == "1"


def test_where_it_cannot_each_process_is_killed(paper: Paper) -> None:
    """Linux before 5.14, also for the groups that an engine makes below ours."""
    with subprocess.Popen(["sleep", "60"]) as process:
        group = paper.group()
        below = group / "container"
        below.mkdir()
        (below / "cgroup.procs").write_text(f"{process.pid}\n")

        paper.tree.kill("t1", "stop")

        assert process.wait(10) == -9
    assert not (group / "cgroup.kill").exists()


@pytest.mark.parametrize("pid", [0, 1])
def test_a_process_that_shows_no_id_of_its_own_is_not_killed(paper: Paper, pid: int) -> None:
    """The kernel writes 0 for one of another namespace, and kill(0) would be for ourselves."""
    paper.group(pids=(pid,))

    with pytest.raises(PermissionError, match=f"the id {pid}"):
        paper.tree.kill("t1", "stop")


def test_what_fails_for_one_group_holds_up_no_other(
    paper: Paper, paths: RunPaths, watch: Watch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And is told, once, and tried again at each look."""
    paper.group("t0", "stop", pids=(1,))
    other = paper.group("t1", "stop")
    paper.group("t1", "keep")
    permits.write(paths.permit, Permit(tenure="t1", deadline_s=0.0))

    watch.look()
    watch.look()

    assert (other / "cgroup.freeze").read_text().strip() == "1"
    seen = status.read(paths.status)
    assert seen is not None
    assert "the id 1" in seen.error
    assert capfd.readouterr().err.count("the id 1") == 1


def test_the_next_look_is_at_the_deadline(
    paper: Paper, paths: RunPaths, watch: Watch, clock: Clock
) -> None:
    """Not up to a whole poll later, since masters count on it."""
    paper.group("t1", "stop")
    paper.group("t1", "keep")
    for left_s, wait_s in ((0.1, 0.101), (9.0, POLL_S), (-1.0, POLL_S)):
        permits.write(paths.permit, Permit(tenure="t1", deadline_s=clock.now_s + left_s))
        while watch.look() == 0.0:  # after a thaw it looks again at once
            pass
        assert watch.look() == pytest.approx(wait_s)


def test_a_killed_group_is_looked_at_again_soon_and_noted_once(
    paper: Paper, paths: RunPaths, watch: Watch
) -> None:
    """What waits for a disk dies later; the journal must not fill up with it."""
    paper.group("t1", "stop")
    paper.group("t1", "keep")
    old = paper.group("t0", "stop", pids=(77,))
    (old / "cgroup.kill").write_text("")
    permits.write(paths.permit, Permit(tenure="t1", deadline_s=machine.now_s() + 60))

    assert watch.look() == AGAIN_S
    assert [watch.look() for _ in range(3)] == [POLL_S] * 3
    assert paths.journal.read_text().count("killed") == 1


@pytest.mark.parametrize("kind", ["stop", "keep"])
def test_a_warden_is_idle_only_with_nothing_to_guard_and_nobody_to_renew(
    kind: OnDisconnect, paper: Paper, paths: RunPaths, watch: Watch, clock: Clock
) -> None:
    """An agent may be away for days; its warden stays as long as one container does."""
    group = paper.group("t1", kind, pids=(77,))
    paper.group("t1", "keep" if kind == "stop" else "stop")
    tenure = group.parent / "cgroup.events"
    tenure.write_text("populated 1\nfrozen 0\n")
    permits.write(paths.permit, Permit(tenure="t1", deadline_s=clock.now_s + 5))
    watch.look()
    clock.now_s += 1_000_000

    assert not watch.is_idle(60)
    tenure.write_text("populated 0\nfrozen 0\n")
    assert watch.is_idle(60)
    permits.write(paths.permit, Permit(tenure="t1", deadline_s=clock.now_s + 5))
    watch.look()
    assert not watch.is_idle(60)
    clock.now_s += 30
    assert not watch.is_idle(60)


def test_the_permit_of_another_boot_is_none(
    paper: Paper, paths: RunPaths, watch: Watch, clock: Clock
) -> None:
    """Where the run directory is on a disk: its deadline could seem valid for days."""
    group = paper.group("t1", "stop")
    permits.write(paths.permit, Permit(tenure="t1", deadline_s=clock.now_s + 86_400))
    other = paths.permit.read_text().replace(machine.boot_id(), "another")
    paths.permit.write_text(other)

    watch.look()

    assert (group / "cgroup.freeze").read_text().strip() == "1"


def test_only_the_newest_ended_tenures_keep_their_groups(node: Node) -> None:
    """Each costs the kernel some memory, and a node may come and go for years."""
    for number in range(ENDED_MAX + 3):
        node.tree.make(f"t{number}")
    node.tree.make("now")

    node.tree.drop_old(but="now")

    tenures = node.tree.tenures()
    assert len(tenures) == ENDED_MAX + 1
    assert {"now", "t3", f"t{ENDED_MAX + 2}"} <= set(tenures)
    assert {"t0", "t1", "t2"}.isdisjoint(tenures)


async def test_a_populated_group_is_never_removed(node: Node) -> None:
    """Whatever else happens: what is in there would be out of reach."""
    counter = node.counter()
    await counter.steps()

    node.tree.remove()

    assert counter.group.is_dir()
    await counter.steps()


async def test_a_whole_family_of_processes_is_killed_while_frozen(
    node: Node, kernel: Kernel
) -> None:
    """And the group is not thawed for it, not even for a moment."""
    counters = [node.counter() for _ in range(3)]
    for counter in counters:
        await counter.steps()
    node.tree.freeze("t1", "stop")
    await until(lambda: kernel.is_frozen(node.group()))
    stood = [counter.count for counter in counters]

    node.tree.kill("t1", "stop")

    await until(lambda: all(counter.is_dead for counter in counters))
    await until(lambda: not node.tree.is_populated())
    assert stood == [counter.count for counter in counters]
    assert kernel.is_frozen(node.group())
