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


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        ("0,1e300,1,0,1", "duration_s: '1e300' must be at most"),
        ("1e300,10,1,0,1", "submit_s: '1e300' must be at most"),
        ("0,10,1,99999999999999999999,1", "must be at most 1000"),
        ("0,10,1,0,1e308", "weight: '1e308' must be at most"),
    ],
)
def test_numbers_beyond_all_use_are_refused(tmp_path: Path, job: str, fault: str) -> None:
    """One line with the field; further in, they would overflow the solver's numbers."""
    path = tmp_path / "huge.csv"
    path.write_text(f"submit_s,duration_s,gpus,priority,weight\n{job}\n")

    result = simulate(str(path), "--cluster", "1x4gpu")

    assert result.exit_code == 2
    assert fault in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_maximum_beyond_all_clusters_is_as_good_as_none(tmp_path: Path) -> None:
    """Whoever writes a huge number means "as many as there are"."""
    path = tmp_path / "greedy.csv"
    path.write_text("submit_s,duration_s,gpus,min,max\n0,10,1,1,999999999999\n")

    assert simulate(str(path), "--cluster", "1x4gpu").exit_code == 0


@pytest.mark.parametrize("option", ["--alpha", "--restart-spread"])
def test_nan_is_within_no_bounds(trace: str, option: str) -> None:
    """Click lets it through; every comparison further in would be false."""
    result = simulate(trace, "--cluster", "1x4gpu", option, "nan")

    assert result.exit_code == 2
    assert "nan is no number" in result.stderr


def test_nodes_may_fail_once_in_a_month(trace: str) -> None:
    """As the documentation has it; spans of a spec end at a week."""
    result = simulate(trace, "--cluster", "1x4gpu", "--node-mtbf", "720h", "--node-repair", "1h")

    assert result.exit_code == 0


def test_nodes_that_fail_before_any_checkpoint_are_refused(trace: str) -> None:
    """Such a simulation would never end."""
    result = simulate(trace, "--cluster", "1x4gpu", "--node-mtbf", "1ms")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --node-mtbf")


def test_what_the_yaml_parser_says_fits_on_one_line(tmp_path: Path) -> None:
    """Every error is one line."""
    path = tmp_path / "bad.yaml"
    path.write_text("a: [\n")

    assert simulate(str(path), "--cluster", "1x4gpu").stderr.count("\n") == 1


def test_a_factor_beyond_all_use_is_refused(trace: str) -> None:
    """The optimizer would multiply it to infinity."""
    result = simulate(trace, "--cluster", "1x4gpu", "--policy", "goodput:price=1e308")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --policy")
