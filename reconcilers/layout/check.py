"""What is true of every decision, whatever policy made it, in terms of its snapshot alone.

It shares no code with the policies, so that an error in one of them cannot hide itself here. Sums
are plain whole numbers, because every decision of a simulation is checked too.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from events.units import Resources
from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, Options, Snapshot
from reconcilers.layout.sums import Counts, used_on

RESOURCES: Final = ("cpu_milli", "memory_bytes", "gpu_count")
TOLERANCE: Final = 1e-6  # relative; a solver's bound is a float


def problems(snapshot: Snapshot, decision: Decision) -> tuple[str, ...]:
    """Return a sentence for each rule that a decision breaks; nothing for a sound one."""
    rows = [_Row.of(app, decision) for app in snapshot.apps]
    return (
        *_unknown(snapshot, decision, rows),
        *(sentence for row in rows for sentence in row.problems()),
        *_overfull(snapshot, rows),
        *_unjust(rows, snapshot.options),
        *_misreported(rows, decision),
        *_unbounded(decision),
    )


@attrs.define(kw_only=True, eq=False)
class _Row:
    """One application before and after.

    Attributes:
        size_before, size: Elastic containers before and after.
        is_running: What stands of it is enough to run on.
        is_changed: A container of it comes, goes or moves.
    """

    app: AppRequest
    before: Counts
    after: Counts
    roles_before: Mapping[str, Counts]
    roles_after: Mapping[str, Counts]
    size_before: int
    size: int
    is_running: bool
    is_changed: bool

    @classmethod
    def of(cls, app: AppRequest, decision: Decision) -> "_Row":
        before, after = app.placement, decision.placements.get(app.app_id, {})
        roles_before = _without_empty(app.role_placement)
        roles_after = _without_empty(decision.role_placements.get(app.app_id, {}))
        size_before = sum(before.values())
        has_roles = all(
            sum(roles_before.get(role.name, {}).values()) == role.count for role in app.roles
        )
        return cls(
            app=app,
            before=before,
            after=after,
            roles_before=roles_before,
            roles_after=roles_after,
            size_before=size_before,
            size=sum(after.values()),
            is_running=size_before >= app.min and has_roles and not app.is_evicted,
            is_changed=before != after or roles_before != roles_after,
        )

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with this application's part."""
        name, app = self.app.app_id, self.app
        if any(min(nodes.values(), default=1) < 1 for nodes in self._places()):
            yield f"{name} has nodes with less than one container"
        if self.after and not app.min <= self.size <= app.max:
            yield f"{name} has {self.size} containers, not {app.min} to {app.max}"
        if app.roles or self.roles_after:
            yield from self._roles()

    def used(self) -> Iterator[tuple[Resources, Counts]]:
        """Yield demands, and how many containers of each there are on which node."""
        yield self.app.demand, self.after
        for role in self.app.roles:
            yield role.demand, self.roles_after.get(role.name, {})

    def node_ids(self) -> Iterator[str]:
        """Yield the nodes that it has containers on."""
        for nodes in self._places():
            yield from nodes

    def _places(self) -> tuple[Counts, ...]:
        return self.after, *self.roles_after.values()

    def _roles(self) -> Iterator[str]:
        name, known = self.app.app_id, {role.name: role.count for role in self.app.roles}
        for role in (*known, *(role for role in self.roles_after if role not in known)):
            wanted = known.get(role, 0) if self.after else 0
            given = sum(self.roles_after.get(role, {}).values())
            if given != wanted:
                yield f"{name} has {given} containers of role {role}, not {wanted}"


def _without_empty(roles: Mapping[str, Counts]) -> Mapping[str, Counts]:
    return {role: nodes for role, nodes in roles.items() if nodes} if roles else roles


def _unknown(snapshot: Snapshot, decision: Decision, rows: list[_Row]) -> Iterator[str]:
    app_ids = {app.app_id for app in snapshot.apps}
    node_ids = {node.node_id for node in snapshot.nodes}
    for app_id in {**decision.placements, **decision.role_placements}:
        if app_id not in app_ids:
            yield f"{app_id} is no application of the snapshot"
    for row in rows:
        if not node_ids.issuperset(row.node_ids()):
            strange = next(node_id for node_id in row.node_ids() if node_id not in node_ids)
            yield f"{row.app.app_id} has containers on {strange}, which is no node of the snapshot"


def _overfull(snapshot: Snapshot, rows: list[_Row]) -> Iterator[str]:
    used = used_on(part for row in rows for part in row.used())
    for node in snapshot.nodes:
        granted, room = used.get(node.node_id), node.room
        if granted is None:
            continue
        for name, amount in zip(RESOURCES, granted, strict=True):
            if amount > max(0, getattr(room, name)):
                have = getattr(room, name)
                yield f"{node.node_id} has {have} {name}, and {amount} are granted"


def _unjust(rows: list[_Row], options: Options) -> Iterator[str]:
    """Yield who is stopped though it could run on, or moved though it rests.

    That is just only where somebody of a higher priority gains.
    """
    # Who had lost a part, such as its roles, gains by being whole again.
    gains = [
        row.app.priority
        for row in rows
        if row.size > row.size_before or (row.size and not row.is_running)
    ]
    highest = max(gains, default=-math.inf)
    for row in rows:
        if not row.is_running or not row.is_changed or row.app.priority < highest:
            continue
        fits = row.size_before <= row.app.max
        if not row.after:
            yield f"{row.app.app_id} is released, and nobody of a higher priority gains"
        elif options.rests(row.app) and fits:
            yield f"{row.app.app_id} was changed {row.app.ran_ms} ms ago, and is changed again"


def _misreported(rows: list[_Row], decision: Decision) -> Iterator[str]:
    """What had to move in any case may be listed or not."""
    listed = set(decision.touched)
    touched = {row.app.app_id for row in rows if row.before and row.after and row.is_changed}
    forced = {row.app.app_id for row in rows if row.before and not row.is_running}
    released = {row.app.app_id for row in rows if row.before and not row.after}
    for app_id in sorted(listed - touched - released - forced):
        yield f"{app_id} is listed as touched, and is not"
    for app_id in sorted(touched - listed - forced):
        yield f"{app_id} is touched, and not listed"
    if set(decision.released) ^ released <= forced:
        return
    yield f"released are {sorted(released)}, and listed {sorted(decision.released)}"


def _unbounded(decision: Decision) -> Iterator[str]:
    figures = (decision.objective, decision.bound, decision.gap, decision.loss)
    if not all(math.isfinite(figure) for figure in figures):
        yield f"objective, bound, gap and loss are {figures}: not all of them finite"
        return
    slack = TOLERANCE * max(1.0, abs(decision.bound))
    if decision.objective > decision.bound + slack:
        yield f"the objective {decision.objective} is above its bound {decision.bound}"
