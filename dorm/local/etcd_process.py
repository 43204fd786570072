"""etcd servers as child processes of this one: for `dorm dev`, the demo and the tests."""

import contextlib
import http
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from events.errors import Unavailable

HOST: Final = "127.0.0.1"
READY_S: Final = 20.0
STOP_S: Final = 5.0
LOG_TAIL_LINES: Final = 5
_FLAGS: Final = (
    "--logger=zap",
    "--pre-vote=true",  # off in 3.4: a healed partition then stalls the whole cluster for seconds
    "--quota-backend-bytes=4294967296",
    "--auto-compaction-mode=periodic",
    "--auto-compaction-retention=1h",
)


class EtcdProcess:
    """One member. It can be killed, frozen, and started again on the same data."""

    def __init__(self, command: Sequence[str], *, endpoint: str, log_path: Path) -> None:
        """Start it."""
        self.endpoint = endpoint
        self._command, self._log_path = tuple(command), log_path
        self._process = self._spawn()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is there; a frozen one is."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it without a word, as a power cut does."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop it in place: it holds its connections and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start it again on the same data. Only after it has ended."""
        assert not self.running, "a member that runs is not started again"
        self._process = self._spawn()

    def ask_to_stop(self) -> None:
        """Ask it to end in order; a frozen one is let go on, so that it can."""
        self.thaw()
        self._process.terminate()

    def stop(self) -> None:
        """End it in order, or by force when it does not end within `STOP_S`."""
        self.ask_to_stop()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def log_tail(self) -> str:
        """Return the last lines it wrote, for an error message."""
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._log_path.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - the command is ours, its path was looked up
                self._command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for the parent, which stops it last
            )


class EtcdCluster:
    """One member or several, on free ports of the loopback interface.

    Attributes:
        endpoints: Of the members, as `host:port`.
    """

    def __init__(self, members: Sequence[EtcdProcess]) -> None:
        self.members = tuple(members)
        self.endpoints = tuple(member.endpoint for member in members)

    @classmethod
    def start(
        cls,
        binary: Path | str,
        *,
        data_dir: Path,
        size: int = 1,
        client_ports: Sequence[int] = (),
        fsync: bool = True,
    ) -> "EtcdCluster":
        """Start a cluster and wait until every member serves.

        Args:
            binary: The etcd to run.
            data_dir: Kept. One member that is started there again finds its data; several do not
                find each other again, because their ports among themselves are new each time.
            size: How many members.
            client_ports: One per member; free ones when left out.
            fsync: False trades durability for speed, in tests.

        Raises:
            Unavailable: A member ended or did not serve in time; the message has its last words.
        """
        data_dir.mkdir(parents=True, exist_ok=True)
        free = free_ports(2 * size)
        ports = tuple(client_ports) or free[:size]
        peers = free[size:] if size > 1 else (0,)
        everybody = ",".join(f"n{i}=http://{HOST}:{peer}" for i, peer in enumerate(peers))
        with contextlib.ExitStack() as undo:
            members: list[EtcdProcess] = []
            for i, (port, peer) in enumerate(zip(ports, peers, strict=True)):
                command = (
                    os.fspath(binary),
                    f"--name=n{i}",
                    f"--data-dir={data_dir / f'n{i}'}",
                    f"--listen-client-urls=http://{HOST}:{port}",
                    f"--advertise-client-urls=http://{HOST}:{port}",
                    f"--listen-peer-urls=http://{HOST}:{peer}",
                    f"--initial-advertise-peer-urls=http://{HOST}:{peer}",
                    f"--initial-cluster={everybody}",
                    *_FLAGS,
                    *(() if fsync else ("--unsafe-no-fsync",)),
                )
                log_path = data_dir / f"n{i}.log"
                member = EtcdProcess(command, endpoint=f"{HOST}:{port}", log_path=log_path)
                undo.callback(member.stop)
                members.append(member)
            cluster = cls(members)
            cluster.wait_until_healthy()
            undo.pop_all()
        return cluster

    def wait_until_healthy(self, *, timeout_s: float = READY_S) -> None:
        """Wait until every member says that it can serve: it has joined and sees a leader.

        Raises:
            Unavailable: A member ended, or the time is up.
        """
        ends_at = time.monotonic() + timeout_s
        for member in self.members:
            while not _is_healthy(member.endpoint):
                if not member.running or time.monotonic() > ends_at:
                    raise Unavailable(
                        f"etcd at {member.endpoint} did not start; its last words:\n"
                        f"{member.log_tail()}"
                    )
                time.sleep(0.05)

    def stop(self) -> None:
        """End every member; all are asked first, because one may wait for another."""
        for member in self.members:
            member.ask_to_stop()
        for member in self.members:
            member.stop()


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports of the loopback interface that nobody listens on now."""
    with contextlib.ExitStack() as open_sockets:
        ports = []
        for _ in range(count):
            listener = open_sockets.enter_context(socket.socket())
            listener.bind((HOST, 0))
            ports.append(listener.getsockname()[1])
        return tuple(ports)


def _is_healthy(endpoint: str) -> bool:
    connection = http.client.HTTPConnection(endpoint, timeout=1.0)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status == http.HTTPStatus.OK and b'"true"' in answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
