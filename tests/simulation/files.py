"""The files of a simulated machine. They outlive the processes on it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from events.errors import Unavailable
from tests.simulation.process import Process

SHARED: Final = "/shared"


class Disk:
    """One machine's files, with the directory `/shared` that all machines mount.

    Attributes:
        full: No space is left on the machine's own disk: nothing can be written there.
        free_bytes: What the disk says to be left.
    """

    def __init__(self, shared: dict[str, bytes]) -> None:
        """Start with an empty disk next to the `shared` one."""
        self.free_bytes = 1 << 40
        self.full = False
        self._local: dict[str, bytes] = {}
        self._shared = shared

    def wipe(self) -> None:
        """Lose all that is not shared."""
        self._local.clear()

    def tree(self, path: str) -> dict[str, bytes]:
        """Return the files of the file system that `path` is on."""
        return self._shared if _is_shared(path) else self._local

    def check_space(self, path: str) -> None:
        """Refuse a write there.

        Raises:
            Unavailable: The disk is full.
        """
        if self.full and not _is_shared(path):
            raise Unavailable(f"cannot write {path}: No space left on device")


def _is_shared(path: str) -> bool:
    return path == SHARED or path.startswith(f"{SHARED}/")


class SimFiles:
    """A `Files` for one process. A kill in the middle of an append leaves half of it behind."""

    def __init__(self, disk: Disk, process: Process) -> None:
        """Give `process` the files of `disk`."""
        self._disk, self._process = disk, process

    async def read(self, path: str) -> bytes | None:
        """See `Files`."""
        await self._process.gate()
        return self._disk.tree(path).get(path)

    async def write(self, path: str, data: bytes) -> None:
        """See `Files`."""
        await self._wait()
        self._disk.check_space(path)
        self._disk.tree(path)[path] = data
        await self._process.gate()

    async def append(self, path: str, data: bytes) -> None:
        """See `Files`."""
        await self._wait()
        self._disk.check_space(path)
        tree, cut = self._disk.tree(path), self._process.random.randint(0, len(data))
        tree[path] = tree.get(path, b"") + data[:cut]
        await self._wait()
        tree[path] += data[cut:]
        await self._process.gate()

    async def make_dir(self, path: str, *, below: str = "", for_all: bool = False) -> None:
        """See `Files`. Directories exist where files are."""
        del path, below, for_all
        await self._process.gate()

    async def remove(self, path: str) -> None:
        """See `Files`."""
        await self._process.gate()
        tree = self._disk.tree(path)
        for name in [name for name in tree if name == path or name.startswith(f"{path}/")]:
            del tree[name]

    async def names(self, path: str) -> tuple[str, ...]:
        """See `Files`."""
        await self._process.gate()
        root = f"{path.rstrip('/')}/"
        below = (name for name in self._disk.tree(path) if name.startswith(root))
        return tuple(sorted({name[len(root) :].split("/", 1)[0] for name in below}))

    async def free_bytes(self, path: str) -> int:
        """See `Files`."""
        del path
        await self._process.gate()
        return 0 if self._disk.full else self._disk.free_bytes

    async def save(self, path: str, chunks: AsyncIterator[bytes]) -> None:
        """See `Files`."""
        data = [chunk async for chunk in chunks]
        await self.write(path, b"".join(data))

    async def _wait(self) -> None:
        await self._process.gate()
        await asyncio.sleep(self._process.random.uniform(0.0001, 0.005))
        await self._process.gate()
