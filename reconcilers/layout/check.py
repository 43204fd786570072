"""What is true of every decision, whatever policy made it, in terms of its snapshot alone.

It shares no code with the policies, so that an error in one of them cannot hide itself here.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from events.units import Resources
from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, Options, Snapshot

RESOURCES: Final = ("cpu_milli", "memory_bytes", "gpu_count")
TOLERANCE: Final = 1e-6  # relative; a solver's bound is a float

Counts = Mapping[str, int]


def problems(snapshot: Snapshot, decision: Decision) -> tuple[str, ...]:
    """Return a sentence for each rule that a decision breaks; nothing for a sound one."""
    rows = [_Row.of(app, decision) for app in snapshot.apps]
    return (
        *_unknown(snapshot, decision),
        *(sentence for row in rows for sentence in row.problems()),
        *_overfull(snapshot, rows),
        *_unjust(rows, snapshot.options),
        *_misreported(rows, decision),
        *_unbounded(decision),
    )


@attrs.frozen(kw_only=True)
class _Row:
    """One application before and after."""

    app: AppRequest
    before: Counts
    after: Counts
    roles_before: Mapping[str, Counts]
    roles_after: Mapping[str, Counts]

    @classmethod
    def of(cls, app: AppRequest, decision: Decision) -> "_Row":
        return cls(
            app=app,
            before=dict(app.placement),
            after=dict(decision.placements.get(app.app_id, {})),
            roles_before=_without_empty(app.role_placement),
            roles_after=_without_empty(decision.role_placements.get(app.app_id, {})),
        )

    @property
    def size(self) -> int:
        return sum(self.after.values())

    @property
    def has_roles(self) -> bool:
        """Return whether every fixed role is there before, so that the application can run."""
        return all(
            sum(self.roles_before.get(role.name, {}).values()) == role.count
            for role in self.app.roles
        )

    @property
    def is_running(self) -> bool:
        """Return whether what stands of it is enough to run on."""
        enough = sum(self.before.values()) >= self.app.min
        return enough and self.has_roles and not self.app.is_evicted

    @property
    def is_changed(self) -> bool:
        return self.before != self.after or self.roles_before != self.roles_after

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with this application's part."""
        name, app = self.app.app_id, self.app
        counts = (self.after, *self.roles_after.values())
        if any(count < 1 for nodes in counts for count in nodes.values()):
            yield f"{name} has nodes with less than one container"
        if self.after and not app.min <= self.size <= app.max:
            yield f"{name} has {self.size} containers, not {app.min} to {app.max}"
        yield from self._roles()

    def _roles(self) -> Iterator[str]:
        name, known = self.app.app_id, {role.name: role.count for role in self.app.roles}
        for role in (*known, *(role for role in self.roles_after if role not in known)):
            wanted = known.get(role, 0) if self.after else 0
            given = sum(self.roles_after.get(role, {}).values())
            if given != wanted:
                yield f"{name} has {given} containers of role {role}, not {wanted}"


def _without_empty(roles: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    return {role: dict(nodes) for role, nodes in roles.items() if nodes}


def _unknown(snapshot: Snapshot, decision: Decision) -> Iterator[str]:
    app_ids = {app.app_id for app in snapshot.apps}
    node_ids = {node.node_id for node in snapshot.nodes}
    for app_id in {**decision.placements, **decision.role_placements}:
        if app_id not in app_ids:
            yield f"{app_id} is no application of the snapshot"
        roles = decision.role_placements.get(app_id, {}).values()
        for node_id in (key for m in (decision.placements.get(app_id, {}), *roles) for key in m):
            if node_id not in node_ids:
                yield f"{app_id} has containers on {node_id}, which is no node of the snapshot"


def _overfull(snapshot: Snapshot, rows: list[_Row]) -> Iterator[str]:
    used: defaultdict[str, Resources] = defaultdict(Resources)
    for row in rows:
        kinds = [(row.app.demand, row.after)]
        kinds += [(role.demand, row.roles_after.get(role.name, {})) for role in row.app.roles]
        for demand, nodes in kinds:
            for node_id, count in nodes.items():
                used[node_id] += demand * count
    for node in snapshot.nodes:
        for name in RESOURCES:
            granted, room = getattr(used[node.node_id], name), getattr(node.room, name)
            if granted > max(0, room):
                yield f"{node.node_id} has {room} {name}, and {granted} are granted"


def _unjust(rows: list[_Row], options: Options) -> Iterator[str]:
    """Yield who is stopped though it could run on, or moved though it rests.

    That is just only where somebody of a higher priority gains.
    """
    gains = [row.app.priority for row in rows if row.size > sum(row.before.values())]
    highest = max(gains, default=-math.inf)
    for row in rows:
        if not row.is_running or not row.is_changed or row.app.priority < highest:
            continue
        fits = sum(row.before.values()) <= row.app.max
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
