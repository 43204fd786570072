"""The masters as an agent asks them, when etcd does not answer."""

from typing import Protocol


class Masters(Protocol):
    """Every registered master, by its address."""

    async def promise(self, name: str, url: str, *, node_id: str, tenure: str) -> bool:
        """Return whether that master gives its word not to end the tenure for now.

        A master of another name at that address gives no word. Whatever goes wrong is a no.
        """
        ...
