"""Where in a file a fault lies, and numbers read with a message that says so."""

import math
from typing import Final

import attrs

from events.errors import Rejected
from events.text import brief

NUMBER_MAX: Final = 1e12  # seconds or containers: more is a slip, and milliseconds stay exact


def shown(value: object) -> str:
    """Return a value for a message: quoted, on one line, not too long."""
    return repr(brief(str(value)))


def one_line(error: Exception) -> str:
    """Return what a parser says, without its line breaks."""
    return " ".join(str(error).split())


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
        self,
        field: str,
        value: object,
        *,
        least: float = 0.0,
        most: float = NUMBER_MAX,
        above: bool = False,
    ) -> float:
        """Return a number of at least `least`, or more than it (`above`), and at most `most`.

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
        if number > most:
            raise self.fault(field, value, f"must be at most {most:g}")
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
