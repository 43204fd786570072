"""Which devices an application gets on a node.

Its own first, so that caches stay warm and nothing restarts for nothing. New containers get
aligned blocks, as a buddy allocator deals out memory: neighbours of a power of two share the fast
links of a machine (NVLink, PCIe switches), and large blocks stay whole for who needs them.
"""

from collections.abc import Iterable, Mapping, Sequence

from events.layouts import Partition, Slots
from events.state import App
from reconcilers.layout.claims import Group, Standing

Placements = Mapping[str, Mapping[str, int]]


def deal(apps: Iterable[App], placements: Placements, standing: Standing) -> dict[str, Partition]:
    """Return the partitions of contenders: the containers of `placements`, with their devices.

    Args:
        apps: The contenders, in order of submission.
        placements: Containers by app and node; what is missing has none.
        standing: What they have, and which devices there are.
    """
    apps = tuple(apps)
    hands = {
        app.app_id: {
            node_id: list(_kept(standing, app, node_id, count))
            for node_id, count in sorted(placements.get(app.app_id, {}).items())
        }
        for app in apps
    }
    taken: dict[str, dict[str, None]] = {node_id: {} for node_id in standing.devices}
    for hand in hands.values():
        for node_id, groups in hand.items():
            taken[node_id].update(dict.fromkeys(uuid for group in groups for uuid in group))
    # Large blocks first, because small ones fit in between; the sort is stable.
    for app in sorted(apps, key=lambda app: -app.demand.gpu_count):
        for node_id, groups in hands[app.app_id].items():
            for _ in range(placements[app.app_id][node_id] - len(groups)):
                group = block(standing.devices[node_id], taken[node_id], app.demand.gpu_count)
                taken[node_id].update(dict.fromkeys(group))
                groups.append(group)
    return {
        app.app_id: {
            node_id: Slots(count=len(groups), devices=tuple(uuid for one in groups for uuid in one))
            for node_id, groups in hands[app.app_id].items()
        }
        for app in apps
    }


def block(devices: Sequence[str], taken: Mapping[str, None], count: int) -> Group:
    """Return `count` free devices: the best aligned block, or what is free when there is none.

    Of the blocks of the next power of two that have enough free devices, the one with the fewest;
    of equal ones, the one whose surroundings are the most used already, so that large blocks are
    broken last. Where no block has enough, larger ones are looked at, to the whole node.

    Source: Knowlton, "A fast storage allocator", CACM 1965 (buddies).
    """
    if not count:
        return ()
    width = 1 << (count - 1).bit_length()
    while True:  # Doubles each turn; the whole node has enough, or it would not be granted.
        starts = range(0, len(devices), width)
        fitting = [start for start in starts if len(_free(devices, taken, start, width)) >= count]
        if fitting:
            best = min(fitting, key=lambda start: _surroundings(devices, taken, start, width))
            return _free(devices, taken, best, width)[:count]
        assert width < len(devices), f"{count} devices are granted, and not free"
        width *= 2


def _free(
    devices: Sequence[str], taken: Mapping[str, None], start: int, width: int
) -> tuple[str, ...]:
    """Return the free devices of the aligned block of a width that `start` lies in."""
    first = start - start % width
    return tuple(uuid for uuid in devices[first : first + width] if uuid not in taken)


def _surroundings(
    devices: Sequence[str], taken: Mapping[str, None], start: int, width: int
) -> list[int]:
    """Return how many devices are free in each block around `start`, the smallest first."""
    counts = []
    while width < 2 * len(devices):  # Doubles each turn.
        counts.append(len(_free(devices, taken, start, width)))
        width *= 2
    return counts


def _kept(standing: Standing, app: App, node_id: str, count: int) -> tuple[Group, ...]:
    """Return the first containers that an application keeps, up to `count` of them.

    The first ones: a container that leaves and comes back while a layout is worked out must not
    read as a change.
    """
    return standing.kept[app.app_id].get(node_id, ())[:count]
