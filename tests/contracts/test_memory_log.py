"""The log in memory keeps the contract of the event log."""

import attrs
import pytest

from events.log import MemoryLog
from tests.contracts.log_contract import LogContract


@attrs.define
class MemoryWorld:
    """One list, written by whoever has it."""

    log: MemoryLog = attrs.field(factory=MemoryLog)

    @property
    def other(self) -> MemoryLog:
        """The same object: the log in memory has one writer."""
        return self.log

    async def elect(self) -> int:
        """See `LogWorld`."""
        self.log.epoch += 1
        return self.log.epoch


class TestMemoryLog(LogContract):
    """Against a list."""

    @pytest.fixture
    def world(self) -> MemoryWorld:
        """A new log."""
        return MemoryWorld()
