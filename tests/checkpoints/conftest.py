"""What the tests of checkpoints on real disks share."""

from pathlib import Path

import pytest

from tests.checkpoints.storage import Storage


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """An empty mount."""
    root = tmp_path / "mount"
    root.mkdir()
    return Storage(root)
