"""The Docker adapter on a real engine."""

import asyncio
import fcntl
import os
import socket
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from dorm import labels
from dorm.ports.docker import DiskPressure, NotPulled, Unrunnable
from events.errors import Conflict, NotFound, Rejected, Unavailable
from events.units import Resources
from tests.docker.engines import MIB, Desk, bind, ended, in_state
from tests.docker.registries import registry

MOST = Path("/proc/sys/fs/pipe-max-size")

pytestmark = pytest.mark.docker


async def test_a_container_lives_from_created_to_removed(desk: Desk) -> None:
    """The whole life, as the port tells it; every step may be repeated."""
    engine, launch = desk.engine(), desk.launch("a", "sh", "-c", "echo out; echo err >&2; exit 3")

    await engine.create(launch)
    await engine.create(launch)
    (created,) = await engine.containers()
    assert (created.state, created.key, created.revision) == ("created", (desk.app("a"), 1, 0), 7)

    await engine.start(launch.name)
    exited = await ended(engine)
    assert (exited.exit_code, exited.oom_killed, exited.error) == (3, False, "")
    output = b"".join([chunk async for chunk in engine.logs(launch.name, follow=False)])
    assert sorted(output.split()) == [b"err", b"out"]

    await engine.signal(launch.name, "SIGTERM")
    await engine.remove(launch.name)
    await engine.remove(launch.name)
    assert await engine.containers() == ()


async def test_an_ended_container_is_not_started_again(desk: Desk) -> None:
    """Docker would run it once more, and a rank would train twice."""
    engine, launch = desk.engine(), desk.launch("a", "true")
    await engine.create(launch)
    await engine.start(launch.name)
    await ended(engine)
    finished = desk.inspect(launch.name)["State"]["FinishedAt"]

    await engine.start(launch.name)

    assert desk.inspect(launch.name)["State"]["FinishedAt"] == finished


async def test_two_agents_on_one_engine_do_not_touch_each_others_containers(desk: Desk) -> None:
    """Several nodes may share an engine, and so may people who know nothing of Dorm."""
    first, second = desk.engine("n1"), desk.engine("n2")
    launch = desk.launch(node_id="n1")
    await first.create(launch)
    await first.start(launch.name)

    assert await second.containers() == ()
    await second.signal(launch.name, "SIGKILL")
    await second.remove(launch.name)
    with pytest.raises(NotFound):
        await second.start(launch.name)
    with pytest.raises(NotFound):
        await anext(second.logs(launch.name, follow=False))
    theirs = {**launch.labels, **labels.of_node(desk.cluster, "n2")}
    with pytest.raises(Conflict, match="did not make"):
        await second.create(desk.launch(node_id="n2", labels=theirs))

    assert (await in_state(first, "running")).name == launch.name


async def test_a_signal_reaches_the_process_through_init(desk: Desk) -> None:
    """As process 1 it would ignore SIGTERM, and each stop would wait out the grace time."""
    command = (
        "sh",
        "-c",
        "trap 'echo saved; exit 0' TERM; echo up; while true; do sleep 0.1; done",
    )
    engine, launch = desk.engine(), desk.launch("a", *command)
    await engine.create(launch)
    await engine.start(launch.name)
    async with aclosing(engine.logs(launch.name, follow=True)) as output:
        assert await anext(output) == b"up\n"
        await engine.signal(launch.name, "SIGTERM")
        assert await anext(output) == b"saved\n"

    assert (await ended(engine)).exit_code == 0


async def test_a_deaf_process_ends_by_init_alone(desk: Desk) -> None:
    """One that handles no signal at all still ends at once."""
    engine, launch = desk.engine(), desk.launch("a", "sleep", "100")
    await engine.create(launch)
    await engine.start(launch.name)

    await engine.signal(launch.name, "SIGTERM")

    assert (await ended(engine, within_s=5)).exit_code == 143


async def test_sigkill_ends_what_ignores_sigterm(desk: Desk) -> None:
    """The last resort of a stop."""
    command = ("sh", "-c", "trap '' TERM; echo up; while true; do sleep 0.1; done")
    engine, launch = desk.engine(), desk.launch("a", *command)
    await engine.create(launch)
    await engine.start(launch.name)
    async with aclosing(engine.logs(launch.name, follow=True)) as output:
        await anext(output)
    await engine.signal(launch.name, "SIGTERM")
    await asyncio.sleep(0.5)
    await in_state(engine, "running")

    await engine.signal(launch.name, "SIGKILL")

    assert (await ended(engine)).exit_code == 137


