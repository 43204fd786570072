"""The files that an agent and its warden share, in a directory that only root may enter."""

from pathlib import Path

import attrs


@attrs.frozen
class RunPaths:
    """The layout of the run directory: a tmpfs, since none of it means anything after a reboot."""

    run_dir: Path

    @property
    def permit(self) -> Path:
        """Return the node's right to run containers; written by the agent."""
        return self.run_dir / "permit.json"

    @property
    def lock(self) -> Path:
        """Return the file that the only warden holds locked; it says which process that is."""
        return self.run_dir / "warden.lock"

    @property
    def status(self) -> Path:
        """Return what the warden saw at its last look."""
        return self.run_dir / "warden.json"

    @property
    def journal(self) -> Path:
        """Return what the warden did, the newest deeds only."""
        return self.run_dir / "warden.journal"

    @property
    def leave(self) -> Path:
        """Return the file whose presence lets a SIGTERM end a warden that guards something."""
        return self.run_dir / "warden.leave"

    @property
    def output(self) -> Path:
        """Return what the warden says on its way up and down, and about errors."""
        return self.run_dir / "warden.log"
