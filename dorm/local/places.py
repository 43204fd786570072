"""Where Dorm keeps what it prepares on this machine."""

import os
from pathlib import Path
from typing import Final

_PACKAGE_PARENT: Final = Path(__file__).resolve().parents[2]


def checkout() -> Path | None:
    """Return the root of the checkout that this code runs from, or None when it is installed."""
    return _PACKAGE_PARENT if (_PACKAGE_PARENT / "deploy" / "images").is_dir() else None


def local_dir() -> Path:
    """Return the directory for binaries, images' inputs and state; made if need be.

    It is `DORM_LOCAL_DIR`, else `.local` of the checkout, else a place in the user's cache.
    """
    named = os.environ.get("DORM_LOCAL_DIR")
    root = checkout()
    if named:
        path = Path(named)
    elif root:
        path = root / ".local"
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dorm"
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
