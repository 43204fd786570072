"""What a user types, and what comes back: words, JSON and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dorm.cli.main import cli
from dorm.spec import from_yaml, render, to_plain
from dorm.status import NodeStatus, Progress
from events.apps import AppSubmitted
from tests.api.world import World, a_ready_node
from tests.builders import (
    a_generation,
    a_layout,
    an_app,
    app_completed,
    app_failed,
    container_exited,
    container_started,
    node_lost,
)
from tests.cli.conftest import Dorm
from tests.spec.texts import a_text


@pytest.fixture
def spec_file(tmp_path: Path) -> str:
    """A sound spec in a file."""
    path = tmp_path / "app.yaml"
    path.write_text(a_text())
    return str(path)


def a_running_app(world: World) -> None:
    """Application `a` runs on two nodes and tells of its progress."""
    world.happen(
        a_ready_node("n1", labels={"rack": "r1"}),
        a_ready_node("n2"),
        an_app("a", max=2),
        a_layout({"a": {"n1": 1, "n2": 1}}),
        a_generation("a", "n1", "n2"),
        container_started("a", rank=0, node_id="n1"),
        container_started("a", rank=1, node_id="n2"),
    )
    progress = Progress(generation=1, step=70, total=100, loss=0.25)
    world.view.told["n1"] = NodeStatus(node_id="n1", incarnation="x", progress={"a": progress})


def good(result: Result) -> str:
    """Return the output of a command that must have succeeded."""
    assert result.exit_code == 0, result.output
    return result.stdout


def json_of(result: Result) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """Return what a command that must have succeeded printed as JSON."""
    return json.loads(good(result))


def test_submit_prints_the_id_and_what_to_do_next(dorm: Dorm, spec_file: str) -> None:
    """The id is what every next command needs."""
    out = good(dorm("submit", spec_file))

    assert out.splitlines()[0] == "digits-t0001 submitted"
    assert "dorm why digits-t0001" in out


def test_submit_reads_stdin(dorm: Dorm) -> None:
    """Scripts make specs on the fly."""
    assert "submitted" in good(dorm("submit", "-", text=a_text()))


def test_submit_twice_under_one_key_says_so(dorm: Dorm, spec_file: str) -> None:
    """A script that was run again must see that nothing new was made."""
    dorm("submit", spec_file, "--key", "k1")

    again = dorm("submit", spec_file, "--key", "k1", "-o", "json")

    assert json_of(again) == {"id": "digits-t0001", "revision": 1, "duplicate": True}


def test_submit_can_change_single_fields(dorm: Dorm, world: World, spec_file: str) -> None:
    """A sweep is one file and a few words."""
    changes = ("--set", "scale.max=8", "--set", 'env.LR="0.01"', "--set", "run.start=[a, b]")

    good(dorm("submit", spec_file, *changes))

    (event,) = world.events
    assert isinstance(event, AppSubmitted)
    spec = event.spec
    assert (spec.scale.max, spec.env, spec.start) == (8, {"LR": "0.01"}, ("a", "b"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("scale", "must be FIELD=VALUE"),
        ("=3", "must be FIELD=VALUE"),
        ("name.first=a", "cannot be set"),
        ("scale.max=[", "is not valid YAML"),
        ("sclae.max=3", "did you mean scale?"),
    ],
)
def test_a_change_that_means_nothing_is_refused(
    dorm: Dorm, world: World, spec_file: str, change: str, words: str
) -> None:
    """A change that is dropped in silence costs a whole run."""
    result = dorm("submit", spec_file, "--set", change)

    assert result.exit_code == 2
    assert words in result.stderr
    assert world.events == []


def test_all_faults_of_a_spec_are_printed_one_a_line(dorm: Dorm) -> None:
    """One mistake a round would cost its author a round for each."""
    result = dorm("submit", "-", text=a_text(weight="0", scale="{min: 3, max: 2}"))

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "Error: the spec has 2 faults:",
        "  scale.max: 2 is below scale.min, which is 3 (write 3 or more)",
        "  weight: 0 must be above 0 and at most 1000000 (1 is usual)",
    ]


def test_ps_shows_phase_size_and_progress(dorm: Dorm, world: World) -> None:
    """The command that is typed most."""
    a_running_app(world)

    head, row = good(dorm("ps")).splitlines()

    columns = ["ID", "PHASE", "SIZE", "WEIGHT", "PRIO", "GEN", "STEP", "LOSS", "AGE", "USER"]
    assert head.split() == columns
    assert row.split()[:8] == ["a", "running", "2", "(1-2)", "1", "0", "1", "70/100"]
    assert "ann" in row


def test_ps_of_an_empty_cluster_tells_how_to_begin(dorm: Dorm) -> None:
    """An empty table would tell a newcomer nothing."""
    assert "dorm submit" in good(dorm("ps"))


def test_ps_with_all_shows_finished_applications(dorm: Dorm, world: World) -> None:
    """And without it does not."""
    world.happen(an_app("old"), app_completed("old"))

    assert json_of(dorm("ps", "-o", "json")) == []
    assert [app["id"] for app in json_of(dorm("ps", "-a", "-o", "json"))] == ["old"]


def test_ps_that_watches_into_a_pipe_prints_once(dorm: Dorm, world: World) -> None:
    """Nobody can see a table move in a file, and a script must not hang."""
    a_running_app(world)

    assert "running" in good(dorm("ps", "-w"))


def test_show_prints_facts_containers_and_a_spec_that_can_be_submitted(
    dorm: Dorm, world: World
) -> None:
    """What was asked for, what there is, and how to ask for it again."""
    world.happen(AppSubmitted(app_id="digits-1", spec=from_yaml(a_text(weight="2"))))

    out = good(dorm("show", "digits"))

    assert "Bounds      1 to 1, weight 2" in out
    _, _, spec = out.partition("\nSpec\n")
    assert from_yaml(spec) == from_yaml(a_text(weight="2"))


def test_show_lists_containers_with_their_ends(dorm: Dorm, world: World) -> None:
    """A failed rank is what one looks for here."""
    a_running_app(world)
    world.happen(container_exited("a", rank=1, node_id="n2", exit_code=1))

    out = good(dorm("show", "a"))

    assert "exited 1" in out
    assert "step 70/100, loss 0.25" in out


def test_why_says_it_in_a_sentence(dorm: Dorm, world: World) -> None:
    """And what would help."""
    world.happen(a_ready_node(cpus=1), an_app("a", cpus=8))

    out = good(dorm("why", "a"))

    assert out.startswith("a ")
    assert "What would help: " in out


def test_why_a_failed_application_failed(dorm: Dorm, world: World) -> None:
    """The reason must not be lost with the containers."""
    world.happen(an_app("a"), app_failed("a", reason="exit code 3, out of retries"))

    assert "exit code 3, out of retries" in good(dorm("why", "a"))


def test_set_and_cancel_say_what_is_true_now(dorm: Dorm, world: World) -> None:
    """Not what was asked for."""
    world.happen(an_app("a"))

    assert good(dorm("set", "a", "--weight", "2", "--max", "9")) == (
        "a may have 1 to 9 containers, weight 2, priority 0\n"
    )
    assert good(dorm("cancel", "a")) == "a is cancelling\n"


def test_set_nothing_is_wrong_usage(dorm: Dorm, world: World) -> None:
    """It would look like a success."""
    world.happen(an_app("a"))

    assert dorm("set", "a").exit_code == 2


def test_a_weight_that_is_no_number_is_refused_in_words(dorm: Dorm, world: World) -> None:
    """`nan` is a float to the command line, and nothing at all to JSON."""
    world.happen(an_app("a"))

    result = dorm("set", "a", "--weight", "nan")

    assert (2, "Error: weight: nan must be above 0") == (result.exit_code, result.stderr[:34])


def test_logs_are_printed_as_they_are(dorm: Dorm, world: World) -> None:
    """With their rank in front, or alone."""
    a_running_app(world)
    world.agents.output["a", 1, 0] = [b"caf\xc3\xa9 \xff\n"]
    world.agents.output["a", 1, 1] = [b"two\n"]

    assert dorm("logs", "a").stdout_bytes == b"[0] caf\xc3\xa9 \xff\n[1] two\n"
    assert good(dorm("logs", "a", "--rank", "1")) == "two\n"


def test_logs_as_json_have_a_document_for_each_line(dorm: Dorm, world: World) -> None:
    """A program that wants one rank should not have to parse brackets."""
    a_running_app(world)
    world.agents.output["a", 1, 0] = [b"[7] one\n"]
    world.agents.output["a", 1, 1] = [b"two\n"]

    every = good(dorm("logs", "a", "-o", "json")).splitlines()
    first = good(dorm("logs", "a", "--rank", "0", "-o", "json")).splitlines()

    assert [json.loads(line) for line in every] == [
        {"rank": 0, "line": "[7] one"},
        {"rank": 1, "line": "two"},
    ]
    assert [json.loads(line) for line in first] == [{"rank": 0, "line": "[7] one"}]


def test_nodes_show_what_is_used_of_what_there_is(dorm: Dorm, world: World) -> None:
    """Where is room?"""
    a_running_app(world)

    row = good(dorm("nodes")).splitlines()[1].split()

    assert " ".join(row) == "n1 ready 1 / 4 1 GiB / 16 GiB 0 / 0 1 rack=r1"


def test_forget_a_lost_node(dorm: Dorm, world: World) -> None:
    """Only then do its containers count as gone."""
    world.happen(a_ready_node(), node_lost())

    assert "n1 is forgotten" in good(dorm("forget", "n1"))


def test_status_is_the_cluster_at_a_glance(dorm: Dorm, world: World) -> None:
    """Leader, log, room, applications."""
    a_running_app(world)

    out = good(dorm("status"))

    assert "m1, led by itself" in out
    assert "2 of 8 used" in out
    assert "1 running" in out


def test_a_stale_master_says_so(dorm: Dorm, world: World) -> None:
    """Old numbers that look new are worse than none."""
    world.view.stale = True

    assert "STALE" in good(dorm("status"))


def test_events_are_told_in_sentences(dorm: Dorm, world: World) -> None:
    """From a revision on."""
    world.happen(an_app("a"), an_app("b"))

    (line,) = good(dorm("events", "--after", "1")).splitlines()

    assert line.split(maxsplit=1)[0] == "2"
    assert "b" in line


def test_events_as_json_are_one_document_a_line(dorm: Dorm, world: World) -> None:
    """So that a program can read them while they come."""
    world.happen(an_app("a"), an_app("b"))

    lines = good(dorm("events", "-o", "json")).splitlines()

    assert [json.loads(line)["kind"] for line in lines] == ["app.submitted/4"] * 2


@pytest.mark.parametrize(
    ("args", "exit_code", "words"),
    [
        (("show", "nothing"), 3, "nothing is no application (dorm ps --all lists all of them)"),
        (("show", ""), 3, "is no application"),
        (("show", ".."), 3, "app: .. is no application"),
        (("cancel", "a/b"), 3, "app: a/b is no application"),
        (("show", "a" * 999), 3, f"app: {'a' * 57}... is no application"),
        (("why", "\udcff"), 3, "app: \\udcff is no application"),
        (("forget", "n9"), 3, "dorm nodes lists them"),
        (("forget", ".."), 3, "node: .. is no node"),
        (("logs", "waiting"), 3, "has not started any container yet"),
        (("cancel", "ended"), 4, "is already completed"),
        (("show", "wait"), 4, "could be any of waiting, waiting2"),
        (("set", "waiting", "--min", "0"), 2, "must be from 1 to 10000"),
        (("submit", "/no/such/file"), 2, "No such file"),
        (("submit", "/dev/zero"), 2, "is larger than 65536 bytes"),
        (("submit", "-", "--key", ""), 2, "Idempotency-Key: must be 1 to 128 letters"),
        (("submit", "-", "--key", "ü"), 2, "Idempotency-Key: ü must be 1 to 128 letters"),
        (("submit", "-", "--set", "a=["), 2, "--set: a=[ is not valid YAML"),
        (("submit", "-", "--set", "scale..max=1"), 2, "--set: scale..max cannot be set"),
        (("no-such-command",), 2, "No such command"),
        (("--master", "http://127.0.0.1:1", "ps"), 5, "nothing answers: http://127.0.0.1:1"),
        (("ps", "--master", "ftp://x"), 2, "is no address of a master"),
    ],
)
def test_exit_codes_and_words(
    dorm: Dorm, world: World, args: tuple[str, ...], exit_code: int, words: str
) -> None:
    """Scripts branch on the code; people read the words; nobody sees a traceback."""
    world.happen(an_app("ended"), app_completed("ended"), an_app("waiting"), an_app("waiting2"))

    result = dorm(*args, text=a_text())

    assert result.exit_code == exit_code
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_words_on_the_command_line_win_over_the_environment(master: str) -> None:
    """In both places where `--master` may stand."""
    for args in (("--master", master, "ps"), ("ps", "--master", master)):
        result = CliRunner().invoke(cli, args, env={"DORM_MASTERS": "http://127.0.0.1:1"})

        assert result.exit_code == 0, result.output


def test_no_terminal_is_disturbed_by_a_users_text(dorm: Dorm, world: World) -> None:
    """Escape codes in a reason must not move the cursor, and brackets are no markup."""
    world.happen(an_app("a"), app_failed("a", reason="\x1b[2J[red]gone[/red]"))

    out = good(dorm("show", "a"))

    assert "\x1b" not in out
    assert "\\x1b[2J[red]gone[/red]" in out


def test_a_pipe_gets_whole_lines(dorm: Dorm, world: World) -> None:
    """A program that reads a table must not find it cut at eighty columns."""
    world.happen(a_ready_node(labels={f"label{number}": "x" * 20 for number in range(9)}))

    assert "label8=" + "x" * 20 in good(dorm("nodes"))


def test_the_rendered_spec_is_what_show_gives_as_json(dorm: Dorm, world: World) -> None:
    """One form everywhere."""
    spec = from_yaml(a_text())
    world.happen(AppSubmitted(app_id="digits-1", spec=spec))

    page = json_of(dorm("show", "digits-1", "-o", "json"))

    assert page["spec"] == to_plain(spec)
    assert from_yaml(render(spec)) == spec


def test_version_is_there_in_three_ways(dorm: Dorm) -> None:
    """People guess which one it is."""
    version = json_of(dorm("version", "-o", "json"))["dorm"]

    assert good(dorm("--version")) == f"dorm {version}\n"
    assert good(dorm("version")).startswith("dorm")


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_has_help_with_an_example(command: str) -> None:
    """A newcomer learns from examples."""
    result = CliRunner().invoke(cli, [command, "-h"])

    assert f"dorm {command}" in good(result)
    assert "Example" in result.output
