"""What agents report of their machines, and what masters conclude about them."""

from collections.abc import Mapping

import attrs
from attrs.validators import ge, in_, max_len, min_len

from events.units import Resources, at_least_one_demand


@attrs.frozen(kw_only=True)
class Device:
    """One GPU, or one slice of one, that can be given to a container.

    Attributes:
        uuid: The key; indices change across reboots.
    """

    uuid: str
    model: str = ""
    memory_bytes: int = attrs.field(default=0, validator=ge(0))


@attrs.frozen(kw_only=True)
class NodeReported:
    """An agent described its machine: at its start, and whenever the description changes.

    Attributes:
        capacity: What containers may use; `gpu_count` equals the number of `devices`.
        address: Name or address by which containers on other nodes reach this machine.
        api_url: Where the agent answers, for logs.
        network: `bridge`: containers reach each other by container name, on a network that spans
            the nodes; `host`: containers use the node's address and a port of their own.
        port_min, port_max: Ports that containers of this node may be given, both inclusive.
        incarnation: New at each start of the agent.
        tenure: The right to run containers that the agent holds; the same for every start of one
            agent until masters end it. Empty for a node that cannot be fenced.
    """

    node_id: str = attrs.field(validator=[min_len(1), max_len(63)])
    incarnation: str
    capacity: Resources = attrs.field(validator=at_least_one_demand)
    devices: tuple[Device, ...] = ()
    address: str = ""
    api_url: str = ""
    network: str = attrs.field(default="bridge", validator=in_(("bridge", "host")))
    port_min: int = attrs.field(default=20_000, validator=ge(1))
    port_max: int = 29_999
    labels: Mapping[str, str] = attrs.field(factory=dict)
    versions: Mapping[str, str] = attrs.field(factory=dict)
    tenure: str = ""

    def __attrs_post_init__(self) -> None:
        """Refuse a report that contradicts itself."""
        if self.capacity.gpu_count != len(self.devices):
            gpus, devices = self.capacity.gpu_count, len(self.devices)
            msg = f"{self.node_id}: gpu_count is {gpus}, devices {devices}"
            raise ValueError(msg)
        if self.port_max < self.port_min:
            msg = f"{self.node_id}: port_max ({self.port_max}) is below port_min ({self.port_min})"
            raise ValueError(msg)


@attrs.frozen(kw_only=True)
class NodeLost:
    """The node's lease ran out and stayed away. Its containers may well be running."""

    node_id: str


@attrs.frozen(kw_only=True)
class NodeReturned:
    """The node's lease is back."""

    node_id: str


@attrs.frozen(kw_only=True)
class NodeExpelled:
    """The node's tenure was ended: it may run nothing any more, and will find out or freeze.

    Its containers may run on for a moment. What they were part of cannot go on.
    """

    node_id: str
    tenure: str


@attrs.frozen(kw_only=True)
class NodeFenced:
    """So long after its tenure was ended, nothing of it runs, whatever the machine is doing."""

    node_id: str
    tenure: str


@attrs.frozen(kw_only=True)
class NodeForgotten:
    """An operator vouches that the machine is off for good, so what ran there is gone."""

    node_id: str


@attrs.frozen(kw_only=True)
class NodeSettled:
    """The agent has entered an epoch of the store: nothing is left that its history does not know.

    Until every node has, nothing new is started: it might be a second generation of something.
    """

    node_id: str
    epoch: int
