"""Which etcd is fit for use, and which one is taken when a machine has several."""

from pathlib import Path

import pytest

from dorm.local.binaries import find_etcd, judge, read_version
from events.errors import Rejected
from tests.local.programs import etcd_of, program


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose PATH and `.local` are empty directories."""
    monkeypatch.delenv("DORM_ETCD_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DORM_LOCAL_DIR", str(tmp_path / "local"))
    return tmp_path


@pytest.mark.parametrize(
    ("version", "members"),
    [
        ((3, 4, 21), 1),
        ((3, 3, 25), 1),
        ((2, 9, 99), 1),
        ((3, 5, 0), 3),
        ((3, 5, 1), 3),
        ((3, 5, 2), 2),
    ],
)
def test_an_etcd_that_can_lose_data_is_refused(version: tuple[int, int, int], members: int) -> None:
    """Dorm's history is only as sound as the etcd that it lies in."""
    with pytest.raises(Rejected, match=r"(?s)etcd \d.*install etcd 3\.5\.13 or newer"):
        judge(version, members=members)


@pytest.mark.parametrize(
    ("version", "members", "note"),
    [
        ((3, 4, 22), 3, "has defects"),
        ((3, 4, 30), 3, "has defects"),
        ((3, 4, 31), 3, ""),
        ((3, 5, 1), 1, "for development only"),
        ((3, 5, 3), 3, "has defects"),
        ((3, 5, 13), 3, ""),
        ((3, 6, 0), 3, ""),
    ],
)
def test_a_usable_etcd_is_judged_in_words(
    version: tuple[int, int, int], members: int, note: str
) -> None:
    """A user who only tries Dorm is told what would be wrong in production."""
    words = judge(version, members=members)

    assert note in words
    assert bool(note) == bool(words)


def test_the_named_etcd_wins_over_the_one_on_path(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator who names a binary gets that one."""
    etcd_of(machine / "bin/etcd", "3.5.16")
    named = etcd_of(machine / "mine", "3.5.21")
    monkeypatch.setenv("DORM_ETCD_BIN", str(named))

    assert find_etcd().path == named


def test_a_named_etcd_that_is_too_old_is_not_replaced_in_silence(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another etcd than the named one would surprise whoever named it."""
    etcd_of(machine / "bin/etcd", "3.5.16")
    monkeypatch.setenv("DORM_ETCD_BIN", str(etcd_of(machine / "mine", "3.3.25")))

    with pytest.raises(Rejected, match=r"3\.3\.25 is older than 3\.4\.22"):
        find_etcd()


def test_an_old_etcd_on_path_is_passed_over(machine: Path) -> None:
    """Ubuntu 22.04 has 3.3 on PATH; the one fetched by set-up is taken all the same."""
    etcd_of(machine / "bin/etcd", "3.3.25")
    fetched = etcd_of(machine / "local/etcd/usr/bin/etcd", "3.4.23")

    found = find_etcd(members=3)

    assert (found.path, found.version) == (fetched, (3, 4, 23))


def test_the_wheel_serves_one_member_and_no_more(machine: Path) -> None:
    """PyPI's newest etcd is of the releases that damage a cluster."""
    wheel = etcd_of(machine / "local/etcd-wheel/etcd", "3.5.1")

    assert find_etcd(members=1).path == wheel
    with pytest.raises(Rejected, match="not with 3 members"):
        find_etcd(members=3)


@pytest.mark.usefixtures("machine")
def test_a_machine_without_etcd_is_told_the_way_out() -> None:
    """The message is all that a user of another system gets, so it must be enough."""
    with pytest.raises(Rejected, match="DORM_ETCD_BIN=/path/to/etcd"):
        find_etcd()


@pytest.mark.parametrize("body", ["echo hello", "exit 3", "echo 'etcd Version: new'"])
def test_a_program_that_is_no_etcd_is_refused(tmp_path: Path, body: str) -> None:
    """`etcd` on PATH may be a wrapper, or for another processor."""
    with pytest.raises(Rejected, match="etcd"):
        read_version(program(tmp_path / "etcd", body))


def test_a_binary_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A typing error in DORM_ETCD_BIN."""
    with pytest.raises(Rejected, match="No such file"):
        read_version(tmp_path / "nowhere")
