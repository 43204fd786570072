"""The page: sections and pictures put into the template."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dorm.simulate.report.comparison import compare
from dorm.simulate.report.completion import Helped, helped_by
from dorm.simulate.report.groups import Group, groups_of
from dorm.simulate.report.sections import Section
from dorm.simulate.report.theme import DARK, LIGHT
from dorm.simulate.results import Results
from events.text import one_line

HELPED_SHOWN: Final = 5


@attrs.frozen(kw_only=True)
class Picture:
    """A plot as PNG on white and on dark paper."""

    light: bytes
    dark: bytes


@attrs.frozen(kw_only=True)
class Extremes:
    """The applications that the best policy helped least and most."""

    label: str
    least: tuple[Helped, ...]
    most: tuple[Helped, ...]


def render(results: Results, sections: Sequence[Section], pictures: Mapping[str, Picture]) -> str:
    """Return the page as HTML that needs nothing else: style and pictures are inside of it."""
    groups = groups_of(results)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["uri"] = _data_uri
    environment.filters["line"] = one_line
    return environment.get_template("report.html.j2").render(
        results=results,
        groups=groups,
        light=LIGHT,
        dark=DARK,
        headline=headline(groups),
        comparison=compare(results, groups),
        sections=sections,
        pictures=pictures,
        facts=facts(results, groups),
        extremes=_extremes(groups),
    )


def headline(groups: Sequence[Group]) -> str:
    """Return the outcome in one sentence; empty if there is nothing to compare."""
    best, baseline = _best(groups), next((group for group in groups if group.is_baseline), None)
    if best is None or len(groups) == 1:
        return ""
    if baseline is None or best is baseline or not _mean_s(baseline):
        return f"Applications end soonest under {best.label}, on average."
    ratio = _mean_s(baseline) / _mean_s(best)
    return (
        f"Applications end soonest under {best.label}: on average {ratio:.2f} times as fast as "
        f"under {baseline.label}, waiting included."
    )


def facts(results: Results, groups: Sequence[Group]) -> tuple[tuple[str, str], ...]:
    """Return what a reader needs to judge the run and to repeat it."""
    units = {"cpu": "cpus", "memory": "GiB of memory", "gpu": "gpus"}
    capacity = (
        f"{results.capacity[name]:,.0f} {unit}"
        for name, unit in units.items()
        if results.capacity.get(name, 0) > 0
    )
    seeds = dict.fromkeys(str(run.seed) for run in results.runs)
    apps = dict.fromkeys(f"{run.summary.apps:,}" for run in results.runs)
    rows = (
        ("Trace", results.trace),
        ("Applications", " or ".join(apps)),
        ("Cluster", f"{results.cluster}: {results.nodes:,} nodes, {', '.join(capacity)}"),
        ("Seeds" if len(seeds) > 1 else "Seed", ", ".join(seeds)),
        ("Restart", f"{results.restart_s:g} s on average"),
        ("Decision round", f"every {results.round_s:g} s at most" if results.round_s else ""),
        ("Fidelity", results.fidelity),
        *((f"Options of {group.label}", _options(group)) for group in groups),
        ("Version", results.version),
        ("Again", results.command),
    )
    return tuple((name, value) for name, value in rows if value)


def _options(group: Group) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(group.first.options.items()))


def _extremes(groups: Sequence[Group]) -> Extremes | None:
    best = _best([group for group in groups if not group.is_baseline])
    found = helped_by(best) if best else []
    if best is None or len(found) < 2 * HELPED_SHOWN:
        return None
    return Extremes(
        label=best.label,
        least=tuple(found[:HELPED_SHOWN]),
        most=tuple(reversed(found[-HELPED_SHOWN:])),
    )


def _best(groups: Sequence[Group]) -> Group | None:
    finished = [group for group in groups if _mean_s(group) > 0]
    return min(finished, key=_mean_s, default=None)


def _mean_s(group: Group) -> float:
    times = [run.summary.completion_s.mean for run in group.runs]
    return sum(times) / max(1, len(times))


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
