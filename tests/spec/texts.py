"""Spec documents as text, to be made wrong in one place at a time."""

from typing import Final

GOOD: Final = {
    "name": "digits",
    "image": "dorm/base:1",
    "run": "{start: [python, train.py]}",
    "resources": "{cpu: 0.5, memory: 512MiB}",
}


def a_text(**fields: str | None) -> str:
    """A sound document with some top-level fields written otherwise, or left out by None."""
    written = {**GOOD, **fields}
    return "".join(f"{name}: {value}\n" for name, value in written.items() if value is not None)
