"""The directory of a new generation: a copy of a kept checkpoint, checked byte by byte.

It is made beside its place and renamed in one step, so it is there whole or not at all. Several
nodes may try at once: the first rename counts, and the others throw their copies away.
"""

import contextlib
import errno
import os
import stat
from secrets import token_hex
from typing import Final

from dorm.checkpoints import manifest, tree
from dorm.checkpoints.copying import GoOn, Unreadable, copy
from dorm.checkpoints.keeping import FILES, SAVED, SCRATCH, name_of
from dorm.checkpoints.manifest import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    DirectoryEntry,
    FileEntry,
    Manifest,
)
from dorm.ports.checkpoints import Place
from events.codec import digest
from events.errors import Corrupt, Rejected
from reconcilers.documents import Seed

FOR_ALL: Final = 0o777  # containers run as any user
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Damaged(Exception):
    """A kept checkpoint is not what it was. The message says which part, for people."""


def is_ready(place: Place, generation: int) -> bool:
    """See `Checkpoints.is_ready`."""
    with tree.home(place) as home:
        return _is_there(home, place, generation)


def seed(place: Place, generation: int, kept: Seed | None, *, node_id: str, go_on: GoOn) -> str:
    """See `Checkpoints.seed`.

    Raises:
        Rejected, Unavailable, OSError: Nothing was made.
    """
    with tree.home(place) as home:
        if _is_there(home, place, generation):
            return ""
        if kept is None:
            _make_empty(home, f"g{generation}")
            return ""
        try:
            _make_copy(home, generation, kept, node_id=node_id, go_on=go_on)
        except Damaged as damage:
            return str(damage)
        return ""


def _is_there(home: int, place: Place, generation: int) -> bool:
    name = f"g{generation}"
    if not tree.exists(home, name):
        return False
    try:
        with tree.opened(home, name) as number:
            if stat.S_IMODE(os.fstat(number).st_mode) != FOR_ALL:
                os.fchmod(number, FOR_ALL)  # Its maker may have died before it did.
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise Rejected(
            "has a file or a symbolic link in the way",
            field="path",
            value=place.work_dir(generation),
            hint="move it away",
        ) from error
    return True


def _make_empty(home: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=home)
    with tree.opened(home, name) as number:
        os.fchmod(number, FOR_ALL)
    os.fsync(home)


def _make_copy(home: int, generation: int, kept: Seed, *, node_id: str, go_on: GoOn) -> None:
    start = f"{SCRATCH}g{generation}-{node_id}-"
    for old in tree.names(home):
        if old.startswith(start):  # Of a try of this node that was cut short.
            tree.remove_quietly(home, old)
    with contextlib.ExitStack() as stack:
        name = name_of(*kept.position)
        try:
            source = stack.enter_context(tree.opened(home, f"{SAVED}/{name}"))
            content = _manifest(source, kept)
            files = stack.enter_context(tree.opened(source, FILES))
        except (FileNotFoundError, NotADirectoryError) as error:
            hint = "is the storage of this mount the same on all nodes?"
            raise Damaged(f"{name} is not there, or not all of it: {hint}") from error
        scratch = f"{start}{token_hex(4)}"
        os.mkdir(scratch, 0o755, dir_fd=home)
        try:
            with tree.opened(home, scratch) as number:
                _fill(files, number, content, go_on)
            tree.rename_new(home, scratch, f"g{generation}")
        finally:
            tree.remove_quietly(home, scratch)


def _manifest(source: int, kept: Seed) -> Manifest:
    raw = tree.read_file(source, MANIFEST, bytes_max=MANIFEST_BYTES_MAX)
    if digest(raw) != kept.manifest_sha256:
        raise Damaged(f"{MANIFEST} has other content than the log says")
    try:
        return manifest.read(raw)
    except Corrupt as error:
        raise Damaged(f"{MANIFEST} cannot be read: {error}") from error


def _fill(files: int, target: int, content: Manifest, go_on: GoOn) -> None:
    for directory in content.directories:
        above, _, name = directory.path.rpartition("/")
        with tree.opened(target, above) as parent:
            os.mkdir(name, 0o755, dir_fd=parent)
    for file in content.files:
        _copy_file(files, target, file, go_on)
    for link in content.links:
        above, _, name = link.path.rpartition("/")
        with tree.opened(target, above) as parent:
            os.symlink(link.target, name, dir_fd=parent)
    for directory in reversed(content.directories):  # Children first: a mode may lock us out.
        with tree.opened(target, directory.path) as number:
            _give(number, directory)
            os.fsync(number)
    os.fchmod(target, FOR_ALL)
    os.fsync(target)


def _copy_file(files: int, target: int, file: FileEntry, go_on: GoOn) -> None:
    above, _, name = file.path.rpartition("/")
    try:
        with tree.opened(files, above) as parent:
            old = tree.open_file(parent, name)
    except OSError as error:
        raise Damaged(f"{file.path} cannot be opened: {error.strerror}") from error
    try:
        size = os.fstat(old).st_size
        if size != file.size_bytes:
            raise Damaged(f"{file.path} has {size} bytes instead of {file.size_bytes}")
        with tree.opened(target, above) as parent:
            new = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
        try:
            _, sha256 = copy(old, new, go_on)
            if sha256 != file.sha256:
                raise Damaged(f"{file.path} has other content than its manifest says")
            _give(new, file)
            os.utime(new, ns=(file.mtime_ns, file.mtime_ns))
        finally:
            os.close(new)
    except Unreadable as error:
        raise Damaged(f"{file.path} cannot be read: {error}") from error
    finally:
        os.close(old)


def _give(number: int, entry: FileEntry | DirectoryEntry) -> None:
    """Give a copy the owner and mode of what was saved, as far as this process may."""
    with contextlib.suppress(PermissionError):
        os.fchown(number, entry.uid, entry.gid)
    os.fchmod(number, entry.mode)
