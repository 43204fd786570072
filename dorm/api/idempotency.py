"""What an idempotency key may look like. Both ends of the API check it."""

import re
from typing import Final

from events.errors import Rejected

HEADER: Final = "Idempotency-Key"
KEY_LENGTH_MAX: Final = 128

_KEY: Final = re.compile(r"[A-Za-z0-9._:-]+", re.ASCII)


def checked(key: str) -> str:
    """Return the key.

    Raises:
        Rejected: It is none.
    """
    if not _KEY.fullmatch(key) or len(key) > KEY_LENGTH_MAX:
        raise Rejected(
            f"must be 1 to {KEY_LENGTH_MAX} letters, digits, dots, dashes, colons or _",
            field=HEADER,
            value=key[:KEY_LENGTH_MAX],
            hint="send a new one for each application, and the same one when you try again",
        )
    return key
