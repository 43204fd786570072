"""Which Dorm this is."""

from importlib import metadata
from typing import Final

DISTRIBUTION: Final = "dorm-cluster"


def dorm_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "not installed"
