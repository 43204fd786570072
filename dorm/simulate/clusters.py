"""The nodes of a simulated cluster: `15x12cpu128g+5x12cpu128g1gpu`, or a nodes file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
import yaml

from dorm.simulate.faults import Where, one_line, shown
from dorm.simulate.files import read_text
from dorm.spec.units import parse_cpu, parse_memory
from events.errors import Rejected
from events.units import Resources, total_of
from reconcilers.layout.snapshot import NodeOffer

CPUS_PER_GPU: Final = 8  # usual in machines for training
GIB: Final = 1 << 30
GIB_PER_CPU: Final = 8
NODES_MAX: Final = 100_000
HINT: Final = "write 20x12cpu, 64x8gpu, 15x12cpu128g+5x12cpu128g1gpu, or name a nodes file (YAML)"

_GROUP: Final = re.compile(r"(?:(\d{1,6})x)?((?:\d{1,9}(?:\.\d{1,3})?(?:cpu|gpu|g|t))+)", re.ASCII)
_AMOUNT: Final = re.compile(r"([\d.]+)(cpu|gpu|g|t)", re.ASCII)


@attrs.frozen(kw_only=True)
class Cluster:
    """Nodes in order of their ids, and what the user called them."""

    text: str
    nodes: tuple[NodeOffer, ...]

    @property
    def total(self) -> Resources:
        """Return what all nodes have together."""
        return total_of(node.capacity for node in self.nodes)


def read_cluster(text: str) -> Cluster:
    """Return the cluster that a `--cluster` option names.

    Raises:
        Rejected: It is neither the short form nor a nodes file.
    """
    if text.endswith((".yaml", ".yml", ".json")):
        nodes = _from_file(Path(text))
        return _checked(Path(text).name, nodes)
    nodes = []
    for group in re.split(r"[,+]", text):
        match = _GROUP.fullmatch(group.strip().lower())
        if match is None:
            raise Rejected("is no group of nodes", field="--cluster", value=shown(group), hint=HINT)
        nodes += _numbered(int(match[1] or 1), with_defaults(amounts(match[2])), len(nodes))
    return _checked(text, nodes)


def amounts(text: str, *, field: str = "--cluster") -> Resources:
    """Return what `12cpu128g1gpu` adds up to; `g` and `t` are GiB and TiB of memory.

    Raises:
        Rejected: It is no such text.
    """
    lower = text.lower()
    if not _GROUP.fullmatch(lower) or "x" in lower:
        hint = "write 1gpu, or 4cpu16g1gpu"
        raise Rejected("is no amount of resources", field=field, value=shown(text), hint=hint)
    sums = dict.fromkeys(("cpu", "gpu", "g", "t"), 0.0)
    for number, unit in _AMOUNT.findall(lower):
        sums[unit] += float(number)
    return Resources(
        cpu_milli=round(sums["cpu"] * 1000),
        memory_bytes=round((sums["g"] + 1024 * sums["t"]) * GIB),
        gpu_count=round(sums["gpu"]),
    )


def with_defaults(capacity: Resources) -> Resources:
    """Return it with cpus for its GPUs, and memory for its cpus, where none are given."""
    cpu_milli = capacity.cpu_milli or capacity.gpu_count * CPUS_PER_GPU * 1000
    memory = capacity.memory_bytes or cpu_milli * GIB_PER_CPU * GIB // 1000
    return attrs.evolve(capacity, cpu_milli=cpu_milli, memory_bytes=memory)


def _numbered(count: int, capacity: Resources, start: int, rack: str = "") -> list[NodeOffer]:
    if not 1 <= start + count <= NODES_MAX:
        rule = f"nodes are not between 1 and {NODES_MAX}"
        raise Rejected(rule, field="--cluster", value=str(start + count))
    return [
        NodeOffer(node_id=f"node-{start + index:05d}", capacity=capacity, rack=rack)
        for index in range(count)
    ]


def _from_file(path: Path) -> list[NodeOffer]:
    """Read a list of `{count, cpu, memory, gpu, rack}`, or the same below the name `nodes`."""
    try:
        document = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise Rejected(f"is no YAML: {one_line(error)}", field=str(path)) from error
    rows = document.get("nodes") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        hint = "write a list of {count: 20, cpu: 12, memory: 128GiB, gpu: 0, rack: r1}"
        raise Rejected("has no list of nodes", field=str(path), hint=hint)
    nodes: list[NodeOffer] = []
    for number, row in enumerate(rows, start=1):
        where = Where(path=path.name, place=f"node {number}")
        if not isinstance(row, dict):
            raise where.fault("node", row, "must be a mapping", "write {cpu: 12, memory: 128GiB}")
        nodes += _read_row(where, row, len(nodes))
    return nodes


def _read_row(where: Where, row: dict[str, object], start: int) -> Sequence[NodeOffer]:
    unknown = sorted(set(row) - {"count", "cpu", "memory", "gpu", "rack", "id"})
    if unknown:
        known = "count, cpu, memory, gpu, rack, id"
        raise where.fault(unknown[0], row[unknown[0]], "is no field of a node", f"known: {known}")
    gpus = where.whole("gpu", row.get("gpu", 0), least=0)
    cpu = parse_cpu(row["cpu"], field=where.at("cpu")) if "cpu" in row else 0
    memory = parse_memory(row["memory"], field=where.at("memory")) if "memory" in row else 0
    capacity = with_defaults(Resources(cpu_milli=cpu, memory_bytes=memory, gpu_count=gpus))
    count = where.whole("count", row.get("count", 1), least=1)
    nodes = _numbered(count, capacity, start, str(row.get("rack", "")))
    if "id" in row and count == 1:
        return [attrs.evolve(nodes[0], node_id=str(row["id"]))]
    return nodes


def _checked(text: str, nodes: list[NodeOffer]) -> Cluster:
    if not nodes or any(node.capacity == Resources() for node in nodes):
        raise Rejected("has a node without resources", field="--cluster", value=text, hint=HINT)
    if len({node.node_id for node in nodes}) < len(nodes):
        raise Rejected("has two nodes of one id", field="--cluster", value=text)
    return Cluster(text=text, nodes=tuple(nodes))
