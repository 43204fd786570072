"""`attrs.evolve` for the large classes of the state, three times as fast.

Nearly all of a fold's time went into copying applications field by field through `__init__`. These
classes have no validators and no converters, so copying `__dict__` gives the same; that is why they
are declared with `slots=False`.
"""

from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from attrs import evolve  # so that mypy checks names and types of the changes
else:

    def evolve(value: T, **changes: Any) -> T:  # noqa: ANN401 - typed as attrs.evolve is
        """Return a copy of `value` with some fields replaced."""
        fields = value.__dict__
        assert changes.keys() <= fields.keys(), f"{type(value).__name__} has no such field"
        copy = object.__new__(type(value))
        copy.__dict__.update(fields, **changes)
        return copy


__all__ = ["evolve"]
