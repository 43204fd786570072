"""The labels by which containers are recognised, and told apart from everyone else's."""

from collections.abc import Mapping
from typing import Final

CLUSTER: Final = "dorm.cluster"
NODE: Final = "dorm.node"
APP: Final = "dorm.app"
GENERATION: Final = "dorm.generation"
RANK: Final = "dorm.rank"
REVISION: Final = "dorm.revision"
EPOCH: Final = "dorm.epoch"
ORIGIN: Final = "dorm.origin"
TENURE: Final = "dorm.tenure"


def of_node(cluster: str, node_id: str) -> dict[str, str]:
    """Return the labels that every container of one agent carries, and no other has together."""
    return {CLUSTER: cluster, NODE: node_id}


def of_container(
    key: tuple[str, int, int], revision: int, *, epoch: int = 1, origin: str = ""
) -> dict[str, str]:
    """Return the labels that say which container it is, and from which document it was made."""
    app_id, generation, rank = key
    return {
        APP: app_id,
        GENERATION: str(generation),
        RANK: str(rank),
        REVISION: str(revision),
        EPOCH: str(epoch),
        ORIGIN: origin,
    }


def of_tenure(tenure: str) -> dict[str, str]:
    """Return the label that says in which tenure of its node a container was made, if in any."""
    return {TENURE: tenure} if tenure else {}


def carries(labels: Mapping[str, str], required: Mapping[str, str]) -> bool:
    """Return whether all of the required labels are there, with those values."""
    return all(labels.get(name) == value for name, value in required.items())
