"""The child process: reads requests from stdin, plans, answers on what was stdout.

`python -m dorm.planner.child PARENT_PID MEMORY_BYTES_MAX NICENESS`, started by `dorm.planner.pipe`.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import BinaryIO, Final

import msgspec

from dorm import failpoints
from dorm.planner import limits
from dorm.planner.messages import LENGTH, Answer, Receiver, Request, frame
from events.layouts import LayoutDecided
from events.state import ClusterState
from reconcilers import layout

ERROR_LENGTH_MAX: Final = 300

Decide = Callable[[ClusterState, str | None], tuple[LayoutDecided, ...]]
"""State and policy in, decision out."""


def main(arguments: list[str], decide: Decide) -> None:
    """Serve one parent until it closes its end of the pipe."""
    parent_pid, memory_bytes_max, niceness = (int(argument) for argument in arguments)
    limits.apply(parent_pid=parent_pid, memory_bytes_max=memory_bytes_max, niceness=niceness)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Solvers like to print; what they print must not stand between two answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    failpoints.arm(os.environ.get(failpoints.VARIABLE, ""))
    try:
        _serve(sys.stdin.buffer, answers, decide)
    except MemoryError:
        os._exit(limits.EXIT_MEMORY)  # Nothing here can be relied on any more.


def _serve(requests: BinaryIO, answers: BinaryIO, decide: Decide) -> None:
    receiver = Receiver()
    while body := _read(requests):  # Ends when the parent closes the pipe.
        begun_s = time.process_time()
        request = msgspec.msgpack.decode(body, type=Request)
        failpoints.point("planner.request.read")
        limits.allow_cpu_s(request.cpu_s_max)
        decisions, error = _attempt(decide, receiver.state(request), request.policy)
        answer = Answer(
            decisions=decisions,
            error=error,
            cpu_ms=int((time.process_time() - begun_s) * 1000),
            rss_bytes=limits.rss_bytes(),
        )
        failpoints.point("planner.answer.unwritten")
        answers.write(frame(answer))
        answers.flush()


def _attempt(
    decide: Decide, state: ClusterState, policy: str | None
) -> tuple[tuple[LayoutDecided, ...], str]:
    try:
        return decide(state, policy), ""
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
        return (), f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]


def _read(requests: BinaryIO) -> bytes:
    """Return the body of the next request; nothing at the end."""
    header = requests.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return b""
    (length,) = LENGTH.unpack(header)
    return requests.read(length)


if __name__ == "__main__":
    import reconcilers.layout.optimizer.solve  # noqa: F401 - now, so that no plan has to wait for it

    main(sys.argv[1:], layout.plan)
