"""The comparison as a table: for the terminal, and in Markdown for documents."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from dorm.simulate.report.comparison import Comparison, compare
from dorm.simulate.report.groups import groups_of
from dorm.simulate.results import Results
from events.text import one_line

_MARKDOWN_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def terminal_table(results: Results, *, headline: bool = True) -> Table:
    """Return the policies side by side, with the best value of each row in bold green."""
    comparison = compare(results, groups_of(results), headline=headline)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    drawn.add_column("", no_wrap=True)
    for label in comparison.labels:
        drawn.add_column(Text(one_line(label)), justify="right", overflow="fold")
    for row in comparison.rows:
        cells = [Text(cell.text, style="bold green" if cell.is_best else "") for cell in row.cells]
        drawn.add_row(Text(row.measure.name), *cells)
    return drawn


def markdown_table(results: Results, *, headline: bool = True) -> str:
    """Return the same in Markdown, the best value of each row in bold."""
    comparison = compare(results, groups_of(results), headline=headline)
    return markdown(
        ["", *comparison.labels],
        [
            [row.measure.name, *_cells(comparison, index)]
            for index, row in enumerate(comparison.rows)
        ],
        bold={
            (index, 1 + place)
            for index, row in enumerate(comparison.rows)
            for place, cell in enumerate(row.cells)
            if cell.is_best
        },
    )


def markdown(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: frozenset[tuple[int, int]] | set[tuple[int, int]] = frozenset(),
) -> str:
    """Return a Markdown table whose first column stands left and whose others stand right.

    Args:
        columns: Their names.
        rows: Plain texts, which are escaped.
        bold: Row and column of the cells that stand out.
    """
    lines = [
        _line(escaped(column) for column in columns),
        _line(":--" if index == 0 else "--:" for index in range(len(columns))),
    ]
    for number, row in enumerate(rows):
        cells = (
            f"**{escaped(text)}**" if (number, place) in bold else escaped(text)
            for place, text in enumerate(row)
        )
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _MARKDOWN_MARKS.sub(r"\\\1", one_line(text))


def _cells(comparison: Comparison, index: int) -> list[str]:
    return [
        f"{cell.text} ({cell.spread})" if cell.spread else cell.text
        for cell in comparison.rows[index].cells
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
