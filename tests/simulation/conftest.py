"""Every `async def` test of this folder runs in virtual time, on a loop of its own."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.simulation.loop import VirtualLoop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the only kind of loop there is here."""
    del config, item
    return {"virtual": VirtualLoop}
