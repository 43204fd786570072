"""`dorm doctor`, and what it knows."""

import pytest

from dorm import doctor
from dorm.doctor import Finding
from dorm.ports.etcd import MemberStatus
from tests.api.world import World
from tests.cli.conftest import Dorm


def member(version: str = "3.5.33", *, leader_id: int = 1, db_bytes: int = 1 << 20) -> MemberStatus:
    """A member that answers."""
    return MemberStatus(
        endpoint="e1:2379",
        version=version,
        cluster_id=1,
        member_id=1,
        leader_id=leader_id,
        revision=1,
        db_bytes=db_bytes,
    )


@pytest.mark.parametrize(
    ("version", "count"),
    [
        ((3, 4, 23), 5),
        ((3, 4, 41), 2),
        ((3, 4, 44), 0),
        ((3, 5, 16), 4),
        ((3, 5, 28), 0),
        ((3, 6, 1), 0),
    ],
)
def test_each_version_has_the_defects_that_its_series_had_then(
    version: doctor.Version, count: int
) -> None:
    """Debian 12 has 3.4.23, Debian 13 has 3.5.16."""
    assert count == len(doctor.defects(version))


def test_a_member_is_well_or_silent_or_without_a_leader_or_full() -> None:
    """Each with the way out."""

    def levels(*members: MemberStatus) -> list[str]:
        return [one.level for one in doctor.of_etcd(members, ["e1:2379"])]

    assert ["ok"] == levels(member())
    assert ["error"] == levels()
    assert ["error"] == levels(member(leader_id=0))
    assert ["warning"] == levels(member(db_bytes=doctor.DB_BYTES_WARNING + 1))
    assert ["ok", *5 * ["warning"]] == levels(member("3.4.23"))


def test_a_node_is_asked_for_what_costs_containers() -> None:
    """Docker without live-restore ends every training at its upgrade."""
    bad = {"docker": "20.10", "live-restore": "off", "cgroup": "1"}
    good = {"docker": "28.1", "live-restore": "on", "cgroup": "2"}

    assert 4 == len(list(doctor.of_node("n1", bad, offset_ms=-60_000)))
    assert 1 == len(list(doctor.of_node("n1", good, offset_ms=20)))


def test_only_errors_fail_the_command(dorm: Dorm, world: World) -> None:
    """A script can rest on it."""
    world.found = [Finding(level="warning", subject="etcd 3.4.23", text="old", hint="upgrade")]
    assert 0 == dorm("doctor").exit_code
    world.found.append(Finding(level="error", subject="etcd e2", text="does not answer"))

    assert 1 == dorm("doctor").exit_code
    assert "does not answer" in dorm("doctor").output
