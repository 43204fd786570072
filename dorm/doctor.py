"""What is known to be wrong with the versions and settings that a cluster runs on. Pure.

Sources: etcd's change logs (CHANGELOG-3.4.md, CHANGELOG-3.5.md) and the issues named below; what
was measured stands in docs/operations.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import attrs

from dorm.ports.etcd import MemberStatus

Version = tuple[int, int, int]
Level = Literal["ok", "warning", "error"]

DB_BYTES_WARNING: Final = 3 << 30  # of the 4 GiB that Dorm starts etcd with
OFFSET_MS_WARNING: Final = 5_000


@attrs.frozen(kw_only=True)
class Finding:
    """One line of the doctor. `hint` is the way out, empty when all is well."""

    level: Level
    subject: str
    text: str
    hint: str = ""


@attrs.frozen(kw_only=True)
class Defect:
    """A defect of etcd, and the first release of each series without it."""

    text: str
    fixed: tuple[Version, ...]


DEFECTS: Final = (
    Defect(
        text="may revoke a lease that is kept alive when a new leader takes over (etcd 15247); "
        "Dorm registers again, so nothing restarts",
        fixed=((3, 4, 31), (3, 5, 13)),
    ),
    Defect(
        text="may lose events of a watch that compaction overtakes (etcd 17529, 18089, 19179); "
        "Dorm lists and compares every 30 s",
        fixed=((3, 4, 31), (3, 5, 18)),
    ),
    Defect(
        text="may renew a lease that is revoked (etcd 20590); Dorm looks at the key itself",
        fixed=((3, 4, 38), (3, 5, 23)),
    ),
    Defect(
        text="may answer a read from the past after its process was paused (etcd 20418); Dorm "
        "decides by guarded writes",
        fixed=((3, 4, 42), (3, 5, 28)),
    ),
    Defect(
        text="lets a user of its role-based access write keys of others (CVE-2026-33343, "
        "CVE-2026-33413): give tenants no access to etcd at all",
        fixed=((3, 4, 44), (3, 5, 28)),
    ),
)


def version_of(text: str) -> Version | None:
    """Return the numbers of a version such as `3.4.23`; None when there are none."""
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def defects(version: Version) -> tuple[str, ...]:
    """Return what is known to be wrong with this etcd; nothing is known of newer series."""
    return tuple(
        f"{defect.text} [repaired in {_text(first)}]"
        for defect in DEFECTS
        for first in defect.fixed
        if version[:2] == first[:2] and version < first
    )


def of_etcd(members: Iterable[MemberStatus], endpoints: Iterable[str]) -> Iterator[Finding]:
    """Yield what is to be said about etcd."""
    answering = {one.endpoint: one for one in members}
    for endpoint in endpoints:
        member = answering.get(endpoint)
        if member is None:
            text = "does not answer"
            yield Finding(level="error", subject=f"etcd {endpoint}", text=text, hint="start it")
            continue
        text = f"{member.version}, {member.db_bytes >> 20} MiB"
        if not member.leader_id:
            hint = "a majority of the members must run and reach each other"
            text = f"{text}, sees no leader"
            yield Finding(level="error", subject=f"etcd {endpoint}", text=text, hint=hint)
        elif member.db_bytes > DB_BYTES_WARNING:
            hint = "see dorm admin -h for making room"
            yield Finding(level="warning", subject=f"etcd {endpoint}", text=text, hint=hint)
        else:
            leads = ", leads" if member.leader_id == member.member_id else ""
            yield Finding(level="ok", subject=f"etcd {endpoint}", text=f"{text}{leads}")
    for text in sorted({one.version for one in answering.values()}):
        version = version_of(text)
        for defect in defects(version) if version else ():
            hint = "for production use the newest release of the series"
            yield Finding(level="warning", subject=f"etcd {text}", text=defect, hint=hint)


def of_node(
    node_id: str, versions: Mapping[str, str], *, offset_ms: int | None
) -> Iterator[Finding]:
    """Yield what is to be said about one machine, from what its agent reported."""
    subject = f"node {node_id}"
    known = ", ".join(f"{key} {value}" for key, value in sorted(versions.items()))
    yield Finding(level="ok", subject=subject, text=known or "has not described itself yet")
    if versions.get("live-restore") == "off":
        yield Finding(
            level="warning",
            subject=subject,
            text="Docker stops every container when its daemon is restarted",
            hint='put {"live-restore": true} into /etc/docker/daemon.json and reload the daemon',
        )
    if versions.get("cgroup") == "1":
        yield Finding(
            level="warning",
            subject=subject,
            text="has control groups of version 1, which cannot freeze as a whole reliably",
            hint="boot with systemd.unified_cgroup_hierarchy=1",
        )
    if offset_ms is not None and abs(offset_ms) > OFFSET_MS_WARNING:
        yield Finding(
            level="warning",
            subject=subject,
            text=f"its clock is {offset_ms / 1000:+.1f} s off this master's; nothing is decided by "
            "it, but times in the log are read by people",
            hint="run a time service there",
        )


def _text(version: Version) -> str:
    return ".".join(map(str, version))
