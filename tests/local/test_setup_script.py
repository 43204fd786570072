"""`deploy/setup.sh` on machines that lack something, and what the lock files promise."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from dorm.local.places import checkout
from tests.local.programs import program

ROOT = checkout() or Path()
LOCKS = ("requirements.lock", "requirements-build.lock")


def _setup(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in a copy of the checkout on a machine that has almost nothing."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/setup.sh", tmp_path / "deploy/setup.sh")
    for name in (*LOCKS, "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for tool in ("bash", "env", "dirname", "cat", "sha256sum"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    return subprocess.run(
        [tmp_path / "deploy/setup.sh"],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_without_python_and_apt_the_user_is_told_what_dorm_needs(tmp_path: Path) -> None:
    """Set-up cannot know how to install Python on every system."""
    done = _setup(tmp_path)

    assert done.returncode == 1
    assert "setup: Dorm needs Python 3.11 or newer" in done.stderr
    assert "PYTHON=/path make setup" in done.stderr


def test_without_root_the_user_gets_the_exact_command(tmp_path: Path) -> None:
    """It can be pasted into the terminal."""
    program(tmp_path / "bin/apt-get", "exit 1")
    program(tmp_path / "bin/id", "echo 1000")

    done = _setup(tmp_path)

    assert done.returncode == 1
    assert "Run: sudo apt-get install python3 python3-venv" in done.stderr


def test_a_failure_of_apt_is_not_taken_for_an_old_python(tmp_path: Path) -> None:
    """The user must look at the network or the archive, not for another Python."""
    program(tmp_path / "bin/apt-get", "echo 'E: no archive' >&2; exit 100")
    program(tmp_path / "bin/id", "echo 0")

    done = _setup(tmp_path)

    assert done.returncode == 1
    assert "E: no archive" in done.stderr
    assert "setup: apt failed" in done.stderr
    assert "too old" not in done.stderr


def test_a_python_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    """A probe that fails is no Python for us, whatever its name."""
    program(tmp_path / "bin/python3", "exit 1")

    assert "Dorm needs Python 3.11" in _setup(tmp_path).stderr


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_hash_and_no_address(name: str) -> None:
    """What is installed is what was locked, from whatever index a machine uses."""
    text = (ROOT / name).read_text()
    entries = re.split(
        r"\n(?=[a-z])", text[text.index("\n", text.index("make lock")) + 1 :].strip()
    )

    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text


def test_the_lock_has_every_dependency() -> None:
    """A dependency that was added without `make lock` would be missing on a clean machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    wanted = {
        "requirements.lock": [*project["project"]["dependencies"], *groups["dev"]],
        "requirements-build.lock": groups["build"],
    }
    for name, requirements in wanted.items():
        locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / name).read_text(), re.MULTILINE))
        names = {re.match(r"[\w-]+", line)[0].lower() for line in requirements}  # type: ignore[index]
        assert names - locked == set()


def test_no_other_distribution_owns_our_packages() -> None:
    """PyPI's `dorm` and `Events` are other people's; installed beside us they would replace us."""
    owners = importlib.metadata.packages_distributions()

    for package in ("dorm", "events", "reconcilers"):
        assert set(owners.get(package, [])) <= {"dorm-cluster"}


def test_scripts_are_executable() -> None:
    """`make` and CI run them by name."""
    for script in ("deploy/setup.sh", "deploy/lock.sh", "deploy/images/bootstrap.sh", ".ci/run"):
        assert os.access(ROOT / script, os.X_OK), script
