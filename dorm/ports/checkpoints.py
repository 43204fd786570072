"""The checkpoints of applications on the storage that their nodes share.

Below the directory behind `checkpoint.path`, `D`, each application has

    D/.dorm/<app>/g<N>/                    where generation N works; bound over `checkpoint.path`
    D/.dorm/<app>/saved/g<N>-s<step>/      a kept checkpoint: `manifest.json` and `files/`

so that a container reaches nothing but the directory of its own generation.
"""

from typing import Final, Protocol

import attrs

from reconcilers.documents import Seed

ROOT: Final = ".dorm"


@attrs.frozen(kw_only=True)
class Place:
    """Where one application's checkpoints lie on this machine.

    Attributes:
        directory: The directory behind `checkpoint.path`.
        below: The source of the mount; containers may have put symbolic links behind it.
    """

    app_id: str
    directory: str
    below: str

    @property
    def home(self) -> str:
        """Return the application's part of the directory."""
        return f"{self.directory}/{ROOT}/{self.app_id}"

    def work_dir(self, generation: int) -> str:
        """Return the directory that the containers of a generation see as `checkpoint.path`."""
        return f"{self.home}/g{generation}"


@attrs.frozen(kw_only=True)
class Kept:
    """A checkpoint that was set apart. Fields as in `CheckpointSaved`."""

    step: int
    manifest_sha256: str
    size_bytes: int
    file_count: int


class Checkpoints(Protocol):
    """What an agent does with checkpoints. Each effect is there as a whole or not at all.

    Raises, everywhere:
        Rejected: No retry helps: a symbolic link is in the way, a file has an impossible name.
        Unavailable: Not done, such as for a full disk or files that change; try again later.
    """

    async def is_ready(self, place: Place, generation: int) -> bool:
        """Return whether the generation's directory is there. It is never there in part."""
        ...

    async def seed(self, place: Place, generation: int, seed: Seed | None) -> str:
        """Make the generation's directory: a copy of a kept checkpoint, or empty without one.

        A directory that is there already, such as from another node, is left as it is. What is
        copied is compared with the manifest, and the manifest with what the log says of it.

        Returns:
            What is damaged, for people; then nothing was made. Empty when the directory is there.
        """
        ...

    async def written_step(self, place: Place, generation: int) -> int | None:
        """Return the step that `checkpoint.json` names; None without one that can be read."""
        ...

    async def keep(self, place: Place, generation: int, *, unsaid: bool = False) -> Kept | None:
        """Set apart the checkpoint that `checkpoint.json` speaks of; None when there is none.

        One that is kept already under that step is not touched.

        Args:
            place: Where.
            generation: Whose.
            unsaid: Without a `checkpoint.json`, all there is counts as a checkpoint of step 0.
        """
        ...

    async def prune(self, place: Place, generation: int, oldest_kept: tuple[int, int]) -> None:
        """Remove what stands below the oldest kept checkpoint, and directories before ours."""
        ...
