"""The ranks of one generation, joined by sockets, and the sum over all of them."""

import contextlib
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from model import Floats

CONNECT_S = 120.0  # peers start when their node has pulled the image
SILENCE_S = 30.0  # a peer that says nothing for so long is dead, and we end too
GREETING = struct.Struct("!II")  # rank, generation
LENGTH = struct.Struct("!I")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which rank this is, of how many, and where rank 0 listens."""

    rank: int
    size: int
    generation: int
    master: str
    port: int


class Group:
    """The ranks in a star around rank 0."""

    def __init__(self, place: Place, between_tries: Callable[[], None]) -> None:
        """Wait for everybody. Peers may start in any order, and late."""
        self.rank = place.rank
        ends_at = time.monotonic() + CONNECT_S
        self._peers: list[socket.socket] = []
        if place.size > 1 and place.rank == 0:
            self._peers = _accept_all(place, between_tries, ends_at)
        elif place.size > 1:
            self._peers = [_connect(place, between_tries, ends_at)]

    def broadcast(self, vector: Floats | None) -> Floats:
        """Return rank 0's vector on every rank."""
        if self.rank != 0:
            received = _receive(self._peers[0])
            self._peers[0].settimeout(SILENCE_S)  # everybody is there now
            return received
        assert vector is not None, "rank 0 has something to say"
        for peer in self._peers:
            _send(peer, vector)
        return vector

    def sum(self, vector: Floats) -> Floats:
        """Return the sum of every rank's vector, the same bits on every rank."""
        if self.rank != 0:
            _send(self._peers[0], vector)
            return self.broadcast(None)
        total = vector.copy()
        for peer in self._peers:
            total += _receive(peer)
        return self.broadcast(total)


def _accept_all(
    place: Place, between_tries: Callable[[], None], ends_at: float
) -> list[socket.socket]:
    """Return the connections of ranks 1, 2 ... in that order, so that sums are reproducible."""
    peers: dict[int, socket.socket] = {}
    with socket.create_server(("", place.port)) as listener:
        listener.settimeout(0.5)
        while len(peers) < place.size - 1:
            between_tries()
            if time.monotonic() > ends_at:
                sys.exit(f"only {len(peers) + 1} of {place.size} ranks came")
            with contextlib.suppress(TimeoutError, ConnectionError):
                peer, _ = listener.accept()
                peer.settimeout(SILENCE_S)
                rank, generation = GREETING.unpack(_receive_bytes(peer, GREETING.size))
                if generation == place.generation:
                    peers[rank] = peer
    return [peer for _, peer in sorted(peers.items())]


def _connect(place: Place, between_tries: Callable[[], None], ends_at: float) -> socket.socket:
    """Return the connection to rank 0, whose name may not even exist yet."""
    while time.monotonic() < ends_at:
        between_tries()
        try:
            peer = socket.create_connection((place.master, place.port), timeout=2.0)
        except OSError:
            time.sleep(0.2)
            continue
        peer.settimeout(CONNECT_S)  # rank 0 speaks first, when the last rank has come
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(GREETING.pack(place.rank, place.generation))
        return peer
    sys.exit(f"rank 0 did not answer at {place.master}:{place.port}")


def _send(peer: socket.socket, vector: Floats) -> None:
    peer.sendall(LENGTH.pack(vector.nbytes) + vector.tobytes())


def _receive(peer: socket.socket) -> Floats:
    (length,) = LENGTH.unpack(_receive_bytes(peer, LENGTH.size))
    return np.frombuffer(_receive_bytes(peer, length), dtype=np.float64)


def _receive_bytes(peer: socket.socket, length: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < length:  # each turn reads some bytes or leaves
        piece = peer.recv(length - len(pieces))
        if not piece:
            raise ConnectionError("a peer is gone")
        pieces += piece
    return bytes(pieces)
