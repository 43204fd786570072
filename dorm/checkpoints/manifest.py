"""The manifest of a kept checkpoint, and what the application says of its own."""

from typing import Annotated, Final

import attrs
import msgspec

from events.codec import from_json, to_json
from events.errors import Corrupt, Rejected

MANIFEST: Final = "manifest.json"
WORD: Final = "checkpoint.json"
PATH_LENGTH_MAX: Final = 1024
DEPTH_MAX: Final = 32
ENTRIES_MAX: Final = 50_000
MANIFEST_BYTES_MAX: Final = 64 << 20
WORD_BYTES_MAX: Final = 8 << 20
_STEP_MAX: Final = (1 << 53) - 1


@attrs.frozen(kw_only=True)
class FileEntry:
    """One regular file. `path` is relative, with slashes."""

    path: str
    size_bytes: int
    sha256: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int


@attrs.frozen(kw_only=True)
class DirectoryEntry:
    """One directory below the top."""

    path: str
    mode: int
    uid: int
    gid: int


@attrs.frozen(kw_only=True)
class LinkEntry:
    """One symbolic link. Nobody but the application ever follows it."""

    path: str
    target: str


@attrs.frozen(kw_only=True)
class Manifest:
    """What a kept checkpoint consists of. Its sha256 is in the log."""

    app_id: str
    generation: int
    step: int
    files: tuple[FileEntry, ...]
    directories: tuple[DirectoryEntry, ...] = ()
    links: tuple[LinkEntry, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Return the size of all files together."""
        return sum(entry.size_bytes for entry in self.files)


class Word(msgspec.Struct, frozen=True):
    """The content of `checkpoint.json`: which step is complete, and which files belong to it.

    Without `files`, all of them do. Names may come with the sha256 that each file must have.
    """

    step: Annotated[int, msgspec.Meta(ge=0, le=_STEP_MAX)]
    files: list[str] | dict[str, str] | None = None

    @property
    def hashes(self) -> dict[str, str]:
        """Return the sha256 of those files of which the application told it."""
        return self.files if isinstance(self.files, dict) else {}


def write(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest, the same for equal ones."""
    return to_json(manifest)


def read(raw: bytes) -> Manifest:
    """Return the manifest that `write` wrote.

    Raises:
        Corrupt: These bytes are no manifest, or one that leads out of its directory.
    """
    manifest = from_json(raw, Manifest)
    paths = [entry.path for entry in manifest.files]
    paths += [entry.path for entry in manifest.directories]
    paths += [entry.path for entry in manifest.links]
    if len(paths) > ENTRIES_MAX:
        raise Corrupt(f"a manifest has {len(paths)} entries, {ENTRIES_MAX} at most")
    if len(set(paths)) < len(paths):
        raise Corrupt("a manifest names a path twice")
    try:
        for path in paths:
            check_path(path)
    except Rejected as error:
        raise Corrupt(f"a manifest has a path that {error.rule}") from error
    return manifest


def read_word(raw: bytes) -> Word:
    """Return what the application says.

    Raises:
        Corrupt: It is nothing that can be understood.
    """
    return from_json(raw, Word)


def check_path(path: str) -> None:
    """Check a relative path.

    Raises:
        Rejected: It is none, or leads out of its directory, or is too long.
    """
    parts = path.split("/")
    rule = ""
    if not all(parts) or any(part in (".", "..") for part in parts) or "\0" in path:
        rule = "is not the plain relative path of a file"
    elif len(path) > PATH_LENGTH_MAX or len(parts) > DEPTH_MAX:
        rule = f"is longer than {PATH_LENGTH_MAX} characters, or deeper than {DEPTH_MAX}"
    elif not _is_text(path):
        rule = "is not UTF-8"
    if rule:
        shown = ascii(path[:80])[1:-1]
        hint = f"rename the file, or list the files that count in {WORD}"
        raise Rejected(rule, field="checkpoint", value=shown, hint=hint)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # A byte that is no UTF-8 stands in a name as half of a pair.
        return False
    return True
