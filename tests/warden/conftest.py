"""What the tests of the warden share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dorm.warden.groups import Kernel
from tests.warden.nodes import Node, hierarchies


@pytest.fixture(params=hierarchies(), ids=lambda kernel: kernel.name)
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
