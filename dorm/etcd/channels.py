"""Connections to the members of an etcd cluster: fail-over, deadlines, back-off."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import grpc
from grpc.aio import AioRpcError

from dorm.etcd.faults import Reaction, reaction, translate
from dorm.etcd.stubs import Stubs

TRY_S: Final = 0.7
"""Deadline of one try. A write through a follower is lost, without a word, when the leader dies;
this deadline then decides how long the caller stalls (measured: 1.4 to 1.7 s in all)."""

TOTAL_S: Final = 10.0
METADATA: Final = (("hasleader", "true"),)
"""Makes a member that is cut off from the others say so, instead of staying silent."""

BACKOFF_S_MIN: Final = 0.02
BACKOFF_S_MAX: Final = 0.5
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.keepalive_time_ms", 10_000),  # etcd punishes more than one ping in 5 s
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.http2.ping_timeout_ms", 3_000),  # without it a frozen server is noticed after 70 s
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)

T = TypeVar("T")
Call = Callable[[Stubs, float], Awaitable[T]]
"""Makes one try on one member, within a deadline in seconds."""


class Channels:
    """One channel per endpoint, and the one that answered last.

    One channel over all endpoints would stay on a frozen member for as long as TCP does.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        credentials: grpc.ChannelCredentials | None = None,
        total_s: float = TOTAL_S,
    ) -> None:
        """Open a channel per endpoint. The connections are made when they are needed."""
        if not endpoints:
            raise ValueError("at least one etcd endpoint is needed")
        self.endpoints = tuple(endpoints)
        self._total_s = total_s
        self._channels = [_open(endpoint, credentials) for endpoint in endpoints]
        self.stubs = tuple(Stubs(channel) for channel in self._channels)
        self._now = random.randrange(len(endpoints))  # noqa: S311 - spreads load, keeps no secret

    def pick(self) -> int:
        """Return the index of the member to talk to."""
        return self._now

    def leave(self, index: int) -> None:
        """Turn to the next member, unless somebody else did so already."""
        if self._now == index:
            self._now = (index + 1) % len(self.stubs)

    async def call(self, what: str, call: Call[T], *, try_s: float = TRY_S) -> T:
        """Return the answer of the first member that gives one.

        Raises:
            Unavailable: None did in time. A write may have been applied all the same.
            Rejected: etcd refuses this request, whoever is asked.
        """
        ends_at = asyncio.get_running_loop().time() + self._total_s
        backoff_s = BACKOFF_S_MIN
        while True:  # Ends at `ends_at` at the latest.
            index = self._now
            try:
                return await call(self.stubs[index], try_s)
            except AioRpcError as error:
                late = asyncio.get_running_loop().time() + try_s > ends_at
                if late or reaction(error) is Reaction.GIVE_UP:
                    raise translate(error, what=what) from error
            self.leave(index)
            await asyncio.sleep(backoff_s * random.random())  # noqa: S311 - jitter
            backoff_s = min(backoff_s * 2, BACKOFF_S_MAX)

    async def close(self) -> None:
        """Close every channel. End the tasks that use them first."""
        for channel in self._channels:
            await channel.close()


def _open(endpoint: str, credentials: grpc.ChannelCredentials | None) -> Any:  # noqa: ANN401 - grpc.aio.Channel
    if credentials is None:
        return grpc.aio.insecure_channel(endpoint, options=_OPTIONS)
    return grpc.aio.secure_channel(endpoint, credentials, options=_OPTIONS)
