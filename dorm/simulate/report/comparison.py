"""Policies side by side, every figure written out, and who is best."""

import math
from collections.abc import Sequence

import attrs

from dorm.simulate.report.canvas import TimeUnit, unit_for
from dorm.simulate.report.groups import Group
from dorm.simulate.report.measures import Better, Form, Measure, measures
from dorm.simulate.results import Results


@attrs.frozen(kw_only=True)
class Cell:
    """One figure of one policy, written out; `spread` is of its seeds, empty for one seed."""

    text: str
    spread: str = ""
    is_best: bool = False


@attrs.frozen(kw_only=True)
class Row:
    """One figure of all policies."""

    measure: Measure
    cells: tuple[Cell, ...]


@attrs.frozen(kw_only=True)
class Comparison:
    """The table of a report: `rows[i].cells[j]` is about `labels[j]`."""

    labels: tuple[str, ...]
    rows: tuple[Row, ...]


def compare(
    results: Results, groups: Sequence[Group], *, section: str = "", headline: bool = True
) -> Comparison:
    """Return the table of all policies: means over the seeds, with the best of each row marked.

    Args:
        results: What was simulated.
        groups: Its policies.
        section: Only the figures of this section; all of them if empty.
        headline: Only the most important figures.
    """
    chosen = [
        measure
        for measure in measures(results)
        if section in ("", measure.section) and (measure.is_headline or not headline)
    ]
    rows = [row for measure in chosen if (row := _row(measure, groups)) is not None]
    return Comparison(labels=tuple(group.label for group in groups), rows=tuple(rows))


def value_of(measure: Measure, group: Group) -> float | None:
    """Return a figure of a policy, the mean of its seeds."""
    values = _values(measure, group)
    return math.fsum(values) / len(values) if values else None


def _row(measure: Measure, groups: Sequence[Group]) -> Row | None:
    values = [_values(measure, group) for group in groups]
    if not any(values):
        return None
    unit = unit_for(max((value for row in values for value in row), default=0.0))
    texts = [
        _written(measure.form, math.fsum(row) / len(row), unit) if row else "" for row in values
    ]
    spreads = [_spread(measure.form, row, unit) for row in values]
    best = _best(measure.better, values, texts)
    return Row(
        measure=measure,
        cells=tuple(
            Cell(text=text, spread=spread, is_best=bool(text) and text == best)
            for text, spread in zip(texts, spreads, strict=True)
        ),
    )


def _values(measure: Measure, group: Group) -> list[float]:
    found = (measure.of(group, run.summary) for run in group.runs)
    return [value for value in found if value is not None]


def _written(form: Form, value: float, unit: TimeUnit) -> str:
    if form is Form.TIME:
        return f"{value / unit.seconds:.2f} {unit.name}"
    pattern: str = form.value
    return pattern.format(value)


def _spread(form: Form, values: Sequence[float], unit: TimeUnit) -> str:
    """Return `0.61 to 0.84`, the lowest and the highest of the seeds."""
    ends = [_written(form, end(values), unit) for end in (min, max)] if values else []
    return f"{ends[0].split()[0]} to {ends[1]}" if ends and ends[0] != ends[1] else ""


def _best(better: Better, values: Sequence[Sequence[float]], texts: Sequence[str]) -> str:
    """Return how the best figure is written; nothing where all are the same, or none is best."""
    means = [
        (math.fsum(row) / len(row), text) for row, text in zip(values, texts, strict=True) if row
    ]
    if better is Better.NEITHER or len({text for _, text in means}) < 2:  # noqa: PLR2004 - a contest
        return ""
    return (max if better is Better.HIGHER else min)(means)[1]
