"""A state while it is being worked on.

The fold changes a draft in place, because copying a map of a thousand applications for each event
would be most of the work. A draft belongs to one call of `events.fold.fold` and never leaves it.
"""

from typing import Any, Final, Self, get_origin

import attrs

from events.layouts import LayoutDecided
from events.policy import LayoutRules
from events.state import App, ClusterState, LastDecision, Node


class Senseless(Exception):
    """Not an error: the reason of a counted no-op. A rule raises it before it changes anything."""


@attrs.define(kw_only=True)
class Draft:
    """The fields of `ClusterState`, with maps of its own."""

    revision: int
    apps: dict[str, App]
    finished: dict[str, App]
    nodes: dict[str, Node]
    open_parts: dict[str, tuple[LayoutDecided, ...]]
    rules: LayoutRules
    last_decision: LastDecision | None
    settled: str
    now_ms: int
    looked_at_ms: int
    leader: str
    epoch: int
    ignored: dict[str, int]
    seal: str
    sealed_segment: int
    store_epoch: int
    unsettled: dict[str, int]

    @classmethod
    def of(cls, state: ClusterState) -> Self:
        """Return a draft that begins as `state` and shares no map with it."""
        values: dict[str, Any] = {name: getattr(state, name) for name in _FIELDS}
        for name in _MAPS:
            values[name] = dict(values[name])
        return cls(**values)

    def done(self) -> ClusterState:
        """Return the state; the draft must not be used any more."""
        return ClusterState(**{name: getattr(self, name) for name in _FIELDS})

    def app(self, app_id: str) -> App:
        """Return an unfinished application.

        Raises:
            Senseless: There is none of that id.
        """
        app = self.apps.get(app_id)
        if app is None:
            raise Senseless("finished app" if app_id in self.finished else "unknown app")
        return app

    def node(self, node_id: str) -> Node:
        """Return a node.

        Raises:
            Senseless: There is none of that id.
        """
        node = self.nodes.get(node_id)
        if node is None:
            raise Senseless("unknown node")
        return node

    def put(self, app: App) -> None:
        """Add an application, or replace the one of the same id in its place."""
        self.apps[app.app_id] = app

    def ignore(self, reason: str) -> None:
        """Count an event that changes nothing."""
        self.ignored[reason] = self.ignored.get(reason, 0) + 1


_FIELDS: Final = tuple(field.name for field in attrs.fields(Draft))
_MAPS: Final = frozenset(
    field.name for field in attrs.fields(Draft) if get_origin(field.type) is dict
)
