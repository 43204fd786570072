"""What a report consists of: its sections, each with words, plots, and a table of its own."""

from collections.abc import Iterable, Sequence

import attrs

from dorm.simulate.report import completion, disturbance, over_time
from dorm.simulate.report.canvas import Plot
from dorm.simulate.report.comparison import Comparison, compare
from dorm.simulate.report.decisions import decisions
from dorm.simulate.report.groups import Group, span_of
from dorm.simulate.report.sizes import sizes
from dorm.simulate.results import Results


@attrs.frozen(kw_only=True)
class Section:
    """One part of a report.

    Attributes:
        name: In links, and of the measures that its table has.
        plots: Those for which there is something to draw.
        table: Its figures; without rows if it has none.
    """

    name: str
    title: str
    about: str
    plots: tuple[Plot, ...]
    table: Comparison


def sections_of(results: Results, groups: Sequence[Group]) -> tuple[Section, ...]:
    """Return all sections, also those that have nothing to draw."""

    def section(name: str, title: str, about: str, plots: Iterable[Plot | None]) -> Section:
        return Section(
            name=name,
            title=title,
            about=about,
            plots=tuple(plot for plot in plots if plot is not None),
            table=compare(results, groups, section=name, headline=False),
        )

    span_s = span_of(tuple(groups))
    return (
        section(
            "utilization",
            "Utilization",
            "How much of the cluster does work.",
            (over_time.utilization(results, groups), over_time.by_resource(results, groups)),
        ),
        section(
            "fairness",
            "Fairness loss",
            "How far applications are from the share that is due to them: the sum of "
            "|dominant share - fair share|. The fair share never leaves an application that is "
            "due below its minimum.",
            (over_time.fairness(groups),),
        ),
        section(
            "completion",
            "Completion times",
            "What users notice: how long from submit to end, waiting included.",
            (
                completion.completion(groups),
                completion.slowdown(groups),
                completion.speedup(groups),
                over_time.waiting(groups),
            ),
        ),
        section(
            "sizes",
            "Sizes over time",
            "How many containers each application had, policy by policy.",
            (
                sizes(group, number=number, span_s=span_s)
                for number, group in enumerate(groups, start=1)
            ),
        ),
        section(
            "disturbance",
            "Restarts and overhead",
            "What resizing costs: a changed application saves, stops, and starts again.",
            (disturbance.restarts(groups), disturbance.overhead(groups)),
        ),
        section(
            "decisions",
            "Decisions",
            "What deciding costs on this machine, the only figures that another run does not "
            "repeat exactly; and how good the layouts provably are.",
            (decisions(groups),),
        ),
    )