async def test_an_out_of_memory_kill_is_told_apart(desk: Desk) -> None:
    """Its code is the same as of any other kill; users must learn that memory was the reason."""
    command = ("sh", "-c", "x=0123456789abcdef; while true; do x=$x$x; done")
    engine = desk.engine()
    launch = desk.launch("a", *command, demand=Resources(cpu_milli=500, memory_bytes=16 * MIB))
    await engine.create(launch)
    await engine.start(launch.name)

    exited = await ended(engine, within_s=30)

    assert exited.oom_killed
    assert exited.exit_code != 0


async def test_an_image_that_does_not_exist_is_refused_for_good(desk: Desk) -> None:
    """No retry will find it; the user is told at once, with a way out."""
    engine = desk.engine()
    with (
        registry(404, "MANIFEST_UNKNOWN") as address,
        pytest.raises(Unrunnable, match="could not be pulled") as refused,
    ):
        await engine.create(desk.launch(image=f"{address}/no-such-image:1"))

    assert refused.value.field == "image"
    assert "every node" in refused.value.hint


async def test_a_registry_that_is_away_or_ill_may_give_the_image_later(desk: Desk) -> None:
    """The agent asks again, and the application does not fail for it."""
    engine = desk.engine()
    with registry(503, "UNAVAILABLE") as address, pytest.raises(NotPulled, match="could not be"):
        await engine.create(desk.launch(image=f"{address}/some-image:1"))
    with pytest.raises(NotPulled, match="refused"):
        await engine.create(desk.launch(image="127.0.0.1:9/some-image:1"))


async def test_nothing_is_made_on_a_disk_that_is_almost_full(desk: Desk) -> None:
    """Docker's own: it would fill up, and with it everything on the machine would fail."""
    engine = desk.engine(disk_bytes_min=1 << 60)

    with pytest.raises(DiskPressure, match=r"disk pressure: /.* left"):
        await engine.create(desk.launch())

    assert await engine.containers() == ()


async def test_the_pipes_of_a_container_are_as_large_as_the_machine_allows(desk: Desk) -> None:
    """While Docker is down nobody reads them, and a training that prints into a full one stops."""
    engine, launch = desk.engine(), desk.launch()
    await engine.create(launch)
    await engine.start(launch.name)

    first = desk.inspect(launch.name)["State"]["Pid"]
    most = int(MOST.read_text())  # noqa: ASYNC240 - of the kernel, at once
    for output in (1, 2):
        pipe = os.open(f"/proc/{first}/fd/{output}", os.O_RDONLY | os.O_NONBLOCK)
        assert fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) == most
        os.close(pipe)


@pytest.mark.parametrize(
    ("command", "words"),
    [("/no/such/program", "No such file or directory"), ("/etc/passwd", "Permission denied")],
)
async def test_a_command_that_cannot_be_executed_is_told_apart(
    desk: Desk, command: str, words: str
) -> None:
    """No retry helps, so it must not look like a training that failed."""
    engine, launch = desk.engine(), desk.launch("a", command)
    await engine.create(launch)
    await engine.start(launch.name)

    assert words in (await ended(engine)).error


async def test_a_script_that_ends_with_127_did_begin(desk: Desk) -> None:
    """Only the command itself counts, whatever the program's own code looks like."""
    engine, launch = desk.engine(), desk.launch("a", "sh", "-c", "echo working; exit 127")
    await engine.create(launch)
    await engine.start(launch.name)

    exited = await ended(engine)

    assert (exited.exit_code, exited.error) == (127, "")


async def test_what_the_engine_cannot_start_is_refused_in_its_words(desk: Desk) -> None:
    """Such as for a network that somebody removed; the next try makes it anew."""
    engine, launch = desk.engine(), desk.launch()
    await engine.create(launch)
    desk.raw.networks.get(desk.network).remove()

    with pytest.raises(Rejected, match=desk.network):
        await engine.start(launch.name)

    assert [one.state for one in await engine.containers()] == ["created"]
    await engine.remove(launch.name)
    await engine.create(launch)
    await engine.start(launch.name)
    await in_state(engine, "running")


