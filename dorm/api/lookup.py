"""Which application a user means by an id, the beginning of one, or a name."""

from collections.abc import Callable, Iterable
from typing import Final

from events.errors import Conflict, NotFound
from events.state import App, ClusterState, Node
from events.text import brief

SHOWN_MAX: Final = 5


def find_app(state: ClusterState, wanted: str) -> App:
    """Return the application that `wanted` means.

    An id counts before a name, a name before the beginning of an id, and an unfinished
    application before finished ones, so the usual word means what runs now.

    Raises:
        NotFound: Nothing is called so.
        Conflict: Several are, and none has the better claim.
    """
    if exact := state.app(wanted):
        return exact
    rules: tuple[Callable[[App], bool], ...] = (
        lambda app: app.spec.name == wanted,
        lambda app: bool(wanted) and app.app_id.startswith(wanted),
    )
    for is_meant in rules:
        for apps in (state.apps.values(), state.finished.values()):
            if found := [app for app in apps if is_meant(app)]:
                return _only(found, wanted)
    raise no_app(wanted)


def find_node(state: ClusterState, node_id: str) -> Node:
    """Return the node of that id.

    Raises:
        NotFound: There is none.
    """
    node = state.nodes.get(node_id)
    if node is None:
        raise no_node(node_id)
    return node


def no_app(wanted: str) -> NotFound:
    """Return the error that no application is called so."""
    hint = "dorm ps --all lists all of them"
    return NotFound("is no application", field="app", value=brief(wanted), hint=hint)


def no_node(node_id: str) -> NotFound:
    """Return the error that no node is called so."""
    return NotFound("is no node", field="node", value=brief(node_id), hint="dorm nodes lists them")


def _only(found: list[App], wanted: str) -> App:
    if len(found) == 1:
        return found[0]
    raise Conflict(
        f"could be any of {_some(app.app_id for app in found)}",
        field="app",
        value=wanted,
        hint="use the whole id",
    )


def _some(ids: Iterable[str]) -> str:
    every = list(ids)
    more = f" and {len(every) - SHOWN_MAX} more" if len(every) > SHOWN_MAX else ""
    return ", ".join(every[:SHOWN_MAX]) + more
