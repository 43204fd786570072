"""Every `async def` test of this folder runs in virtual time, on a loop of its own.

At the end of a test run it says how much was simulated.
"""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.simulation.loop import VirtualLoop
from tests.simulation.stage import Tally

TALLIES = pytest.StashKey[list[Tally]]()


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the only kind of loop there is here."""
    del config, item
    return {"virtual": VirtualLoop}


@pytest.fixture(scope="session")
def tallies(pytestconfig: pytest.Config) -> list[Tally]:
    """What came of the seeds so far; told at the end of the test run."""
    return pytestconfig.stash.setdefault(TALLIES, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how much was simulated, if anything was."""
    if tallies := config.stash.get(TALLIES, []):
        terminalreporter.section("simulation")
        terminalreporter.write_line(sum(tallies, Tally()).summary())
