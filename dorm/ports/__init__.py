"""The ports: what masters and agents need of the world.

Masters and agents take these protocols and nothing else, so the same code runs on real machines
and, unchanged, in the seeded simulation (`tests/simulation`).
"""

from dorm.ports.checkpoints import Checkpoints
from dorm.ports.clock import Clock, Randomness
from dorm.ports.docker import ContainerSeen, Docker, Launch
from dorm.ports.etcd import Compare, Delete, Etcd, Get, KeyValue, Lease, Put, TxnResult, WatchEvent
from dorm.ports.files import Files
from dorm.ports.masters import Masters
from dorm.ports.warden import Warden

__all__ = [
    "Checkpoints",
    "Clock",
    "Compare",
    "ContainerSeen",
    "Delete",
    "Docker",
    "Etcd",
    "Files",
    "Get",
    "KeyValue",
    "Launch",
    "Lease",
    "Masters",
    "Put",
    "Randomness",
    "TxnResult",
    "Warden",
    "WatchEvent",
]
