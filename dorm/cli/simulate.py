"""`dorm simulate`."""

import math
from pathlib import Path
from typing import Any, Final

import click

from dorm.cli.session import in_plain_words
from dorm.spec.units import parse_duration
from events.errors import Rejected

CLUSTER: Final = "15x12cpu128g+5x12cpu128g1gpu"  # of the paper
SPAN_MS_MAX: Final = 100 * 365 * 24 * 3_600_000  # machines fail once in years


class Span(click.ParamType[int]):
    """A length of time such as `30s`; `0` for none."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return milliseconds."""
        if isinstance(value, int):
            return value
        if value == "0":
            return 0
        try:
            field = param.opts[0] if param else ""
            return parse_duration(value, field=field, least=0, most=SPAN_MS_MAX)
        except Rejected as error:
            self.fail(str(error), param, ctx)


class Number(click.FloatRange):
    """A number within bounds. To click, nan is within all of them."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is no number", param, ctx)
        return number


@click.command()
@click.argument("trace", default="paper", metavar="[TRACE]")
@click.option("--cluster", default=CLUSTER, show_default=True, help="Nodes: 64x8gpu, or a file.")
@click.option(
    "--policy", "policies", multiple=True, metavar="NAME[:OPTION=VALUE,...]", help="One or more."
)
@click.option("--baseline", default="", help="Policy that speed-ups are measured against.")
@click.option("--seed", "seeds", type=int, multiple=True, default=(0,), help="One or more.")
@click.option(
    "--elastic", default="1x:1x", show_default=True, help="Bounds: 1:2x is 1 to twice the request."
)
@click.option(
    "--alpha",
    type=Number(0, 10),
    default=0.03,
    show_default=True,
    help="Speed of n containers: n/(1+alpha(n-1)).",
)
@click.option("--container", help="Demand of one container: 1gpu, 4cpu16g1gpu.")
@click.option(
    "--fidelity",
    type=click.Choice(["layout", "facts"]),
    default="layout",
    show_default=True,
    help="Only decisions, or every event.",
)
@click.option(
    "--speeds",
    type=click.Choice(["given", "learnt", "none"]),
    default="given",
    show_default=True,
    help="What policies know of speeds.",
)
@click.option(
    "--restart", type=Span(), default="60s", show_default=True, help="What a restart costs."
)
@click.option(
    "--restart-spread",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="By how much it differs between applications.",
)
@click.option(
    "--round",
    "round_",
    type=Span(),
    default="10s",
    show_default=True,
    help="Between two decisions, at least.",
)
@click.option("--node-mtbf", type=Span(), default="0", help="Mean time between failures of a node.")
@click.option(
    "--node-repair",
    type=Span(),
    default="1h",
    show_default=True,
    help="How long a failed node is away.",
)
@click.option("--spacing", type=Span(), default="0", help="Between submits of batch scripts.")
@click.option("--workload", default="", help="One of several in the file.")
@click.option("--limit", type=click.IntRange(0), default=0, help="Only the first jobs.")
@click.option("--cores", type=click.IntRange(0), default=0, help="Runs at a time; 0 for all cores.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Directory for the report."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures for programs.")
def simulate(**options: Any) -> None:  # noqa: ANN401 - two dozen options, passed on
    """Simulate a cluster: any trace, any nodes, any policies, side by side.

    TRACE is a file (CSV, YAML, output of sacct -P, batch scripts or a directory of them) or
    `paper`, the workload of the Dorm paper.

    \b
    Examples:
      dorm simulate --policy goodput --policy static --baseline static
      dorm simulate trace.csv --cluster 64x8gpu --elastic 1:2x --policy goodput --out report
      dorm simulate jobs/ --cluster nodes.yaml --spacing 5m --policy drf
      dorm simulate --policy utilization:loss=0.1,touch=0.2 --seed 0 --seed 1 --json

    What each option means, and the formats: docs/simulate.md
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    # The solver's and the report's imports take a second; the other commands do not wait for them.
    from dorm.cli.simulation import carry_out  # noqa: PLC0415

    with in_plain_words():
        carry_out(options)
