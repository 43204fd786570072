"""The comparison of policies, on the terminal and in Markdown."""

import io

import attrs
import pytest
from rich.console import Console

from dorm.simulate.report import markdown_table, terminal_table
from dorm.simulate.report.comparison import Comparison, compare
from dorm.simulate.report.groups import groups_of
from dorm.simulate.report.table import markdown
from dorm.simulate.results import PolicyRun, Results
from tests.simulate.report.samples import results


def best_of(comparison: Comparison, name: str) -> list[str]:
    """Return which policies are marked in a row."""
    (row,) = (row for row in comparison.rows if row.measure.name == name)
    return [label for label, cell in zip(comparison.labels, row.cells, strict=True) if cell.is_best]


def with_figures(results: Results, label: str, *, utilization: float, loss_24h: float) -> Results:
    """Return the results with other figures for one policy."""

    def changed(run: PolicyRun) -> PolicyRun:
        summary = attrs.evolve(run.summary, utilization=utilization, loss_24h=loss_24h)
        return attrs.evolve(run, summary=summary) if run.label == label else run

    return attrs.evolve(results, runs=tuple(changed(run) for run in results.runs))


@pytest.fixture(scope="module")
def few() -> Results:
    """Three policies, one of them the baseline."""
    return results(("static", "drf", "goodput"), apps=12)


def test_the_best_value_is_the_highest_or_the_lowest(few: Results) -> None:
    """A mark on the wrong end would recommend the worst policy."""
    changed = with_figures(few, "drf", utilization=2.9, loss_24h=0.01)

    comparison = compare(changed, groups_of(changed))

    assert ["drf"] == best_of(comparison, "utilization")
    assert ["drf"] == best_of(comparison, "fairness loss, first day")


def test_equals_share_the_mark_and_where_all_are_equal_nobody_has_it(few: Results) -> None:
    """What is written the same must not be told apart."""
    nearly = with_figures(few, "drf", utilization=2.90001, loss_24h=0.01)
    same = with_figures(nearly, "goodput", utilization=2.9, loss_24h=0.01)
    comparison = compare(same, groups_of(same))

    assert ["drf", "goodput"] == best_of(comparison, "utilization")
    assert [] == best_of(comparison, "unfinished")


def test_few_restarts_are_no_merit_by_themselves(few: Results) -> None:
    """`static` never restarts anything, and should not be praised for it."""
    comparison = compare(few, groups_of(few))

    assert [] == best_of(comparison, "restarts per application")
    assert [] == best_of(comparison, "overhead")


def test_several_seeds_are_one_column_with_mean_and_range() -> None:
    """A figure of one seed may be luck; the range tells how much of it."""
    several = results(("drf",), apps=6, seeds=3)
    means = [run.summary.utilization for run in several.runs]

    comparison = compare(several, groups_of(several))

    (row,) = (row for row in comparison.rows if row.measure.name == "utilization")
    assert ("drf",) == comparison.labels
    assert f"{sum(means) / 3:.3f}" == row.cells[0].text
    assert f"{min(means):.3f} to {max(means):.3f}" == row.cells[0].spread


def test_the_baseline_is_not_compared_with_itself(few: Results) -> None:
    """Its speed-up of 1 would only be noise in the row."""
    comparison = compare(few, groups_of(few))

    (row,) = (row for row in comparison.rows if row.measure.name == "best speed-up")
    assert "" == row.cells[0].text
    assert all(cell.text for cell in row.cells[1:])


def test_the_terminal_shows_labels_as_they_are(few: Results) -> None:
    """Labels are words of the user: neither rich's markup nor escape sequences act."""
    hostile = attrs.evolve(
        few, runs=tuple(attrs.evolve(run, label="[red]x[/] \x1b[2J") for run in few.runs[:1])
    )
    console = Console(file=io.StringIO(), width=120, force_terminal=False)

    console.print(terminal_table(hostile))

    assert isinstance(console.file, io.StringIO)
    assert r"[red]x[/] \x1b[2J" in console.file.getvalue()


def test_markdown_marks_the_best_and_escapes_the_rest(few: Results) -> None:
    """A label with a bar in it would break the table in two."""
    lines = markdown_table(few).splitlines()

    assert "|  | static | drf | goodput |" == lines[0]
    assert "| :-- | --: | --: | --: |" == lines[1]
    assert any("**" in line for line in lines)
    assert r"| a\|b |" == markdown(["a|b"], []).splitlines()[0]


def test_nothing_simulated_is_an_empty_table(few: Results) -> None:
    """So that nobody has to ask before."""
    nothing = attrs.evolve(few, runs=(), baseline="")

    assert () == compare(nothing, groups_of(nothing)).rows
    assert 0 == terminal_table(nothing).row_count
