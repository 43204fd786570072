"""Every fail point is crashed at in some test, and every one that is written is known."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dorm import failpoints
from dorm.failpoints import EXIT_CODE, POINTS, Plan, parse
from events.errors import Rejected, Unavailable
from tests.crashes.points import AGENT, MASTER, PLANNER
from tests.simulation.crash_points import SIMULATED

ROOT = Path(__file__).parents[2]
PASS = re.compile(r"\bpoint\(\s*\"([^\"]*)\"")


def written() -> Counter[str]:
    """Return the points that the code of Dorm passes."""
    return Counter(
        name for path in (ROOT / "dorm").rglob("*.py") for name in PASS.findall(path.read_text())
    )


def test_the_code_passes_the_points_that_are_listed_each_at_one_place() -> None:
    """A point that is misspelt would never fire, and one at two places says nothing."""
    assert written() == Counter(dict.fromkeys(POINTS, 1))


def test_every_point_is_crashed_at(capsys: pytest.CaptureFixture[str]) -> None:
    """By the simulation, or by a test of real processes; each of those asserts that it was hit."""
    hit = {*SIMULATED, *AGENT, *MASTER, *PLANNER}
    with capsys.disabled():
        print(f"\ncrash points hit: {len(hit & POINTS.keys())}/{len(POINTS)}")  # noqa: T201 - the figure of a test run

    assert hit == POINTS.keys()


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("log.append.written:exit", Plan(name="log.append.written", action="exit")),
        ("log.append.written:kill@3", Plan(name="log.append.written", action="kill", nth=3)),
        (
            "log.append.written:sleep=2.5@1",
            Plan(name="log.append.written", action="sleep", seconds=2.5, nth=1),
        ),
    ],
)
def test_a_plan_is_read(text: str, plan: Plan) -> None:
    """What an operator of tests writes."""
    assert plan == parse(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("nowhere:kill", "nowhere:kill names no fail point .there are agent.memory.unwritten"),
        ("log.append.written", "names no action"),
        ("log.append.written:burn", "names no action"),
        ("log.append.written:sleep", "names no action"),
        ("log.append.written:kill=3", "names no action"),
        ("log.append.written:sleep=nan", "must sleep 0 to 3600 seconds"),
        ("log.append.written:sleep=-1", "must sleep 0 to 3600 seconds"),
        ("log.append.written:kill@0", "counts passes with no number"),
        ("log.append.written:kill@²", "counts passes with no number"),
        ("log.append.written:kill@", "counts passes with no number"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(text: str, rule: str) -> None:
    """A test whose fail point is misspelt would pass for nothing."""
    with pytest.raises(Rejected, match=rule):
        failpoints.arm(text)


def test_an_error_comes_at_the_pass_that_was_asked_for_and_at_no_other() -> None:
    """In a context of its own, so it ends with this test."""
    failpoints.arm("log.append.written:error@2, log.append.unwritten:sleep=0")

    failpoints.point("log.append.written")
    with pytest.raises(Unavailable, match=r"fail point log\.append\.written"):
        failpoints.point("log.append.written")
    failpoints.point("log.append.written")
    failpoints.point("log.append.unwritten")


def test_the_exit_code_is_none_of_dorms_own() -> None:
    """A test must be able to tell."""
    assert EXIT_CODE not in range(6)
