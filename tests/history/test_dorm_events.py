"""The command `dorm-events` over exported files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dorm.cli.events import cli
from dorm.history.files import write_file
from events.fold import fold
from events.snapshot import dump, state_hash
from tests.history.days import BY_TEST, a_day, a_decided_day

GOLDEN = Path(__file__).parent / "golden"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `dorm-events` on the file of a day."""
    path = str(tmp_path / "day.jsonl.zst")
    write_file(path, a_day(), cluster="lab")

    def run_on(command: str, *args: str, file: str = path) -> Result:
        return CliRunner().invoke(cli, [command, "--file", file, *args], env={"NO_COLOR": "1"})

    return run_on


def good(result: Result) -> str:
    """Return the output of a command that must have succeeded."""
    assert result.exit_code == 0, result.output
    return result.stdout


def forged(tmp_path: Path, old: str, new: str) -> str:
    """Return a file of the day with one piece of text changed."""
    path = tmp_path / "forged.jsonl"
    write_file(str(path), a_day(), cluster="lab")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return str(path)


def test_replay_tells_the_day_and_where_it_led(run: Run) -> None:
    """Word for word, so that nothing in a history reads differently after an upgrade unseen."""
    out = good(run("replay"))

    hash_line = f"State     {state_hash(fold(a_day()))}\n"
    assert hash_line in out
    assert out.replace(hash_line, "") == (GOLDEN / "day.txt").read_text()


def test_the_golden_export_still_reads(run: Run) -> None:
    """An export is for ever: a Dorm of ten years from now must read it, and tell the same."""
    old = str(GOLDEN / "day.jsonl")

    assert good(run("replay", file=old)) == good(run("replay"))
    assert good(run("verify", file=old)) == good(run("verify"))


def test_replay_gives_the_same_bytes_on_every_run(run: Run) -> None:
    """Two auditors compare digests."""
    for output in ("timeline", "state", "json"):
        first, second = run("replay", "-o", output), run("replay", "-o", output)

        assert first.stdout_bytes == second.stdout_bytes


def test_replay_as_json_is_the_state_that_the_masters_hash(run: Run) -> None:
    """Byte for byte."""
    assert run("replay", "-o", "json").stdout_bytes == dump(fold(a_day())) + b"\n"


@pytest.mark.parametrize("until", [0, 1, 4, 9, 18, 99])
def test_replay_stops_at_any_revision(run: Run, until: int) -> None:
    """What did the masters know when they decided this?"""
    wanted = [one for one in a_day() if one.revision <= until]

    assert good(run("replay", "--until", str(until), "-o", "json")) == (
        dump(fold(wanted)).decode() + "\n"
    )


def test_replay_stops_at_a_time(run: Run) -> None:
    """People remember when, not at which revision."""
    day = BY_TEST.at_ms // 1000

    before = good(run("replay", "--at", "2023-11-14T22:13:19", "-o", "json"))
    after = good(run("replay", "--at", "2023-11-14T22:13:20+00:00", "-o", "json"))

    assert day == 1_700_000_000
    assert before == dump(fold(())).decode() + "\n"
    assert after == dump(fold(a_day())).decode() + "\n"


def test_a_time_that_is_none_is_wrong_usage(run: Run) -> None:
    """With an example of one that is."""
    result = run("replay", "--at", "yesterday")

    assert result.exit_code == 2
    assert "2026-05-04T12:30:00" in result.stderr


def test_tail_prints_the_newest(run: Run) -> None:
    """The last words are what one looks at first."""
    lines = good(run("tail", "-n", "2")).splitlines()

    assert [int(line.split()[0]) for line in lines] == [17, 18]


def test_a_file_ends_although_it_is_followed(run: Run) -> None:
    """Nothing new comes there."""
    assert len(good(run("tail", "-f")).splitlines()) == len(a_day())


