"""Files of one machine: the agent's journal, membership files, saved logs."""

from collections.abc import AsyncIterator
from typing import Protocol


class Files(Protocol):
    """A directory tree. Paths are absolute; parents are made as needed."""

    async def read(self, path: str) -> bytes | None:
        """Return the content, or None when there is no such file. Never follows a link there."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Replace the content in one step: a reader sees the old or the new, durably."""
        ...

    async def append(self, path: str, data: bytes) -> None:
        """Add to the end, durably."""
        ...

    async def make_dir(self, path: str, *, below: str = "", for_all: bool = False) -> None:
        """Make a directory and its parents. One that exists is no error.

        Args:
            path: The directory.
            below: Such as the source of a mount, where containers may have put symbolic links:
                none is followed on the way from here to `path`.
            for_all: Everyone may write there, such as the user that a container runs as.

        Raises:
            Rejected: A symbolic link, or a file, is in the way.
        """
        ...

    async def remove(self, path: str) -> None:
        """Remove a file or a whole directory. One that is not there is no error."""
        ...

    async def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; nothing when there is no such directory."""
        ...

    async def free_bytes(self, path: str) -> int:
        """Return how much may still be written where `path` is, or is to be."""
        ...

    async def save(self, path: str, chunks: AsyncIterator[bytes]) -> None:
        """Write a stream to a file, replacing it."""
        ...
