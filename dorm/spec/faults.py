"""All that is wrong with one document, told at once."""

import json
from collections.abc import Sequence
from typing import Final

from events.errors import Rejected

VALUE_LENGTH_MAX: Final = 60


class SpecFaults(Rejected):
    """One or more faults of an application spec.

    As a `Rejected` it speaks of the first fault; `faults` has them all.

    Attributes:
        faults: In the order of the document's fields.
    """

    def __init__(self, faults: Sequence[Rejected]) -> None:
        """Keep all faults; there is at least one."""
        first = faults[0]
        super().__init__(first.rule, field=first.field, value=first.value, hint=first.hint)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """Return one line for each fault."""
        return "\n".join(str(fault) for fault in self.faults)


def shown(value: object) -> str:
    """Return a value as its author would recognise it, short enough for one line.

    JSON is how YAML writes it too: text in quotes, `true`, `null`.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_LENGTH_MAX else f"{text[: VALUE_LENGTH_MAX - 3]}..."
