"""Short ways to say a whole snapshot; every default is the dullest legal value."""

from collections.abc import Mapping
from typing import Any

from reconcilers.layout import AppRequest, Decision, FixedRole, NodeOffer, Options, Snapshot
from tests.builders import amount


def an_offer(
    node_id: str = "n1", *, cpus: float = 4, memory_gib: float = 16, gpus: int = 0, rack: str = ""
) -> NodeOffer:
    """A healthy node, all of it available."""
    return NodeOffer(node_id=node_id, capacity=amount(cpus, memory_gib, gpus), rack=rack)


def a_request(
    app_id: str = "a",
    *,
    cpus: float = 1,
    gpus: int = 0,
    placement: Mapping[str, int] | None = None,
    **more: Any,  # noqa: ANN401 - any other field of the request
) -> AppRequest:
    """An application of 1 to 4 containers of one cpu and 1 GiB each."""
    return AppRequest(
        **{
            "app_id": app_id,
            "demand": amount(cpus, 1, gpus),
            "min": 1,
            "max": 4,
            "placement": placement or {},
            **more,
        }
    )


def a_role(name: str = "ps", *, cpus: float = 1, count: int = 1) -> FixedRole:
    """Parameter servers of one cpu and 1 GiB each."""
    return FixedRole(name=name, demand=amount(cpus, 1), count=count)


def a_snapshot(
    *parts: NodeOffer | AppRequest,
    policy: str = "drf",
    **options: Any,  # noqa: ANN401 - any other option
) -> Snapshot:
    """Nodes and applications; the latter in order of submission unless they say otherwise."""
    return Snapshot(
        nodes=tuple(part for part in parts if isinstance(part, NodeOffer)),
        apps=tuple(part for part in parts if isinstance(part, AppRequest)),
        options=Options(**{"policy": policy, "min_run_ms": 0, **options}),
    )


def sizes(decision: Decision) -> dict[str, int]:
    """Elastic containers by application; who waits is left out."""
    return {app_id: sum(nodes.values()) for app_id, nodes in decision.placements.items()}
