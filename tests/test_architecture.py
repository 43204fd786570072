"""Tidiness as a test: what every file keeps to, whoever writes it."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PURE: Final = ("events", "reconcilers")
LINES_MAX: Final = 400  # CONTRIBUTING asks for 300; this is where a file has two ideas for certain
SOURCES: Final = sorted(
    path
    for package in ("dorm", "events", "reconcilers", "tests")
    for path in (ROOT / package).rglob("*.py")
    if "node_modules" not in path.parts
)


def name_of(path: Path) -> str:
    """Return a path as it is written in the repository."""
    return str(path.relative_to(ROOT))


def imported_by(tree: ast.Module) -> Iterator[str]:
    """Yield the full name of every module that is imported, also inside of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.fixture(params=SOURCES, ids=name_of)
def source(request: pytest.FixtureRequest) -> Path:
    """Each Python file of the repository."""
    path: Path = request.param
    return path


def test_a_file_has_one_idea(source: Path) -> None:
    """A file of one idea is short, and its docstring says which."""
    text = source.read_text()

    assert len(text.splitlines()) < LINES_MAX
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_nothing_is_patched(source: Path) -> None:
    """Effects stand behind ports; whoever has to patch found one that does not."""
    names = list(imported_by(ast.parse(source.read_text())))

    assert [] == [name for name in names if name.split(".")[:2] == ["unittest", "mock"]]


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.relative_to(ROOT).parts[0] in PURE], ids=name_of
)
def test_pure_code_imports_nothing_that_touches_the_world(path: Path) -> None:
    """Replay and simulation only work while facts and decisions stay pure."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    (forbidden,) = (
        set(c["forbidden_modules"]) for c in contracts if c.get("source_modules") == [*PURE]
    )
    names = {name.split(".")[0] for name in imported_by(ast.parse(path.read_text()))}
    package = path.relative_to(ROOT).parts[0]
    ours = {"events": {"dorm", "reconcilers", "tests"}, "reconcilers": {"dorm", "tests"}}[package]

    assert set() == names & (forbidden | ours)


def test_the_files_were_found() -> None:
    """So that the tests above cannot pass by looking at nothing."""
    assert {"dorm", "events", "reconcilers", "tests"} == {
        path.relative_to(ROOT).parts[0] for path in SOURCES
    }
