"""How the demo looks at the cluster: through the API, several times a second, and at Docker."""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from deploy.demo.history import ClaimFailed, claim
from deploy.demo.screen import Screen
from dorm.api.client import ApiClient
from dorm.local.cluster import LocalCluster
from events.errors import Unavailable

LOOK_S: Final = 0.4

Row = Mapping[str, Any]
Apps = Mapping[str, Row]


@attrs.define
class Observer:
    """Looks, and shows what it sees.

    Attributes:
        slots: How many containers the whole cluster has room for.
        killed: Processes that were killed on purpose; any other that ends fails the demo.
    """

    cluster: LocalCluster
    client: ApiClient
    screen: Screen
    slots: int
    killed: set[str] = attrs.field(factory=set)

    def look(self) -> Apps:
        """Return the applications by name, after one look that is shown.

        Raises:
            ClaimFailed: Something is as it must never be.
        """
        rows = self.client.apps(finished=True)
        self.screen.show(rows, self.client.nodes())
        for row in rows:
            claim(row["phase"] != "failed", f"{row['id']} failed: {row['outcome']}")
        size = sum(row["size"] for row in rows)
        claim(size <= self.slots, f"{size} containers run where {self.slots} have room")
        for child in self.cluster.children:
            if child.name not in self.killed and not child.running:
                raise ClaimFailed(f"{child.name} ended by itself:\n{child.last_words()}")
        return {row["name"]: row for row in rows}

    def wait_for(self, what: str, holds: Callable[[Apps], bool], *, timeout_s: float) -> Apps:
        """Look until it holds, and return what was seen then.

        Raises:
            ClaimFailed: It did not come to hold in time.
        """
        ends_at = time.monotonic() + timeout_s
        apps: Apps = {}
        while time.monotonic() < ends_at:
            with contextlib.suppress(Unavailable):  # a master was killed; the next look may do
                apps = self.look()
                if holds(apps):
                    return apps
            time.sleep(LOOK_S)
        seen = {name: (row["phase"], row["size"]) for name, row in apps.items()}
        raise ClaimFailed(f"waited {timeout_s:.0f} s in vain for this: {what}. Seen: {seen}")

    def containers(self) -> Mapping[str, str]:
        """Return when each running container started, by id, asked of Docker itself."""
        return self.cluster.docker.started_at(self.cluster.label)


def sizes(**wanted: int) -> Callable[[Apps], bool]:
    """Return a test whether these applications run with so many containers each."""
    return lambda apps: all(
        name in apps and apps[name]["phase"] == "running" and apps[name]["size"] == size
        for name, size in wanted.items()
    )


def at_step(name: str, step: int) -> Callable[[Apps], bool]:
    """Return a test whether an application has come to a step in its present generation."""

    def holds(apps: Apps) -> bool:
        row = apps.get(name)
        progress = row["progress"] if row else None
        return bool(
            row
            and progress
            and progress["generation"] == row["generation"]
            and progress["step"] >= step
        )

    return holds
