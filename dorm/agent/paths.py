"""Where an agent keeps its files."""

import attrs


@attrs.frozen
class Paths:
    """The layout of an agent's state directory."""

    state_dir: str

    @property
    def memory(self) -> str:
        """Return the file with what must outlive the agent."""
        return f"{self.state_dir}/memory.json"

    def run_dir(self, name: str) -> str:
        """Return the directory that the container of that name sees as `/run/dorm`."""
        return f"{self.state_dir}/run/{name}"

    def membership(self, name: str) -> str:
        """Return the file that tells a container who its peers are."""
        return f"{self.run_dir(name)}/membership.json"

    def progress(self, name: str) -> str:
        """Return the file in which a container tells how far it is."""
        return f"{self.run_dir(name)}/progress.json"

    def log(self, name: str) -> str:
        """Return the file that keeps the output of a removed container."""
        return f"{self.state_dir}/logs/{name}.log"
