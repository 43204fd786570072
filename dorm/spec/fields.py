"""Reading one mapping of a document: known names, required fields, and every fault collected."""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

import attrs

from dorm.spec.faults import shown
from events.errors import Rejected

T = TypeVar("T")

_MISSING: Final = object()


@attrs.frozen
class Faults:
    """The list that every reader of one document adds to."""

    found: list[Rejected] = attrs.field(factory=list)

    def add(self, rule: str, *, field: str, value: object = _MISSING, hint: str) -> None:
        """Note one fault; without a value, the fault is that there is none."""
        text = "" if value is _MISSING else shown(value)
        self.found.append(Rejected(rule, field=field, value=text, hint=hint))


class Fields:
    """One mapping of a document, read field by field.

    A reader that finds a fault notes it and returns None, so that the others go on.
    """

    def __init__(self, value: object, *, path: str, known: tuple[str, ...], faults: Faults) -> None:
        """Take the mapping at `path`, and note every name in it that is not `known`.

        What is no mapping leaves a fault, and reads like an empty one; so does null, without one.
        """
        self._path, self._faults = path, faults
        self.is_mapping = isinstance(value, dict)
        self._values: Mapping[str, object] = value if isinstance(value, dict) else {}
        if not self.is_mapping and value is not None:
            faults.add(
                "must be a mapping",
                field=path or "document",
                value=value,
                hint=f"write the fields {', '.join(known)}",
            )
        for name in self._values:
            if name not in known:
                faults.add("is not a field of Dorm", field=self.at(name), hint=_meant(name, known))

    def at(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self._values.get(name) is not None

    def raw(self, name: str) -> object:
        """Return what stands in the field, or None."""
        return self._values.get(name)

    def fault(self, name: str, rule: str, *, hint: str, value: object = _MISSING) -> None:
        """Note a fault of a field that is there, or of the `value` inside it."""
        seen = self._values.get(name) if value is _MISSING else value
        self._faults.add(rule, field=self.at(name), value=seen, hint=hint)

    def require(self, name: str, *, hint: str) -> bool:
        """Return whether the field is there, and note a fault if not."""
        if not self.has(name):
            self._faults.add("is missing", field=self.at(name), hint=hint)
        return self.has(name)

    def text(self, name: str, *, default: str | None = None) -> str | None:
        """Return a text that is not empty."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str):
            self.fault(name, "must be text", hint=quoted(value))
        elif not value.strip():
            self.fault(name, "is empty", hint="write something, or leave the field out")
        else:
            return value
        return None

    def whole(self, name: str, *, low: int, high: int, default: int | None = None) -> int | None:
        """Return a whole number from `low` to `high`."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(name, "must be a whole number", hint=_whole_hint(value, low))
        elif not low <= value <= high:
            self.fault(name, f"must be from {low} to {high}", hint=_nearest(value, low, high))
        else:
            return value
        return None

    def number(
        self, name: str, *, high: float, default: float, hint: str = "1 is usual"
    ) -> float | None:
        """Return a finite number above 0."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(name, "must be a number", hint="write 1, 2.5 or the like, without quotes")
        elif math.isnan(value) or not 0 < value <= high:
            self.fault(name, f"must be above 0 and at most {high:.0f}", hint=hint)
        else:
            return float(value)
        return None

    def choice(self, name: str, allowed: tuple[str, ...], *, default: str) -> str | None:
        """Return one of a few words."""
        value = self.raw(name)
        if value is None:
            return default
        if value in allowed:
            return str(value)
        near = difflib.get_close_matches(str(value).upper(), [w.upper() for w in allowed], n=1)
        meant = next((word for word in allowed if near and word.upper() == near[0]), None)
        hint = f"did you mean {meant}?" if meant else f"the usual one is {default}"
        self.fault(name, f"must be one of {', '.join(allowed)}", hint=hint)
        return None

    def amount(
        self, name: str, parser: Callable[..., int], *, default: int | None = None
    ) -> int | None:
        """Return what a parser of `dorm.spec.units` makes of the field, or the default."""
        if not self.has(name):
            return default
        try:
            return parser(self.raw(name), field=self.at(name))
        except Rejected as fault:
            self._faults.found.append(fault)
            return None

    def entries(self, name: str, *, hint: str) -> dict[str, object]:
        """Return a mapping of any names; nothing when there is none."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(name, "must be a mapping", hint=hint)
            return {}
        return value

    def items(self, name: str, *, hint: str) -> tuple[object, ...]:
        """Return the elements of a list; nothing when there is no list."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.fault(name, "must be a list", hint=hint)
            return ()
        return tuple(value)

    def within(self, name: str, known: tuple[str, ...]) -> "Fields":
        """Return the mapping in a field; an empty one when there is none."""
        return Fields(self.raw(name), path=self.at(name), known=known, faults=self._faults)

    def element(self, name: str, index: int, known: tuple[str, ...]) -> "Fields":
        """Return the mapping that is the element `index` of a list."""
        values = self.raw(name)
        assert isinstance(values, list)
        at = f"{self.at(name)}[{index}]"
        value = {} if values[index] is None else values[index]
        return Fields(value, path=at, known=known, faults=self._faults)


def built(kind: Callable[..., T], **parts: object) -> T | None:
    """Return `kind(**parts)` when every part was read without a fault, else None."""
    return None if any(part is None for part in parts.values()) else kind(**parts)


def _meant(name: str, known: Iterable[str]) -> str:
    if name in ("apiVersion", "kind", "metadata", "spec"):
        return "a spec is flat: write its fields at the top, beginning with name"
    by_lower = {word.lower(): word for word in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if near:
        return f"did you mean {by_lower[near[0]]}?"
    return f"the fields here are {', '.join(known)}"


def quoted(value: object) -> str:
    """Return the way out for a scalar that should have been text."""
    if isinstance(value, bool | int | float):
        return f"write it in quotes: {shown(shown(value))}".replace("\\", "")
    return "write plain text there"


def _whole_hint(value: object, low: int) -> str:
    if isinstance(value, str) and (digits := value.strip().lstrip("0")).isdecimal():
        return f"write {digits}, without quotes or leading zeros"
    return f"write {max(low, 1)} or the like, without quotes"


def _nearest(value: int, low: int, high: int) -> str:
    return f"write {low} or more" if value < low else f"write {high} or less"
