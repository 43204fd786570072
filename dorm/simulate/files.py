"""Reading files that a user names. Errors of the disk become messages."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from events.errors import Rejected

BYTES_MAX: Final = 1 << 30  # a month of a large site is far below


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if its name ends in `.gz`.

    Raises:
        Rejected: There is no such file, or it is no text.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw: bytes = file.read(BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise Rejected(f"cannot be read: {reason}", field=str(path)) from error
    if len(raw) > BYTES_MAX:
        raise Rejected("is larger than 1 GiB", field=str(path), hint="cut it into parts")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save it as plain UTF-8 text"
        raise Rejected("is no text", field=str(path), hint=hint) from error
