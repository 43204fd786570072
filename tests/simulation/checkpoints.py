"""Checkpoints on the storage that simulated machines share.

The layout and the manifests are the real ones. A rename is one step here too; everything before it
takes time, in which the process may die and containers may write.
"""

import asyncio
from pathlib import PurePosixPath
from typing import Final

from dorm.checkpoints import manifest
from dorm.checkpoints.keeping import name_of
from dorm.checkpoints.manifest import MANIFEST, WORD, FileEntry, Manifest, Word
from dorm.ports.checkpoints import Kept, Place
from events.codec import digest
from events.errors import Corrupt, Rejected, Unavailable
from reconcilers.documents import Seed
from tests.simulation.files import Disk
from tests.simulation.process import Process

COPY_S: Final = (0.001, 0.4)
LONG_COPY_S: Final = (1.0, 12.0)  # longer than an agent waits before it looks again
LONG: Final = 0.1


class SimCheckpoints:
    """A `Checkpoints` for one process."""

    def __init__(self, disk: Disk, process: Process) -> None:
        """Give `process` what is on `disk`."""
        self._disk, self._process = disk, process

    async def is_ready(self, place: Place, generation: int) -> bool:
        """See `Checkpoints`."""
        await self._process.gate()
        return self._is_there(place, generation)

    async def seed(self, place: Place, generation: int, seed: Seed | None) -> str:
        """See `Checkpoints`."""
        await self._process.gate()
        if self._is_there(place, generation):
            return ""
        files: dict[str, bytes] = {}
        if seed is not None:
            found = self._verified(place, seed)
            if isinstance(found, str):
                return found
            files = found
            await self._copy()
        await self.made(place, generation, files)
        return ""

    async def made(self, place: Place, generation: int, files: dict[str, bytes]) -> None:
        """Give the copy its name, unless another node was first."""
        if not self._is_there(place, generation):
            work = place.work_dir(generation)
            tree = self._disk.tree(work)
            tree[f"{work}/"] = b""
            tree.update({f"{work}/{path}": content for path, content in files.items()})
        await self._process.gate()

    async def written_step(self, place: Place, generation: int) -> int | None:
        """See `Checkpoints`."""
        await self._process.gate()
        word = self._word(place, generation)
        return word.step if word else None

    async def keep(self, place: Place, generation: int, *, unsaid: bool = False) -> Kept | None:
        """See `Checkpoints`."""
        await self._process.gate()
        before = self._below(place.work_dir(generation))
        word = self._word(place, generation)
        if word is None and unsaid and WORD not in before and before:
            word = Word(step=0)
        if word is None:
            return None
        if word.files is not None:
            missing = sorted(set(word.files) - before.keys())
            if missing:
                raise Rejected("is listed but is not there", field=WORD, value=missing[0])
            before = {path: before[path] for path in (WORD, *sorted(word.files))}
        home = f"{place.home}/saved/{name_of(generation, word.step)}"
        kept = self._kept(home)
        if kept is None:
            await self._copy()
            now = self._below(place.work_dir(generation))
            listed = {WORD} if word.files is not None else set()
            if any(now.get(path) != before[path] for path in before.keys() - listed):
                raise Unavailable("the checkpoint changed while it was copied")
            raw = manifest.write(_manifest(place, generation, word.step, before))
            tree = self._disk.tree(home)
            tree.update({f"{home}/files/{path}": content for path, content in before.items()})
            tree[f"{home}/{MANIFEST}"] = raw
            kept = self._kept(home)
        await self._process.gate()
        return kept

    async def prune(self, place: Place, generation: int, oldest_kept: tuple[int, int]) -> None:
        """See `Checkpoints`."""
        await self._process.gate()
        tree = self._disk.tree(place.home)
        for path in [path for path in tree if path.startswith(f"{place.home}/")]:
            parts = path.removeprefix(f"{place.home}/").split("/")
            if parts[0] == "saved":
                number, step = (int(part[1:]) for part in parts[1].split("-"))
                gone = (number, step) < oldest_kept
            else:
                gone = int(parts[0][1:]) < generation
            if gone:
                del tree[path]
        await self._process.gate()

    def _is_there(self, place: Place, generation: int) -> bool:
        work = place.work_dir(generation)
        return f"{work}/" in self._disk.tree(work)

    def _below(self, directory: str) -> dict[str, bytes]:
        tree = self._disk.tree(directory)
        return {
            str(PurePosixPath(path).relative_to(directory)): content
            for path, content in sorted(tree.items())
            if path.startswith(f"{directory}/") and path != f"{directory}/"
        }

    def _word(self, place: Place, generation: int) -> Word | None:
        raw = self._below(place.work_dir(generation)).get(WORD)
        try:
            return manifest.read_word(raw) if raw else None
        except Corrupt:
            return None

    def _kept(self, home: str) -> Kept | None:
        raw = self._disk.tree(home).get(f"{home}/{MANIFEST}")
        if raw is None:
            return None
        found = manifest.read(raw)
        return Kept(
            step=found.step,
            manifest_sha256=digest(raw),
            size_bytes=found.size_bytes,
            file_count=len(found.files),
        )

    def _verified(self, place: Place, seed: Seed) -> dict[str, bytes] | str:
        """Return the files of a kept checkpoint, or what is damaged."""
        home = f"{place.home}/saved/{name_of(*seed.position)}"
        raw = self._disk.tree(home).get(f"{home}/{MANIFEST}")
        if raw is None or digest(raw) != seed.manifest_sha256:
            return f"{MANIFEST} is not the one that the log names"
        there = self._below(f"{home}/files")
        files = {}
        for entry in manifest.read(raw).files:
            content = there.get(entry.path)
            if content is None or digest(content) != entry.sha256:
                return f"{entry.path} has other content than its manifest says"
            files[entry.path] = content
        return files

    async def _copy(self) -> None:
        await self._process.gate()
        random = self._process.random
        await asyncio.sleep(random.uniform(*(LONG_COPY_S if random.random() < LONG else COPY_S)))
        await self._process.gate()


def _manifest(place: Place, generation: int, step: int, files: dict[str, bytes]) -> Manifest:
    return Manifest(
        app_id=place.app_id,
        generation=generation,
        step=step,
        files=tuple(
            FileEntry(
                path=path,
                size_bytes=len(content),
                sha256=digest(content),
                mode=0o644,
                uid=0,
                gid=0,
                mtime_ns=0,
            )
            for path, content in sorted(files.items())
        ),
    )
