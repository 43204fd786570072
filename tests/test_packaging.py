"""What our distribution owns, and what nothing else may own."""

import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent


def packages() -> set[str]:
    """Return the top-level packages that the wheel carries."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return set(config["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def test_no_other_distribution_owns_our_top_level_names() -> None:
    """PyPI's `Events` would silently overwrite events/__init__.py; find out here, not there."""
    intruders = {
        distribution.name
        for distribution in metadata.distributions()
        if distribution.name != "dorm-cluster"
        for file in distribution.files or ()
        if file.parts[0].removesuffix(".py") in packages()
    }

    assert set() == intruders


def test_every_package_of_ours_is_carried_and_typed() -> None:
    """A package without `py.typed` is untyped for whoever imports it."""
    assert {"dorm", "events", "reconcilers"} == packages()
    assert [] == [name for name in sorted(packages()) if not (ROOT / name / "py.typed").exists()]
