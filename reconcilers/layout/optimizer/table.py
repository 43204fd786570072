"""A layout while it is being worked out: what is where, and what is left of each node.

Most of a layout never changes during one decision. The table therefore reads the places of an
application from the model's arrays until they change, and only then keeps a dictionary of them.
Such a dictionary is replaced, never modified, so a copy of a table, which is how everything here is
tried out and taken back, shares them all.
"""

from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np

from reconcilers.layout.optimizer.model import RESOURCES, Bools, Ints, Model, Places
from reconcilers.layout.optimizer.request import RolePlace

Slots = Mapping[int, int]
PLENTY = 1 << 40


class Table:
    """A layout: containers by application and node.

    Attributes:
        model: The problem.
        free: (H, R) what is left of each node.
        size: (A,) elastic containers of each application.
    """

    def __init__(self, model: Model) -> None:
        """Lay down everything as it is."""
        self.model = model
        self.size = model.old_size.copy()
        self._starts = np.searchsorted(model.old.app, np.arange(model.apps + 1)).tolist()
        self._nodes, self._counts = model.old.node.tolist(), model.old.count.tolist()
        self._moved: dict[int, Slots] = {}
        self._roles: dict[int, Slots] = {}
        self._role_indices: dict[int, list[int]] = {}
        for index, role in enumerate(model.roles):
            self._role_indices.setdefault(role.app, []).append(index)
        self.free = model.room.copy()
        self._take(model.old.app, model.old.node, model.old.count)
        for role in model.roles:
            for node, count in role.places.items():
                self.free[node] -= role.demand * count

    def copy(self) -> Self:
        """Return a table that can change while this one stays."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.free, other.size = self.free.copy(), self.size.copy()
        other._moved, other._roles = dict(self._moved), dict(self._roles)
        return other

    def assign(self, other: Self) -> None:
        """Become what another table is; the other must not change any more."""
        self.__dict__.update(other.__dict__)

    def _take(self, app: Ints, node: Ints, count: Ints) -> None:
        for resource in range(len(RESOURCES)):
            amount = self.model.demand[app, resource] * count
            np.subtract.at(self.free[:, resource], node, amount)

    def old_places(self, app: int) -> Slots:
        """Return the elastic containers of an application by node, as they were."""
        own = slice(self._starts[app], self._starts[app + 1])
        return dict(zip(self._nodes[own], self._counts[own], strict=True))

    def places(self, app: int) -> Slots:
        """Return the elastic containers of an application by node."""
        moved = self._moved.get(app)
        return self.old_places(app) if moved is None else moved

    def roles_of(self, app: int) -> list[int]:
        """Return the indices of the fixed roles of an application."""
        return self._role_indices.get(app, [])

    def role_places(self, role: int) -> Slots:
        """Return the containers of a fixed role by node."""
        moved = self._roles.get(role)
        return self.model.roles[role].places if moved is None else moved

    def put(self, app: int, slots: Slots) -> None:
        """Add containers of an application."""
        self._change(app, slots, 1)

    def take(self, app: int, slots: Slots) -> None:
        """Remove containers of an application."""
        self._change(app, slots, -1)

    def _change(self, app: int, slots: Slots, sign: int) -> None:
        after = dict(self.places(app))
        for node, count in slots.items():
            after[node] = after.get(node, 0) + sign * count
            self.free[node] -= self.model.demand[app] * (sign * count)
            if after[node] == 0:
                del after[node]
        self.size[app] += sign * sum(slots.values())
        self._moved[app] = after

    def put_roles(self, places: Iterable[RolePlace]) -> None:
        """Add containers of fixed roles."""
        for place in places:
            after = dict(self.role_places(place.role))
            after[place.node] = after.get(place.node, 0) + place.count
            self._roles[place.role] = after
            self.free[place.node] -= self.model.roles[place.role].demand * place.count

    def add(self, added: Places) -> None:
        """Add many containers at once."""
        self._take(added.app, added.node, added.count)
        np.add.at(self.size, added.app, added.count)
        own: dict[int, dict[int, int]] = {}
        for app, node, count in zip(
            added.app.tolist(), added.node.tolist(), added.count.tolist(), strict=True
        ):
            mine = own.get(app)
            if mine is None:
                mine = own[app] = dict(self.places(app))
            mine[node] = mine.get(node, 0) + count
        self._moved.update(own)

    def clear(self, app: int) -> None:
        """Remove an application with its fixed roles."""
        self.take(app, self.places(app))
        for index in self.roles_of(app):
            for node, count in self.role_places(index).items():
                self.free[node] += self.model.roles[index].demand * count
            self._roles[index] = {}

    def shrink(self, app: int, size: int) -> None:
        """Remove containers until `size` are left, from the nodes that hold the fewest of them.

        That keeps an application together, and empties nodes.
        """
        surplus = int(self.size[app]) - size
        slots: dict[int, int] = {}
        for node, count in sorted(self.places(app).items(), key=lambda slot: (slot[1], slot[0])):
            if surplus <= 0:
                break
            slots[node] = min(count, surplus)
            surplus -= slots[node]
        if slots:
            self.take(app, slots)

    def restore(self, app: int) -> bool:
        """Put an application back to exactly where it was, if that fits; return whether it does."""
        old, now = self.old_places(app), self.places(app)
        elastic = {node: old.get(node, 0) - now.get(node, 0) for node in {**old, **now}}
        need = {node: self.model.demand[app] * count for node, count in elastic.items()}
        for index in self.roles_of(app):
            role, there = self.model.roles[index], self.role_places(index)
            for node in {**role.places, **there}:
                more = role.demand * (role.places.get(node, 0) - there.get(node, 0))
                need[node] = need.get(node, 0) + more
        if any((amount > self.free[node]).any() for node, amount in need.items()):
            return False
        for node, amount in need.items():
            self.free[node] -= amount
        self.size[app] = self.model.old_size[app]
        self._moved.pop(app, None)
        for index in self.roles_of(app):
            self._roles.pop(index, None)
        return True

    def changed(self) -> list[int]:
        """Return the applications that are not where they were, in order."""
        return [app for app in sorted(self._moved) if self.is_changed(app)]

    def is_moved(self, app: int) -> bool:
        """Return whether an application was ever changed; it may be back where it was."""
        return app in self._moved

    def is_changed(self, app: int) -> bool:
        """Return whether an application is not where it was."""
        moved = self._moved.get(app)
        if moved is not None and moved != self.old_places(app):
            return True
        return any(
            self._roles.get(index, self.model.roles[index].places) != self.model.roles[index].places
            for index in self.roles_of(app)
        )

    def touched(self) -> Bools:
        """Return (A,) which running applications are not where they were."""
        touched = np.zeros(self.model.apps, dtype=bool)
        touched[self.changed()] = True
        return touched & self.model.running

    def all_places(self) -> Places:
        """Return all elastic containers as arrays."""
        old, moved = self.model.old, np.zeros(self.model.apps, dtype=bool)
        moved[list(self._moved)] = True
        stays = ~moved[old.app]
        rows = [
            (app, node, count)
            for app in sorted(self._moved)
            for node, count in sorted(self._moved[app].items())
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        app = np.concatenate([old.app[stays], table[:, 0]])
        order = np.argsort(app, kind="stable")
        node = np.concatenate([old.node[stays], table[:, 1]])[order]
        count = np.concatenate([old.count[stays], table[:, 2]])[order]
        return Places(app=app[order], node=node, count=count)


def standing(model: Model) -> Table:
    """Return the layout as it is, without what is left of those that cannot run on."""
    table = Table(model)
    stands = model.running | model.yields
    left = set(np.flatnonzero(~stands & (model.old_size > 0)).tolist())
    left.update(role.app for role in model.roles if role.places and not stands[role.app])
    for app in sorted(left):
        table.clear(app)
    return table


def times(room: Ints, demand: Ints) -> Ints:
    """Return (H,) how many containers fit into each of some rooms.

    Args:
        room: (H, R).
        demand: (R,) of one container.
    """
    count = np.full(len(room), PLENTY, dtype=np.int64)
    for resource, amount in enumerate(demand.tolist()):
        if amount > 0:
            np.minimum(count, room[:, resource] // amount, out=count)
    return np.maximum(count, 0)
