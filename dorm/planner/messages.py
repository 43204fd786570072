"""What master and child say to each other: length-prefixed msgpack over two pipes.

A state is large (12 MB at 10,000 nodes and 5,000 applications) and changes little between two
plans, so only what changed is sent. States share what they have in common: an application that is
the same object as last time is the same application, and finding the changed ones costs nothing.
"""

import struct
from collections.abc import Mapping
from typing import Final, TypeVar

import attrs
import msgspec

from events.layouts import LayoutDecided
from events.state import App, ClusterState, Node

LENGTH: Final = struct.Struct(">I")
ANSWER_BYTES_MAX: Final = 256 << 20  # a decision that moves 5,000 applications has some 3 MB

T = TypeVar("T", App, Node)


@attrs.frozen(kw_only=True)
class Request:
    """Plan, from the state of the request before with these changes.

    Attributes:
        policy: Instead of the cluster's own; None for that.
        cpu_s_max: CPU time that this request may take.
        rest: The state without applications and nodes, and without what layouts never look at.
        app_ids, node_ids: Of the whole state, in its order.
        apps, nodes: Those that are new or changed.
    """

    policy: str | None
    cpu_s_max: int
    rest: ClusterState
    app_ids: tuple[str, ...]
    node_ids: tuple[str, ...]
    apps: tuple[App, ...]
    nodes: tuple[Node, ...]


@attrs.frozen(kw_only=True)
class Answer:
    """What came of it.

    Attributes:
        error: Why there is no decision; empty when there is one, or none is needed.
        cpu_ms: CPU time from the request's first byte to the answer.
        rss_bytes: Resident memory of the child, afterwards.
    """

    decisions: tuple[LayoutDecided, ...] = ()
    error: str = ""
    cpu_ms: int = 0
    rss_bytes: int = 0


class Sender:
    """The master's end: knows what the child was told last."""

    def __init__(self) -> None:
        self._told = ClusterState()

    def request(self, state: ClusterState, policy: str | None, cpu_s_max: int) -> Request:
        """Return the request that makes the child plan from `state`."""
        told, self._told = self._told, state
        return Request(
            policy=policy,
            cpu_s_max=cpu_s_max,
            rest=attrs.evolve(state, apps={}, nodes={}, finished={}),
            app_ids=tuple(state.apps),
            node_ids=tuple(state.nodes),
            apps=_changed(told.apps, state.apps),
            nodes=_changed(told.nodes, state.nodes),
        )

    def forget(self) -> None:
        """Begin anew, with a child that was told nothing."""
        self._told = ClusterState()


class Receiver:
    """The child's end: keeps the state of the last request."""

    def __init__(self) -> None:
        self._state = ClusterState()

    def state(self, request: Request) -> ClusterState:
        """Return the whole state that a request is about."""
        apps = {**self._state.apps, **{app.app_id: app for app in request.apps}}
        nodes = {**self._state.nodes, **{node.node_id: node for node in request.nodes}}
        self._state = attrs.evolve(
            request.rest,
            apps={app_id: apps[app_id] for app_id in request.app_ids},
            nodes={node_id: nodes[node_id] for node_id in request.node_ids},
        )
        return self._state


def frame(message: Request | Answer) -> bytes:
    """Return a message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def _changed(before: Mapping[str, T], now: Mapping[str, T]) -> tuple[T, ...]:
    return tuple(value for key, value in now.items() if before.get(key) is not value)
