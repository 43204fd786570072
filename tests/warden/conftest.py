"""What the tests of the warden share."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dorm.warden import mounts
from dorm.warden.groups import Kernel
from events.errors import Rejected
from tests.warden.nodes import Node

HIERARCHIES = [
    Path("/sys/fs/cgroup"),
    Path("/sys/fs/cgroup/freezer"),
    Path("/sys/fs/cgroup/unified"),
]
"""Where they usually are. A machine has one, or the two versions beside each other."""


def found() -> list[Kernel]:
    """Return each version of cgroups that this machine can freeze by."""
    kernels = []
    for path in HIERARCHIES:
        with contextlib.suppress(Rejected):
            kernels.append(mounts.find(path).guarded)
    return kernels


@pytest.fixture(params=found(), ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each version of cgroups that this machine has."""
    if os.geteuid() != 0:
        pytest.skip("cgroups are root's")
    kernel: Kernel = request.param
    return kernel


@pytest.fixture
def node(kernel: Kernel, tmp_path: Path) -> Iterator[Node]:
    """A node without a warden yet."""
    node = Node(kernel.root, tmp_path)
    yield node
    node.clean_up()
