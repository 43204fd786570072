"""etcd servers as child processes of this one: for `dorm dev`, the demo and the tests."""

import contextlib
import http
import http.client
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dorm.local.processes import Child
from events.errors import Unavailable

HOST: Final = "127.0.0.1"
READY_S: Final = 20.0
QUOTA_BYTES: Final = 4 << 30
_FLAGS: Final = (
    "--logger=zap",
    "--pre-vote=true",  # off in 3.4: a healed partition then stalls the whole cluster for seconds
    "--auto-compaction-mode=periodic",
    "--auto-compaction-retention=1h",
)


class EtcdProcess(Child):
    """One member. It can be killed, frozen, and started again on the same data.

    Attributes:
        endpoint: Where it serves clients, as `host:port`.
    """

    def __init__(self, command: Sequence[str], *, endpoint: str, log_path: Path) -> None:
        """Start it."""
        super().__init__(f"etcd at {endpoint}", command, log_path=log_path)
        self.endpoint = endpoint


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
        quota_bytes: int = QUOTA_BYTES,
    ) -> "EtcdCluster":
        """Start a cluster and wait until every member serves.

        Args:
            binary: The etcd to run.
            data_dir: Kept. One member that is started there again finds its data; several do not
                find each other again, because their ports among themselves are new each time.
            size: How many members.
            client_ports: One per member; free ones when left out.
            fsync: False trades durability for speed, in tests.
            quota_bytes: How large the database of a member may become.

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
                    f"--quota-backend-bytes={quota_bytes}",
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
                        f"{member.name} did not start; its last words:\n{member.last_words()}"
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
