"""Old wire versions to present ones. Old events are never rewritten; they are read as new ones."""

from collections.abc import Callable
from typing import Final

import msgspec

from events.catalog import CATALOG

Upcast = Callable[[msgspec.Raw], msgspec.Raw]


def _as_it_is(data: msgspec.Raw) -> msgspec.Raw:
    """Only fields were added, and their defaults mean what their absence meant."""
    return data


UPCASTS: Final[dict[str, tuple[str, Upcast]]] = {
    "app.submitted/1": ("app.submitted/2", _as_it_is),  # + spec.priority, spec.speed
    "app.submitted/2": ("app.submitted/3", _as_it_is),  # + spec.on_disconnect
    "app.submitted/3": ("app.submitted/4", _as_it_is),  # + spec.checkpoint.keep
    "app.changed/1": ("app.changed/2", _as_it_is),  # + priority
    "node.reported/1": ("node.reported/2", _as_it_is),  # + tenure
    "layout.decided/1": ("layout.decided/2", _as_it_is),  # + problem_hash, quality
    "container.exited/1": ("container.exited/2", _as_it_is),  # + final
}
"""Old wire name to the next one, and the function that turns its data; one step a version."""


def to_present(kind: str, data: msgspec.Raw) -> tuple[str, msgspec.Raw]:
    """Return kind and data after every upcast that applies. Ends because versions only grow."""
    while kind in UPCASTS:
        kind, upcast = UPCASTS[kind][0], UPCASTS[kind][1]
        data = upcast(data)
    return kind, data


def readable_kinds() -> tuple[str, ...]:
    """Return every wire name that this Dorm can read, sorted."""
    return tuple(sorted({*CATALOG, *UPCASTS}))
