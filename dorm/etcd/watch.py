"""A watch that never dies in silence.

etcd's own watch says nothing when the server freezes, and nothing when it cannot serve the watch
any more but for a flag in a message of a stream that stays open. Here a sign of life is asked for
every second, and silence ends the watch with an error.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc
from grpc.aio import AioRpcError

from dorm.etcd.channels import METADATA, Channels
from dorm.etcd.faults import translate
from dorm.etcd.requests import end_of
from dorm.etcd.stubs import etcdrpc
from dorm.etcd.values import key_value
from dorm.ports.etcd import WatchEvent
from events.errors import Compacted, Unavailable

PROGRESS_S: Final = 1.0
SILENCE_S: Final = 3.0


async def watch(
    channels: Channels, prefix: str, *, start_revision: int
) -> AsyncIterator[tuple[WatchEvent, ...]]:
    """Yield changes as `dorm.ports.etcd.Etcd.watch` says, from one member, until that fails."""
    index = channels.pick()
    call = channels.stubs[index].watch.Watch(metadata=METADATA)
    asking = asyncio.create_task(_ask_for_signs_of_life(call, prefix, start_revision))
    seen = start_revision - 1
    parts: list[WatchEvent] = []
    try:
        while True:  # Ends with an error: the stream's, or that of its silence.
            response = await _read(call)
            if response.canceled:
                raise _canceled(response)
            parts += (_event(event) for event in response.events)
            if response.fragment:
                continue  # The rest of this revision is still to come.
            # etcd before 3.4.24 and 3.5.8 may send again what it sent before.
            batch = tuple(event for event in parts if event.item.mod_revision > seen)
            parts.clear()
            if batch:
                seen = batch[-1].item.mod_revision
            yield batch
    except Unavailable:
        channels.leave(index)
        raise
    finally:
        asking.cancel()
        call.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _ask_for_signs_of_life(call: Any, prefix: str, start_revision: int) -> None:  # noqa: ANN401 - a grpc call
    """Open the watch, then ask for progress until cancelled. The reader sees any failure."""
    create = etcdrpc.WatchCreateRequest(
        key=prefix.encode(),
        range_end=end_of(prefix),
        start_revision=start_revision,
        fragment=True,  # else a catch-up may exceed the largest message
    )
    progress = etcdrpc.WatchRequest(progress_request=etcdrpc.WatchProgressRequest())
    with contextlib.suppress(AioRpcError, asyncio.InvalidStateError):
        await call.write(etcdrpc.WatchRequest(create_request=create))
        while True:
            await asyncio.sleep(PROGRESS_S)
            await call.write(progress)


async def _read(call: Any) -> Any:  # noqa: ANN401 - a grpc call, a message
    try:
        async with asyncio.timeout(SILENCE_S):
            response = await call.read()
    except TimeoutError as error:
        raise Unavailable(f"the watch was silent for {SILENCE_S:g} s") from error
    except AioRpcError as error:
        raise translate(error, what="a watch") from error
    if response is grpc.aio.EOF:
        raise Unavailable("etcd ended the watch")
    return response


def _canceled(response: Any) -> Compacted | Unavailable:  # noqa: ANN401 - a message
    if response.compact_revision:
        return Compacted(response.compact_revision)
    return Unavailable(f"etcd cancelled the watch: {response.cancel_reason}")


def _event(event: Any) -> WatchEvent:  # noqa: ANN401 - a message
    return WatchEvent(
        kind="delete" if event.type == event.DELETE else "put", item=key_value(event.kv)
    )