@pytest.mark.parametrize("subject", ["wine-2", "wine"])
def test_a_story_is_all_about_one(run: Run, subject: str) -> None:
    """By id or by name."""
    (line,) = good(run("story", subject)).splitlines()

    assert "submitted wine" in line


def test_a_node_has_a_story_too(run: Run) -> None:
    """What ran on it, and when."""
    assert "n2" in good(run("story", "n2"))
    assert "wine" not in good(run("story", "n2"))


def test_a_story_about_nobody_says_who_is_there(run: Run) -> None:
    """A typing mistake is the usual cause."""
    result = run("story", "digit")

    assert result.exit_code == 3
    assert "digits-1" in result.stderr


def test_export_of_a_file_gives_the_same_file(run: Run, tmp_path: Path) -> None:
    """So a file can be compressed, or the other way, without losing anything."""
    target = tmp_path / "again.jsonl"

    assert "18 events of cluster lab" in good(run("export", str(target)))
    assert good(run("replay", file=str(target))) == good(run("replay"))


def test_verify_confirms_a_sound_history(run: Run) -> None:
    """And prints what to note elsewhere."""
    report = json.loads(good(run("verify", "-o", "json")))

    assert report["problems"] == []
    assert (report["events"], report["through"]) == (18, 18)
    assert report["state_hash"] == state_hash(fold(a_day()))
    assert report["verdicts"] == {"unknown policy": 2}
    assert "the history is sound" in good(run("verify"))


def test_verify_takes_decisions_again(run: Run, tmp_path: Path) -> None:
    """Equal input, equal decision: on every machine, years later."""
    path = str(tmp_path / "decided.jsonl")
    write_file(path, a_decided_day(), cluster="lab")

    assert json.loads(good(run("verify", "-o", "json", file=path)))["verdicts"] == {"equal": 1}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"actor":"user/ann"', '"actor":"user/eve"'),
        ('"checkpoint_step":70', '"checkpoint_step":71'),
        ('"revision":7,', '"revision":5,'),
        ('"cause":"test"', '"cause":"tEst"'),
    ],
)
def test_verify_finds_a_changed_event(run: Run, tmp_path: Path, old: str, new: str) -> None:
    """Whoever changed it, and however little."""
    result = run("verify", file=forged(tmp_path, old, new))

    assert result.exit_code == 4
    assert "PROBLEM: " in result.stdout


def test_verify_finds_a_broken_invariant_where_it_begins(run: Run, tmp_path: Path) -> None:
    """A bug of Dorm's own is told too, once, with the event that it began with."""
    path = tmp_path / "forged.jsonl"
    write_file(str(path), a_day(), cluster="lab")
    text = path.read_text().replace('"cpu_milli":2000', '"cpu_milli":500')
    path.write_text(text)

    report = json.loads(run("verify", "-o", "json", file=str(path)).stdout)

    overfilled = [one for one in report["problems"] if "is overfilled" in one]
    assert [int(one.rsplit(maxsplit=1)[1]) for one in overfilled] == [6, 6, 15]


@pytest.mark.parametrize("command", ["replay", "verify", "tail", "story digits"])
def test_a_corrupt_history_ends_every_command_with_code_4(
    run: Run, tmp_path: Path, command: str
) -> None:
    """An alarm can be set on it."""
    file = forged(tmp_path, '"kind":"app.completed/1"', '"kind":"app.ascended/1"')
    name, *args = command.split()

    result = run(name, *args, file=file)

    assert result.exit_code == 4
    assert "upgrade this one" in result.output
    assert "Traceback" not in result.output


def test_no_etcd_is_code_5() -> None:
    """With the way out."""
    result = CliRunner().invoke(cli, ["tail", "--etcd", "127.0.0.1:1"])

    assert result.exit_code == 5
    assert "Name its members with --etcd" in result.stderr


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_has_help_with_an_example(command: str) -> None:
    """A newcomer learns from examples."""
    result = CliRunner().invoke(cli, [command, "-h"])

    assert f"dorm-events {command}" in good(result)
