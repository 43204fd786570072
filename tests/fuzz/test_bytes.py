"""A short run of each byte fuzzer; `make fuzz` runs them longer."""

import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import CORPUS, TARGETS, seeds

ROOT: Final = Path(__file__).parents[2]
RUNS: Final = 1_000
INSTRUMENTED: Final = (sys.platform, platform.machine()) == ("linux", "x86_64")


def test_every_target_has_seeds_of_its_own_and_no_folder_is_left_over() -> None:
    """A fuzzer without a sound example spends its time on the first brace."""
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()
    assert all(seeds(name) for name in TARGETS)


@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name in TARGETS for seed in seeds(name)], ids=str
)
def test_what_was_found_once_is_mended(name: str, seed: Path) -> None:
    """A found input stays in the corpus."""
    TARGETS[name](seed.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@settings(max_examples=100, derandomize=True, database=None)
def test_a_seed_that_is_damaged_is_refused_in_words(name: str, data: st.DataObject) -> None:
    """A piece of it replaced by other bytes, of any length; needs no instrumentation."""
    raw = data.draw(st.sampled_from(seeds(name))).read_bytes()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 8)))

    TARGETS[name](raw[:start] + data.draw(st.binary(max_size=8)) + raw[end:])


@pytest.mark.skipif(not INSTRUMENTED, reason="atheris has packages for Linux on x86-64 only")
@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run_of_the_fuzzer_finds_nothing(name: str, tmp_path: Path) -> None:
    """The same inputs each time, led by what the code does with them."""
    command = [sys.executable, "-m", "tests.fuzz", name, f"-runs={RUNS}", "-seed=1"]
    ended = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ended.returncode == 0, ended.stderr[-3000:]
    assert f"Done {RUNS} runs" in ended.stderr
