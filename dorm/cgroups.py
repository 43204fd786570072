"""In which cgroup a container lives. The agent and its warden must mean the same one.

    /dorm/<cluster>/<node>/<tenure>/stop     its containers are frozen while the node has no right
    /dorm/<cluster>/<node>/<tenure>/keep     they run on until the tenure is over

An engine whose cgroup driver is systemd takes the name of a slice instead. It is made of the same
words; systemd nests slices by the hyphens in their names, so a hyphen within a word becomes an
underscore, which no name of a cluster or node has.
"""

from typing import Final

ROOT: Final = "/dorm"
SLICE: Final = ".slice"


def of_node(cluster: str, node_id: str) -> str:
    """Return the group of all containers of one node."""
    return f"{ROOT}/{cluster}/{node_id}"


def of_containers(cluster: str, node_id: str, tenure: str, on_disconnect: str) -> str:
    """Return the group that the containers of one tenure and kind are made in.

    Args:
        cluster: Of the node.
        node_id: Several nodes may share a machine.
        tenure: The node's right to run containers that they belong to.
        on_disconnect: `stop` or `keep`, as the application's spec says.
    """
    return f"{of_node(cluster, node_id)}/{tenure}/{on_disconnect}"


def slice_of(group: str) -> str:
    """Return the name of a group for an engine with the systemd driver.

    >>> slice_of("/dorm/main/rack-1/t5/stop")
    'dorm-main-rack_1-t5-stop.slice'
    """
    return "-".join(_words(group)) + SLICE


def slice_path(group: str) -> str:
    """Return where systemd puts that slice, as a path below the hierarchy's root.

    >>> slice_path("/dorm/main/rack-1")
    '/dorm.slice/dorm-main.slice/dorm-main-rack_1.slice'
    """
    words = _words(group)
    return "".join(f"/{'-'.join(words[:count])}{SLICE}" for count in range(1, len(words) + 1))


def _words(group: str) -> list[str]:
    return [word.replace("-", "_") for word in group.strip("/").split("/")]
