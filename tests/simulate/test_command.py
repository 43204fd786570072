"""`dorm simulate` from its options to its output."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dorm.cli.main import cli
from dorm.simulate.results import from_json

TRACE = """\
submit_s,duration_s,gpus
0,600,2
0,600,4
60,300,1
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A small trace."""
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return str(path)


def simulate(*words: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["simulate", "--cores", "1", *words])


def test_policies_stand_side_by_side(trace: str) -> None:
    """Also with different options of one policy; the baseline comes by itself."""
    result = simulate(trace, "--cluster", "1x4gpu", "--policy", "drf", "--policy",
                      "drf:min_run=0", "--baseline", "static")  # fmt: skip

    assert result.exit_code == 0
    assert "3 jobs on 1x4gpu" in result.stdout
    header = next(line for line in result.stdout.splitlines() if "static" in line)
    assert header.split() == ["drf", "drf:min_run=0", "static"]


def test_json_has_the_figures_of_each_run(trace: str) -> None:
    """First come, first served by hand: 2 GPUs to 600 s, 4 to 1,200 s, 1 to 1,500 s."""
    result = simulate(trace, "--cluster", "1x4gpu", "--policy", "static", "--round", "0", "--json")

    (run,) = json.loads(result.stdout)["runs"]
    assert run["summary"]["completion_s"]["mean"] == pytest.approx((600 + 1200 + 1440) / 3)
    assert run["summary"]["makespan_s"] == 1500
    assert "apps" not in run


def test_out_gets_a_report_and_the_results(trace: str, tmp_path: Path) -> None:
    """Results in full, so that another report can be made of them."""
    out = tmp_path / "out"

    result = simulate(trace, "--cluster", "1x4gpu", "--policy", "static", "--out", str(out))

    assert result.exit_code == 0
    assert (out / "report.html").exists()
    results = from_json((out / "results.json").read_bytes())
    assert len(results.runs[0].apps) == 3


def test_several_runs_use_several_processes(trace: str) -> None:
    """Same results as one after the other, in the order asked for."""
    words = (
        trace,
        "--cluster",
        "1x4gpu",
        "--policy",
        "static",
        "--seed",
        "0",
        "--seed",
        "1",
        "--json",
    )

    one = json.loads(simulate(*words).stdout)["runs"]
    two = json.loads(simulate(*words, "--cores", "2").stdout)["runs"]

    assert [run["seed"] for run in two] == [0, 1]
    for run in (*one, *two):
        for measured in ("wall_s", "cpu_s", "decision_ms"):
            del run["summary"][measured]
    assert one == two


def test_what_does_not_fit_is_left_out_and_said(trace: str) -> None:
    """Otherwise one job too large would stop everything behind it."""
    result = simulate(trace, "--cluster", "1x2gpu", "--policy", "static")

    assert "Note: 1 of 3 jobs are left out" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: cannot be read"),
        (("--policy", "best"), "--policy: 'best' is no policy (one of goodput"),
        (("--policy", "drf:speed=1"), "'speed=1' is no option of a policy"),
        (("--policy", "drf:loss=much"), "'loss=much' does not give a number"),
        (("--policy", "drf:loss=-1"), "is refused"),
        (("--cluster", "big"), "--cluster: 'big' is no group of nodes"),
        (("--elastic", "2"), "--elastic: '2' is no pair of bounds"),
        (("--restart", "60"), "must be a span of time"),
    ],
)
def test_mistakes_are_explained(words: tuple[str, ...], message: str) -> None:
    """Exit code 2, no traceback."""
    result = simulate(*words)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
