"""Laying out the board: which of the containers that are granted today can stand.

Everything stands while nothing changed. When a node was lost or shrank, what runs comes before
what is only reserved, and that before what is only granted; then the older application first.
"""

from collections import Counter
from collections.abc import Mapping

from events.layouts import Partition, Slots
from events.state import App
from reconcilers.layout.board import Board, Holding, Room
from reconcilers.layout.problem import Problem

Partitions = Mapping[str, Partition]


def lay_out(problem: Problem, current: Partitions) -> tuple[Board, dict[str, Partition]]:
    """Return the board with every container that can stand, and the partitions of held apps."""
    board = _empty(problem)
    for app in problem.pinned:
        _occupy_live(board, app)
    for holding in board.holdings.values():
        running = _live_counts(holding.contender.app)
        for node_id, slots in sorted(current[holding.contender.app_id].items()):
            _claim(board, holding, node_id, slots, upto=running[node_id])
    held = {app.app_id: _reserve(board, app, current[app.app_id]) for app in problem.held}
    for holding in board.holdings.values():
        for node_id, slots in sorted(current[holding.contender.app_id].items()):
            _claim(board, holding, node_id, slots, upto=slots.count)
    for holding in board.holdings.values():
        _trim(board, holding)
        holding.before = dict(holding.counts)
        holding.devices_before = {node: list(owned) for node, owned in holding.devices.items()}
    return board, held


def _empty(problem: Problem) -> Board:
    rooms = {}
    for node_id, report in problem.nodes.items():
        uuids = tuple(dict.fromkeys(device.uuid for device in report.devices))
        rooms[node_id] = Room(
            node_id=node_id,
            cpu_milli=report.capacity.cpu_milli,
            memory_bytes=report.capacity.memory_bytes,
            uuids=uuids,
            devices=list(range(len(uuids))),
        )
    holdings = {
        contender.app_id: Holding(
            contender=contender,
            demand=contender.app.demand,
            min=contender.app.spec.scale.min,
            max=contender.app.spec.scale.max,
        )
        for contender in problem.contenders
    }
    return Board(rooms, holdings)


def _live_counts(app: App) -> Counter[str]:
    live = app.generation.live if app.generation else ()
    return Counter(member.node_id for member in live)


def _occupy_live(board: Board, app: App) -> None:
    for member in app.generation.live if app.generation else ():
        if room := board.rooms.get(member.node_id):
            room.take(app.demand, _free_positions(room, member.devices))


def _reserve(board: Board, app: App, partition: Partition) -> Partition:
    """Return the partition when all of it can stand, and take its room; else nothing."""
    for node_id, slots in partition.items():
        room = board.rooms.get(node_id)
        if room is None or room.places(app.demand) < slots.count:
            return {}
        owned = _free_positions(room, slots.devices)
        if not len(owned) == len(slots.devices) == slots.count * app.demand.gpu_count:
            return {}
    for node_id, slots in partition.items():
        room = board.rooms[node_id]
        room.take(app.demand * slots.count, _free_positions(room, slots.devices))
    return partition


def _claim(board: Board, holding: Holding, node_id: str, slots: Slots, *, upto: int) -> None:
    """Put containers of a partition on the board, as many as stand, to at most `upto` in all."""
    room, gpus = board.rooms.get(node_id), holding.demand.gpu_count
    if room is None:
        return
    wanted = min(upto, slots.count) - holding.counts.get(node_id, 0)
    owned = _free_positions(room, slots.devices)
    fitting = min(wanted, room.places(holding.demand), len(owned) // gpus if gpus else wanted)
    for index in range(fitting):
        board.add(holding, room, owned[index * gpus : (index + 1) * gpus])


def _free_positions(room: Room, uuids: tuple[str, ...]) -> list[int]:
    return [position for position in room.devices if room.uuids[position] in uuids]


def _trim(board: Board, holding: Holding) -> None:
    """Take away what is above the maximum, from the nodes with the fewest containers first."""
    while holding.size > holding.max:  # One container less each turn.
        node_id = min(holding.counts, key=lambda node: (holding.counts[node], node))
        board.remove(holding, board.rooms[node_id])
