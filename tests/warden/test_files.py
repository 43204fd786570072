"""The files between an agent and its warden: damaged, foreign, old, too long."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dorm.warden import journal, machine, permits, status
from dorm.warden.journal import KEPT_MAX, KEPT_MIN, Journal
from reconcilers.warden import Permit

PERMIT = Permit(tenure="t1", deadline_s=12.5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "tenure": JSON | st.just("t1"),
        "deadline_s": JSON | st.just(10**400),
        "boot_id": JSON | st.just(machine.boot_id()),
    },
)


def row(**changes: object) -> bytes:
    """Return a permit's bytes, with some fields otherwise."""
    sound = {"tenure": "t1", "deadline_s": 12.5, "boot_id": machine.boot_id()}
    return json.dumps(sound | changes).encode()


def test_a_permit_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Agent and warden share nothing else."""
    permits.write(tmp_path / "permit.json", PERMIT)

    assert permits.read(tmp_path / "permit.json") == PERMIT
    assert [path.name for path in tmp_path.iterdir()] == ["permit.json"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"[" * 100_000,
        row(tenure="../t1"),
        row(tenure="t1\n"),
        row(tenure=1),
        row(deadline_s="soon"),
        row(deadline_s=float("nan")),
        row(deadline_s=float("inf")),
        row(deadline_s=10**400),
        row(deadline_s=[1.0]),
        row(boot_id="of another boot"),
        row(boot_id=None),
    ],
)
def test_a_damaged_permit_is_none(tmp_path: Path, raw: bytes) -> None:
    """Freezing costs time; trusting it could cost the guarantee."""
    path = tmp_path / "permit.json"
    path.write_bytes(raw)
    path.chmod(0o600)

    assert permits.read(path) is None


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary() | FIELDS.map(lambda fields: json.dumps(fields).encode()))
def test_reading_a_permit_never_fails(tmp_path: Path, raw: bytes) -> None:
    """A warden that ends over a file guards nothing."""
    path = tmp_path / "permit.json"
    path.write_bytes(raw)
    path.chmod(0o600)

    found = permits.read(path)

    assert found is None or permits.TENURE.fullmatch(found.tenure)


def test_a_permit_that_another_user_can_have_written_is_none(tmp_path: Path) -> None:
    """By its mode, by its owner, or by a link that leads to a file of somebody else."""
    path, other = tmp_path / "permit.json", tmp_path / "other"
    permits.write(path, PERMIT)
    path.chmod(0o620)
    assert permits.read(path) is None

    permits.write(other, PERMIT)
    path.unlink()
    path.symlink_to(other)
    assert permits.read(path) is None

    path.unlink()
    os.mkfifo(path, 0o600)
    assert permits.read(path) is None

    path.unlink()
    permits.write(path, PERMIT)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert permits.read(path) is None


def test_a_half_written_permit_of_a_dead_agent_is_in_nobodys_way(tmp_path: Path) -> None:
    """It died between writing and renaming, perhaps as another user."""
    part = tmp_path / "permit.json.new"
    part.write_bytes(b"{")
    part.chmod(0o666)

    permits.write(tmp_path / "permit.json", PERMIT)

    assert permits.read(tmp_path / "permit.json") == PERMIT


def test_a_journal_is_bounded_and_its_numbers_grow_for_ever(tmp_path: Path) -> None:
    """Also from one warden to the next, so that an agent asks only for what is new to it."""
    path = tmp_path / "warden.journal"
    first = Journal(path)
    for _ in range(3 * KEPT_MIN):
        first.note("froze", tenure="t1", on_disconnect="stop", why="lapsed")
        assert len(path.read_text().splitlines()) <= KEPT_MAX
    Journal(path).note("began")

    numbers = [deed.number for deed in journal.read(path)]
    assert len(numbers) >= KEPT_MIN
    assert numbers == sorted(set(numbers))
    assert [deed.did for deed in journal.read(path, after=numbers[-2])] == ["began"]


def test_a_journal_survives_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """The warden that wrote it was killed in the middle; what came before and after counts."""
    path = tmp_path / "warden.journal"
    Journal(path).note("began")
    with path.open("a") as file:
        file.write('{"number": 99999999999, "at_')

    Journal(path).note("froze", tenure="t1")

    assert [deed.did for deed in journal.read(path)] == ["began", "froze"]


def test_an_unreadable_status_is_none(tmp_path: Path) -> None:
    """Then the warden counts as not alive, and is replaced."""
    for raw in (b"", b"{}", b"[]", b'{"groups": [{}]}', b'{"groups": 7}'):
        (tmp_path / "warden.json").write_bytes(raw)
        (tmp_path / "warden.json").chmod(0o600)
        assert status.read(tmp_path / "warden.json") is None
