"""Exported histories: nothing is lost on the way, and nothing is believed that was damaged."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given

from dorm.history.files import cluster_of, read_file, write_file
from events.codec import encode
from events.errors import Corrupt, NotFound, Rejected
from events.recorded import Recorded
from tests.histories import histories
from tests.history.days import a_day

NAMES = ("day.jsonl", "day.jsonl.zst")


@pytest.mark.parametrize("name", NAMES)
def test_a_history_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    """Positions, stamps and the stored bytes too, or the audit chain would break."""
    path = str(tmp_path / name)

    count = write_file(path, a_day(), cluster="lab")

    assert count == len(a_day())
    assert tuple(read_file(path)) == a_day()
    assert [encode(one) for one in read_file(path)] == [encode(one) for one in a_day()]
    assert cluster_of(path) == "lab"


@given(histories(max_size=8))
def test_any_history_comes_back(
    tmp_path_factory: pytest.TempPathFactory, history: tuple[Recorded, ...]
) -> None:
    """Whatever users put into names and reasons."""
    path = str(tmp_path_factory.getbasetemp() / "any.jsonl")

    write_file(path, history, cluster="lab")

    assert tuple(read_file(path)) == history


@pytest.mark.parametrize("name", NAMES)
def test_equal_histories_are_equal_files(tmp_path: Path, name: str) -> None:
    """Two auditors compare checksums."""
    first, second = tmp_path / f"1{name}", tmp_path / f"2{name}"

    write_file(str(first), a_day(), cluster="lab")
    write_file(str(second), a_day(), cluster="lab")

    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_cut_off_anywhere_is_noticed(tmp_path: Path, name: str) -> None:
    """Disks fill up while files are copied; a shorter history would be another history."""
    path = tmp_path / name
    write_file(str(path), a_day()[:3], cluster="lab")
    whole = path.read_bytes()

    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(Corrupt):
            tuple(read_file(str(path)))


def test_a_file_without_one_of_its_lines_is_noticed(tmp_path: Path) -> None:
    """Whichever it is."""
    path = tmp_path / "day.jsonl"
    write_file(str(path), a_day()[:4], cluster="lab")
    lines = path.read_bytes().splitlines(keepends=True)

    for index in range(len(lines)):
        path.write_bytes(b"".join(lines[:index] + lines[index + 1 :]))
        with pytest.raises(Corrupt):
            tuple(read_file(str(path)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no exported history"),
        (b"nonsense\n", "no exported history"),
        (b'{"format":"dorm-events/2","cluster":"lab"}\n', "upgrade this one"),
        (b'{"format":"dorm-events/1","cluster":"lab"}\n{"event":{},"x":1}\n', "cannot decode"),
        (
            b'{"format":"dorm-events/1","cluster":"lab"}\n{"events":0,"through":0}\nmore\n',
            "more behind the last line",
        ),
    ],
)
def test_what_is_no_history_is_told(tmp_path: Path, content: bytes, words: str) -> None:
    """A wrong file name is the usual cause."""
    path = tmp_path / "day.jsonl"
    path.write_bytes(content)

    with pytest.raises(Corrupt, match=words):
        tuple(read_file(str(path)))


def test_damaged_compression_is_told(tmp_path: Path) -> None:
    """In our words, not the library's."""
    path = tmp_path / "day.jsonl.zst"
    path.write_bytes(zstandard.compress(b"x" * 99)[:-9] + b"damaged!!")

    with pytest.raises(Corrupt):
        tuple(read_file(str(path)))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(NotFound, match=r"no\.jsonl"):
        tuple(read_file(str(tmp_path / "no.jsonl")))


def test_an_export_that_fails_leaves_the_file_before_it(tmp_path: Path) -> None:
    """A backup must not be lost to the attempt to make a better one."""
    path = tmp_path / "day.jsonl"
    write_file(str(path), a_day(), cluster="lab")
    before = path.read_bytes()

    def breaking() -> Iterator[Recorded]:
        yield from a_day()[:2]
        raise Corrupt("the rest cannot be read")

    with pytest.raises(Corrupt):
        write_file(str(path), breaking(), cluster="lab")

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(Rejected, match="No such file or directory"):
        write_file(str(tmp_path / "no" / "day.jsonl"), a_day(), cluster="lab")


def test_a_device_never_becomes_a_file(tmp_path: Path) -> None:
    """As root, an export to /dev/null would take it away from everybody."""
    device = tmp_path / "device"
    os.mkfifo(device)

    with pytest.raises(Rejected, match="is a directory or a device"):
        write_file(str(device), a_day(), cluster="lab")

    assert device.is_fifo()


def test_each_event_is_a_line_that_other_tools_can_read(tmp_path: Path) -> None:
    """Most people will look at it with jq."""
    path = tmp_path / "day.jsonl"
    write_file(str(path), a_day()[:1], cluster="lab")

    header, line, end = map(json.loads, path.read_text().splitlines())

    assert header == {"format": "dorm-events/1", "cluster": "lab"}
    assert (line["revision"], line["segment"]) == (1, 0)
    assert line["event"]["kind"] == "leader.elected/1"
    assert end == {"events": 1, "through": 1}
