"""The master's end of the child: start it, ask it, and end it when it does not behave."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import attrs
import msgspec
import structlog

from dorm.config import PlannerConfig
from dorm.planner.limits import EXIT_MEMORY
from dorm.planner.messages import ANSWER_BYTES_MAX, LENGTH, Answer, Sender, frame
from events.state import ClusterState

_log = structlog.get_logger()

COMMAND: Final = (sys.executable, "-m", "dorm.planner.child")

_READ_BYTES: Final = 1 << 20
_END_S: Final = 5.0
_ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


class Fault(StrEnum):
    """How a child let us down."""

    DIED = "died"
    CPU = "cpu"
    MEMORY = "memory"
    TIME = "time"
    RAISED = "raised"
    NONSENSE = "nonsense"


@attrs.frozen
class Failure:
    """An attempt without a decision: the kind, and a sentence for people."""

    fault: Fault
    sentence: str


class Pipe:
    """One child at a time, kept alive between requests, started when it is needed."""

    def __init__(self, config: PlannerConfig, command: Sequence[str] = COMMAND) -> None:
        self._config, self._command = config, tuple(command)
        self._sender = Sender()
        self._process: asyncio.subprocess.Process | None = None
        self._answered = 0

    @property
    def pid(self) -> int | None:
        """Return the child's process id; None while there is none."""
        return self._process.pid if self._process else None

    @property
    def is_fresh(self) -> bool:
        """Return whether the next request is the first that its child sees."""
        return self._answered == 0

    async def ask(self, state: ClusterState, policy: str | None) -> Answer | Failure:
        """Have the child plan.

        When that fails, or is cancelled, the child is gone, unless it could say by itself why.
        """
        outcome: Answer | Failure | None = None
        try:
            async with asyncio.timeout(self._config.wall_s_max):
                outcome = await self._exchange(state, policy)
        except TimeoutError:
            outcome = Failure(Fault.TIME, f"no plan came within {self._config.wall_s_max:g} s")
        except (OSError, EOFError):  # a broken pipe, or the end of one
            outcome = self._epitaph(await self._exit_code())
        finally:
            if outcome is None or (
                isinstance(outcome, Failure) and outcome.fault is not Fault.RAISED
            ):
                await self.end()
            else:
                self._answered += 1
        return outcome

    async def warm(self) -> None:
        """Start a child, if there is none, so that the first request does not wait for that.

        One that cannot be started is no error yet: the first request will say so.
        """
        if self._process is None:
            with contextlib.suppress(OSError):
                await self._start()

    async def end(self) -> None:
        """End the child, if there is one."""
        process, self._process = self._process, None
        self._answered = 0
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            try:
                await _gone(process)
            except TimeoutError:
                _log.error(
                    "planner.lingers", pid=process.pid
                )  # Even SIGKILL has to wait for a disk.

    async def _exit_code(self) -> int | None:
        """Return how a child that closed its pipe ended, negative for a signal; None without one.

        It is not killed unless it lingers: asyncio loses the exit code of a process that is
        killed when it is dead.
        """
        if self._process is None:
            return None
        process = self._process
        with contextlib.suppress(TimeoutError):
            await _gone(process)
        await self.end()
        return process.returncode

    async def _exchange(self, state: ClusterState, policy: str | None) -> Answer | Failure:
        process = self._process or await self._start()
        assert process.stdin
        assert process.stdout
        request = self._sender.request(state, policy, self._config.cpu_s_max)
        process.stdin.write(frame(request))
        await process.stdin.drain()
        (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        if length > ANSWER_BYTES_MAX:
            return Failure(Fault.NONSENSE, f"the planner announced an answer of {length} bytes")
        try:
            answer = msgspec.msgpack.decode(await process.stdout.readexactly(length), type=Answer)
        except msgspec.MsgspecError as error:
            return Failure(Fault.NONSENSE, f"the planner's answer is none: {error}")
        return (
            Failure(Fault.RAISED, f"the planner failed: {answer.error}") if answer.error else answer
        )

    async def _start(self) -> asyncio.subprocess.Process:
        self._sender.forget()
        config = self._config
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            *(str(os.getpid()), str(config.memory_bytes_max), str(config.niceness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            limit=_READ_BYTES,
            start_new_session=True,  # Ctrl-C is the master's; it ends its child itself.
        )
        _log.info("planner.started", pid=self._process.pid)
        return self._process

    def _epitaph(self, code: int | None) -> Failure:
        if code is None:
            return Failure(Fault.DIED, "the planner cannot be started")
        if code == -signal.SIGXCPU:
            limit_s = self._config.cpu_s_max
            return Failure(Fault.CPU, f"the planner used more than {limit_s} s of CPU time")
        if code == EXIT_MEMORY:
            mebibytes = self._config.memory_bytes_max >> 20
            return Failure(Fault.MEMORY, f"the planner needed more than {mebibytes} MiB of memory")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return Failure(Fault.DIED, f"the planner {how}")


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process, and take what it left in its pipes.

    Without that asyncio would wait for ever for somebody to read it.
    """
    async with asyncio.timeout(_END_S):
        await process.communicate()
