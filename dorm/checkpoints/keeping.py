"""A checkpoint of a running or ended generation, set apart.

It is copied into a scratch directory, compared with the source once more, and gets its name in one
step; its manifest is the last file in it. So a crash at any point leaves a scratch directory, which
the next try removes, or a whole checkpoint, which the next try finds.

A copy and no hard links: programs save again and again under one name, and a link would be to the
very content that is being overwritten.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from secrets import token_hex
from typing import Final

from dorm.checkpoints import manifest, tree
from dorm.checkpoints.copying import GoOn, Unreadable, copy
from dorm.checkpoints.manifest import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    WORD,
    WORD_BYTES_MAX,
    DirectoryEntry,
    FileEntry,
    LinkEntry,
    Manifest,
    Word,
)
from dorm.checkpoints.tree import Entry
from dorm.files import enter
from dorm.ports.checkpoints import Kept, Place
from events.codec import digest
from events.errors import Corrupt, Rejected, Unavailable

SAVED: Final = "saved"
FILES: Final = "files"
SCRATCH: Final = ".new-"
_NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def name_of(generation: int, step: int) -> str:
    """Return the name of a kept checkpoint."""
    return f"g{generation}-s{step}"


def keep(place: Place, generation: int, *, unsaid: bool, go_on: GoOn) -> Kept | None:
    """See `Checkpoints.keep`.

    Raises:
        Rejected, Unavailable, OSError: Nothing is kept.
    """
    with tree.home(place) as home, _work(home, generation) as work:
        raw = word_in(work) if work is not None else b""
        if work is None or (raw is None and not (unsaid and _has_files(work))):
            return None
        try:
            word = Word(step=0) if raw is None else manifest.read_word(raw)
        except Corrupt:
            return None
        name = name_of(generation, word.step)
        saved = enter(home, SAVED, place.home)
        try:
            return found(saved, name) or _Copy(
                place, generation, word, raw=raw, work=work, saved=saved, go_on=go_on
            ).make(name)
        finally:
            os.close(saved)


def word_in(work: int) -> bytes | None:
    """Return what the application says of its newest checkpoint; None when it says nothing."""
    try:
        return tree.read_file(work, WORD, bytes_max=WORD_BYTES_MAX)
    except FileNotFoundError:
        return None
    except OSError:
        return b""  # A link, a pipe, or something huge: no word that can be understood.


def found(saved: int, name: str) -> Kept | None:
    """Return the checkpoint of that name, if it is kept already."""
    try:
        with tree.opened(saved, name) as there:
            raw = tree.read_file(there, MANIFEST, bytes_max=MANIFEST_BYTES_MAX)
        return _kept(manifest.read(raw), raw)
    except (FileNotFoundError, Corrupt):
        return None


def _has_files(work: int) -> bool:
    return any(stat.S_ISREG(entry.status.st_mode) for entry in tree.walk(work))


@contextlib.contextmanager
def _work(home: int, generation: int) -> Iterator[int | None]:
    """Yield the directory of a generation, or None when there is none."""
    with contextlib.ExitStack() as stack:
        try:
            work = stack.enter_context(tree.opened(home, f"g{generation}"))
        except FileNotFoundError:
            work = None
        yield work


def _kept(content: Manifest, raw: bytes) -> Kept:
    return Kept(
        step=content.step,
        manifest_sha256=digest(raw),
        size_bytes=content.size_bytes,
        file_count=len(content.files),
    )


class _Copy:
    """One try to set a checkpoint apart."""

    def __init__(  # noqa: PLR0913 - what a copy is made of
        self,
        place: Place,
        generation: int,
        word: Word,
        *,
        raw: bytes | None,
        work: int,
        saved: int,
        go_on: GoOn,
    ) -> None:
        self._place, self._generation, self._word = place, generation, word
        self._raw, self._work, self._saved, self._go_on = raw, work, saved, go_on
        self._files: list[FileEntry] = []
        self._directories: list[DirectoryEntry] = []
        self._links: list[LinkEntry] = []

    def make(self, name: str) -> Kept:
        """Make the copy under that name.

        Raises:
            Unavailable: The files changed meanwhile, or the disk is full.
            Rejected: The application lists files that are not there or have other content.
        """
        start = f"{SCRATCH}g{self._generation}-"
        for old in tree.names(self._saved):
            if old.startswith(start):  # Of a try that was cut short: only we keep this generation.
                tree.remove_quietly(self._saved, old)
        scratch = f"{start}{token_hex(4)}"
        os.mkdir(scratch, 0o755, dir_fd=self._saved)
        try:
            with tree.opened(self._saved, scratch) as number:
                raw = self._fill(number)
            if not tree.rename_new(self._saved, scratch, name):
                # Something damaged has the name: another content must not take its place.
                raise Rejected("is there already, and damaged", field="checkpoint", value=name)
        finally:
            tree.remove_quietly(self._saved, scratch)
        return _kept(manifest.read(raw), raw)

    def _fill(self, scratch: int) -> bytes:
        os.mkdir(FILES, 0o755, dir_fd=scratch)
        with tree.opened(scratch, FILES) as target:
            before = self._select()
            for entry in before.values():
                self._take(entry, target)
            if self._marks(before) != self._marks(self._select()):
                raise Unavailable("the checkpoint changed while it was copied")
            self._check_hashes()
            for directory in self._directories:
                with tree.opened(target, directory.path) as number:
                    os.fsync(number)
            os.fsync(target)
        content = Manifest(
            app_id=self._place.app_id,
            generation=self._generation,
            step=self._word.step,
            files=tuple(self._files),
            directories=tuple(self._directories),
            links=tuple(self._links),
        )
        raw = manifest.write(content)
        tree.write_file(scratch, MANIFEST, raw)
        os.fsync(scratch)
        return raw

    def _select(self) -> dict[str, Entry]:
        """Return what belongs to the checkpoint, by path."""
        found = {entry.path: entry for entry in tree.walk(self._work)}
        if self._word.files is None:
            return found
        wanted = {*self._word.files, WORD}
        for path in sorted(wanted - found.keys()):
            raise Rejected(
                "is listed but is not there",
                field=WORD,
                value=ascii(path[:80])[1:-1],
                hint=f"write {WORD} last, after the files that it lists",
            )
        above = {path[:at] for path in wanted for at in range(len(path)) if path[at] == "/"}
        return {path: entry for path, entry in found.items() if path in wanted | above}

    def _marks(self, selected: dict[str, Entry]) -> dict[str, tuple[int, ...]]:
        """Return what must stay the same meanwhile.

        Of a list, the word itself need not: the application may speak of the next one already.
        """
        listed = self._word.files is not None
        return {
            path: entry.mark for path, entry in selected.items() if not (listed and path == WORD)
        }

    def _take(self, entry: Entry, target: int) -> None:
        status, path = entry.status, entry.path
        mode = stat.S_IMODE(status.st_mode) & 0o777
        owner = {"uid": status.st_uid, "gid": status.st_gid}
        above, _, name = path.rpartition("/")
        if stat.S_ISDIR(status.st_mode):
            with tree.opened(target, above) as parent:
                os.mkdir(name, 0o755, dir_fd=parent)
            self._directories.append(DirectoryEntry(path=path, mode=mode, **owner))
            return
        try:
            with tree.opened(self._work, above) as source:
                if path == WORD and self._raw is not None:
                    tree.write_file(target, WORD, self._raw)
                    size, sha256 = len(self._raw), digest(self._raw)
                elif stat.S_ISLNK(status.st_mode):
                    link = os.readlink(name, dir_fd=source)
                    self._links.append(LinkEntry(path=path, target=link))
                    return
                else:
                    size, sha256 = self._copy_file(source, target, path)
        except (FileNotFoundError, NotADirectoryError, Unreadable) as error:
            raise Unavailable(f"{path} changed while it was copied: {error}") from error
        if size != status.st_size and path != WORD:
            raise Unavailable(f"{path} changed while it was copied")
        self._files.append(
            FileEntry(
                path=path,
                size_bytes=size,
                sha256=sha256,
                mode=mode,
                mtime_ns=status.st_mtime_ns,
                **owner,
            )
        )

    def _copy_file(self, source: int, target: int, path: str) -> tuple[int, str]:
        above, _, name = path.rpartition("/")
        with tree.opened(target, above) as parent:
            new = os.open(name, _NEW_FILE, 0o444, dir_fd=parent)
        try:
            old = tree.open_file(source, name)
            try:
                return copy(old, new, self._go_on)
            finally:
                os.close(old)
        finally:
            os.close(new)

    def _check_hashes(self) -> None:
        for entry in self._files:
            said = self._word.hashes.get(entry.path, entry.sha256)
            if said.lower() != entry.sha256:
                raise Rejected(
                    f"has sha256 {entry.sha256}, and not the one that {WORD} says",
                    field=WORD,
                    value=entry.path,
                )
