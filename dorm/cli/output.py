"""Results on the terminal: tables for people, JSON for programs."""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from events.text import duration, one_line

PIPE_WIDTH: Final = 1_000  # a pipe has no width: never cut a line that a program reads
PHASE_STYLES: Final = {
    "running": "green",
    "completed": "green",
    "ready": "green",
    "starting": "cyan",
    "resizing": "cyan",
    "pending": "yellow",
    "backoff": "yellow",
    "cancelling": "yellow",
    "cancelled": "dim",
    "failing": "red",
    "failed": "red",
    "lost": "red",
    "expelled": "red",
    "fenced": "red",
}


class Output:
    """Where a command's result goes, and in which form.

    Attributes:
        as_json: Whether a program reads it.
    """

    def __init__(self, *, as_json: bool) -> None:
        """Write to stdout; colours only on a terminal, and not with NO_COLOR."""
        self.as_json = as_json
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        self.console = Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)

    def json(self, value: Any) -> None:  # noqa: ANN401 - JSON is any of its kinds
        """Print one JSON document, readable and always in the same order."""
        click.echo(_escaped(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)))

    def json_line(self, value: Any) -> None:  # noqa: ANN401 - JSON is any of its kinds
        """Print one JSON document on one line, for streams."""
        click.echo(_escaped(json.dumps(value, sort_keys=True, ensure_ascii=False)))

    def say(self, text: str) -> None:
        """Print a sentence."""
        self.print(Text("\n".join(one_line(line) for line in text.split("\n"))))

    def print(self, *parts: RenderableType) -> None:
        """Print what rich can draw, without spaces at the ends of lines."""
        with self.console.capture() as capture:
            for part in parts:
                self.console.print(part)
        for line in capture.get().rstrip("\n").split("\n"):
            click.echo(line.rstrip())


def _escaped(text: str) -> str:
    """Return the same JSON without a letter that a terminal would obey, or could not print."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _escape(letter) for letter in text
    )


def _escape(letter: str) -> str:
    return "\\u007f" if letter == "\x7f" else json.dumps(letter)[1:-1]


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str
) -> RenderableType:
    """Return a table; numbers stand right, phases have their colour; `empty` if there is no row."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not cells:
        return Text(empty)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, column in enumerate(columns):
        numeric = all(f"0{row[index].plain}".replace(".", "", 1).isdigit() for row in cells)
        drawn.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    for row in cells:
        drawn.add_row(*row)
    return drawn


def pairs(rows: Iterable[tuple[str, object]]) -> RenderableType:
    """Return names and values below each other, without those that have nothing to say."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name, value in rows:
        cell = _cell(value)
        if cell.plain:
            grid.add_row(name, cell)
    return grid


def age(at_ms: int) -> str:
    """Return how long ago a time was."""
    return duration(max(0, int(time.time() * 1000) - at_ms))


def clock_time(at_ms: int) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at_ms / 1000))


def _cell(value: object) -> Text:
    text = "" if value is None else one_line(str(value))
    return Text(text, style=PHASE_STYLES.get(text, ""))
