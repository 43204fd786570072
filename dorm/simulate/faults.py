"""Where in a file a fault lies, and numbers read with a message that says so."""

import math

import attrs

from events.errors import Rejected
from events.text import brief


def shown(value: object) -> str:
    """Return a value for a message: quoted, on one line, not too long."""
    return repr(brief(str(value)))


@attrs.frozen(kw_only=True)
class Where:
    """A place in a file, such as `line 7`."""

    path: str
    place: str

    def at(self, field: str) -> str:
        """Return `trace.csv, line 7, gpus`."""
        return f"{self.path}, {self.place}, {field}"

    def fault(self, field: str, value: object, rule: str, hint: str = "") -> Rejected:
        """Return the error to raise: field, value, rule, way out."""
        return Rejected(rule, field=self.at(field), value=shown(value), hint=hint)

    def number(
        self, field: str, value: object, *, least: float = 0.0, above: bool = False
    ) -> float:
        """Return a finite number of at least `least`, or more than it (`above`).

        Raises:
            Rejected: It is none.
        """
        try:
            number = float(str(value))
        except ValueError:
            raise self.fault(field, value, "is no number") from None
        if not math.isfinite(number) or number < least or (above and number == least):
            rule = f"must be {'above' if above else 'at least'} {least:g}"
            raise self.fault(field, value, rule)
        return number

    def whole(self, field: str, value: object, *, least: int = 0) -> int:
        """Return a whole number of at least `least`.

        Raises:
            Rejected: It is none.
        """
        number = self.number(field, value, least=least)
        if number != int(number):
            raise self.fault(field, value, "must be a whole number")
        return int(number)
