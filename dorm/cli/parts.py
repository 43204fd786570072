"""Pieces of command line options: `HOST:PORT`, `NAME=PATH[:ro]`, `K=V`, names."""

import re
from pathlib import PurePosixPath
from typing import Final

from dorm.config import MountSource
from events.errors import Rejected

PORT_MAX: Final = 65_535

_HOST: Final = re.compile(r"[A-Za-z0-9._:-]+", re.ASCII)
_PORT: Final = re.compile(r"[0-9]{1,5}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?", re.ASCII)
_MOUNT: Final = re.compile(r"([a-z0-9][a-z0-9._-]*)=(/[^:]*)(:ro|:rw)?", re.ASCII)
_LABEL: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9./_-]*)=(.*)", re.ASCII)


def name(text: str, *, option: str) -> str:
    """Return a name that may stand in keys, host names and labels.

    Raises:
        Rejected: It may not.
    """
    if not _NAME.fullmatch(text):
        rule = "must be small letters, digits, dots and dashes, at most 63"
        raise Rejected(rule, field=option, value=text, hint="choose a short word, such as n1")
    return text


def host_and_port(text: str, *, option: str) -> tuple[str, int]:
    """Return `HOST:PORT` in its two parts. Port 0 takes any free one.

    Raises:
        Rejected: It has no such form.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or int(port) > PORT_MAX:
        hint = "write 127.0.0.1:7070 or the like"
        raise Rejected("must be HOST:PORT", field=option, value=text, hint=hint)
    return host, int(port)


def endpoints(text: str) -> tuple[str, ...]:
    """Return the members of etcd as `host:port`.

    Raises:
        Rejected: One of them has no such form.
    """
    found = tuple(one.strip().removeprefix("http://") for one in text.split(",") if one.strip())
    if not found:
        raise Rejected("names no member of etcd", field="--etcd", hint="write 127.0.0.1:2379")
    for one in found:
        host_and_port(one, option="--etcd")
    return found


def label(text: str) -> tuple[str, str]:
    """Return `K=V` in its two parts.

    Raises:
        Rejected: It has no such form.
    """
    match = _LABEL.fullmatch(text)
    if match is None:
        raise Rejected("must be K=V", field="--label", value=text, hint="write rack=r1")
    return match[1], match[2]


def mount(text: str) -> tuple[str, MountSource]:
    """Return `NAME=PATH[:ro]` as an entry of the catalogue.

    Raises:
        Rejected: It has no such form.
    """
    match = _MOUNT.fullmatch(text)
    if match is None or ".." in PurePosixPath(match[2]).parts:
        hint = "write data=/srv/data or data=/srv/data:ro, with an absolute path"
        raise Rejected("must be NAME=PATH[:ro]", field="--mount", value=text, hint=hint)
    return match[1], MountSource(path=match[2], read_only=match[3] == ":ro")