async def test_limits_and_isolation_are_really_set(desk: Desk, tmp_path: Path) -> None:
    """What the engine has noted, not what we believe to have asked for."""
    engine = desk.engine()
    await engine.create(
        desk.launch(binds=(bind(tmp_path, "/data", read_only=True),), env={"A": "1"})
    )

    details = desk.inspect(desk.launch().name)
    host = details["HostConfig"]
    assert host["NanoCpus"] == 500_000_000
    assert host["Memory"] == host["MemorySwap"] == 64 * MIB
    assert host["PidsLimit"] == 50
    assert host["ShmSize"] == 16 * MIB
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Init"] is True
    assert host["RestartPolicy"]["Name"] == "no"
    assert host["LogConfig"] == {
        "Type": "json-file",
        "Config": {"max-size": "10m", "max-file": "3"},
    }
    assert host["Privileged"] is False
    assert host["NetworkMode"] == desk.network
    assert details["Config"]["Hostname"] == desk.launch().name
    assert "A=1" in details["Config"]["Env"]
    (mount,) = details["Mounts"]
    assert (mount["Source"], mount["Destination"], mount["RW"]) == (str(tmp_path), "/data", False)


async def test_a_demand_above_the_machines_cpus_is_cut(desk: Desk) -> None:
    """The engine refuses it, while the operator may well offer more than there is (`dorm dev`)."""
    engine = desk.engine()
    launch = desk.launch(demand=Resources(cpu_milli=1_000_000, memory_bytes=64 * MIB))

    await engine.create(launch)

    cpus = desk.raw.info()["NCPU"]
    assert desk.inspect(launch.name)["HostConfig"]["NanoCpus"] == cpus * 1_000_000_000


async def test_containers_of_a_generation_find_each_other_by_name(desk: Desk) -> None:
    """Ranks meet by these names."""
    engine = desk.engine()
    await engine.create(desk.launch("a"))
    await engine.start(desk.launch("a").name)
    ask = f"import socket; print(socket.gethostbyname('{desk.launch('a').name}'))"
    other = desk.launch("b", "python3", "-c", ask)
    await engine.create(other)
    await engine.start(other.name)

    output = b"".join([chunk async for chunk in engine.logs(other.name, follow=True)])

    address = desk.inspect(desk.launch("a").name)["NetworkSettings"]["Networks"][desk.network]
    assert output.decode().strip() == address["IPAddress"]


async def test_the_doorbell_rings_when_a_container_ends(desk: Desk) -> None:
    """Otherwise an exit would be noticed only at the next relist."""
    engine, launch = desk.engine(), desk.launch("a", "sleep", "0.5")
    async with aclosing(engine.doorbell()) as rings:
        ring = asyncio.ensure_future(anext(rings))
        await asyncio.sleep(0.2)
        await engine.create(launch)
        await asyncio.wait_for(ring, 5)


async def test_leaving_a_silent_stream_frees_it_at_once(desk: Desk) -> None:
    """A follower of a training that prints nothing must not hold on to the engine."""
    engine, launch = desk.engine(), desk.launch()
    await engine.create(launch)
    await engine.start(launch.name)
    output = engine.logs(launch.name, follow=True)
    waiting = asyncio.ensure_future(anext(output))
    await asyncio.sleep(0.3)

    began = time.monotonic()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await output.aclose()

    assert time.monotonic() - began < 1


async def test_an_engine_that_is_not_there_is_unavailable(desk: Desk, tmp_path: Path) -> None:
    """It may come up later, so the agent waits and tries again."""
    engine = desk.engine(url=f"unix://{tmp_path}/nobody.sock")

    with pytest.raises(Unavailable, match="does not answer"):
        await engine.containers()


async def test_an_engine_that_hangs_meets_a_deadline(desk: Desk, tmp_path: Path) -> None:
    """A stopped dockerd accepts connections and never answers."""
    path = str(tmp_path / "hung.sock")
    engine = desk.engine(url=f"unix://{path}", call_s=1.0)

    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(path)
        hung.listen()
        with pytest.raises(Unavailable, match="answer"):
            await engine.containers()

    assert time.monotonic() - began < 5


async def test_a_running_container_is_not_removed(desk: Desk) -> None:
    """A start that lands between look and removal must be seen, and stopped in order."""
    engine, launch = desk.engine(), desk.launch()
    await engine.create(launch)
    await engine.start(launch.name)

    with pytest.raises(Unavailable):
        await engine.remove(launch.name)

    await in_state(engine, "running")


async def test_versions_name_the_engine(desk: Desk) -> None:
    """They stand in the node's report, for whoever looks for the reason of a difference."""
    versions = await desk.engine().versions()

    assert versions["docker"] == desk.raw.version()["Version"]
    assert versions["storage"]
