"""Clusters in short form and from files."""

from pathlib import Path

import pytest

from dorm.simulate.clusters import amounts, read_cluster
from events.errors import Rejected
from events.units import Resources

GIB = 1 << 30


def test_the_short_form_has_groups_of_equal_nodes() -> None:
    """The cluster of the paper: 240 cpus, 5 GPUs, 2.5 TiB."""
    cluster = read_cluster("15x12cpu128g+5x12cpu128g1gpu")

    assert len(cluster.nodes) == 20
    assert len({node.node_id for node in cluster.nodes}) == 20
    assert cluster.total == Resources(cpu_milli=240_000, memory_bytes=20 * 128 * GIB, gpu_count=5)


def test_what_is_not_given_follows_from_what_is() -> None:
    """Eight cpus for each GPU, 8 GiB for each cpu."""
    (node,) = read_cluster("8gpu").nodes

    assert node.capacity == Resources(cpu_milli=64_000, memory_bytes=512 * GIB, gpu_count=8)


def test_a_file_lists_nodes(tmp_path: Path) -> None:
    """With racks and names, for clusters that are not uniform."""
    path = tmp_path / "nodes.yaml"
    path.write_text(
        "nodes:\n"
        "  - {count: 2, cpu: 12, memory: 128GiB, rack: r1}\n"
        "  - {id: big, cpu: 96, gpu: 8, rack: r2}\n"
    )

    first, _, big = read_cluster(str(path)).nodes

    assert (first.capacity.memory_bytes, first.rack) == (128 * GIB, "r1")
    assert (big.node_id, big.capacity.gpu_count) == ("big", 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("20x", "'20x' is no group of nodes"),
        ("", "is no group of nodes"),
        ("20x12cores", "write 20x12cpu"),
        ("0x1gpu", "not between 1 and"),
        ("1x0cpu", "node without resources"),
        ("nowhere.yaml", "cannot be read"),
    ],
)
def test_what_is_no_cluster_is_refused(text: str, message: str) -> None:
    """With the way out."""
    with pytest.raises(Rejected, match=message):
        read_cluster(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {cpu: 12, disk: 5}", "node 1, disk: '5' is no field of a node"),
        ("- {cpu: many}", "node 1, cpu: .* must be a number"),
        ("- {cpu: 1}\n- {gpu: 1.5}", "node 2, gpu: '1.5' must be a whole number"),
        ("- 5", "node 1, node: '5' must be a mapping"),
        ("x: 1", "has no list of nodes"),
        ("- {id: a, cpu: 1}\n- {id: a, cpu: 1}", "two nodes of one id"),
        ("[", "is no YAML"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """With the place in the file."""
    path = tmp_path / "nodes.yaml"
    path.write_text(text)

    with pytest.raises(Rejected, match=message):
        read_cluster(str(path))


def test_amounts_name_their_option() -> None:
    """Several options take amounts."""
    assert amounts("4cpu16g1gpu") == Resources(cpu_milli=4_000, memory_bytes=16 * GIB, gpu_count=1)
    with pytest.raises(Rejected, match="--container: '2x1gpu' is no amount"):
        amounts("2x1gpu", field="--container")
