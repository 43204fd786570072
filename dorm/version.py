"""The version of the installed Dorm."""

from importlib import metadata

DISTRIBUTION = "dorm-cluster"


def dorm_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "not installed"
