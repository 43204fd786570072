"""What one layout decision is taken from, as plain data: nodes, applications, and the rules.

`decide(Snapshot) -> Decision` needs nothing else of Dorm: a simulator, a bench or another scheduler
may call it with numbers of its own. The masters' own call is in `plan`.
"""

from collections.abc import Mapping
from typing import Self

import attrs
from attrs.validators import ge, gt

from events.apps import SpeedPoint
from events.policy import POLICIES, LayoutRules
from events.units import Resources

__all__ = ["POLICIES", "AppRequest", "FixedRole", "NodeOffer", "Options", "Snapshot", "SpeedPoint"]


@attrs.frozen(kw_only=True)
class NodeOffer:
    """One healthy node.

    Attributes:
        capacity: What the machine has; shares are fractions of the sum of it.
        available: What applications of this snapshot may use, if less than `capacity`.
        rack: Where it stands, outermost first, such as `row1/rack7`; empty when unknown.
    """

    node_id: str
    capacity: Resources
    available: Resources | None = None
    rack: str = ""

    @property
    def room(self) -> Resources:
        """Return what applications of this snapshot may use."""
        return self.capacity if self.available is None else self.available


@attrs.frozen(kw_only=True)
class FixedRole:
    """Containers beside the elastic ones, always as many: parameter servers, a scheduler."""

    name: str
    demand: Resources
    count: int = attrs.field(validator=ge(1))


@attrs.frozen(kw_only=True)
class AppRequest:
    """One application that wants, or has, a partition.

    Attributes:
        demand: Of one elastic container.
        min, max: Fewest and most elastic containers; fewer than `min` is none at all (a gang).
        priority: Tiers; a higher one may take everything from a lower one.
        submitted_ms: Only its order counts: older requests are served first.
        waited_ms: How long it has been without a partition; 0 while it has one.
        ran_ms: How long since it was last disturbed; None if it never was. What was disturbed a
            short while ago rests (`LayoutRules.rest_ms`).
        age_ms: How long since it was submitted.
        restart_ms: What a change of its partition costs: from the stop to the next step.
        placement: Elastic containers by node id, as they are now; empty while it waits.
        roles: Containers beside the elastic ones.
        role_placement: Their places by role name and node id.
        speed: How fast it is at which size; empty means as fast as it has containers.
        is_evicted: It lost places that it had (a node is gone): it comes before all that wait.
    """

    app_id: str
    demand: Resources
    min: int = attrs.field(validator=ge(1))
    max: int = attrs.field(validator=ge(1))
    weight: float = attrs.field(default=1.0, validator=gt(0))
    priority: int = 0
    submitted_ms: int = 0
    waited_ms: int = 0
    ran_ms: int | None = None
    age_ms: int = 0
    restart_ms: int = 30_000
    placement: Mapping[str, int] = attrs.field(factory=dict)
    roles: tuple[FixedRole, ...] = ()
    role_placement: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    speed: tuple[SpeedPoint, ...] = ()
    is_evicted: bool = False


@attrs.frozen(kw_only=True)
class Options(LayoutRules):
    """The rules of one cluster, and what only benches and tests set.

    Limits are counts, never seconds, so that every run is the same.

    Attributes:
        seed: Of the local search.
        search_rounds: Most rounds of the local search; -1 for as many as the size suggests.
        certify: Whether small clusters are solved exactly.
    """

    seed: int = 0
    search_rounds: int = -1
    certify: bool = True

    def rests(self, app: AppRequest) -> bool:
        """Return whether an application was disturbed too short a while ago to be again."""
        return app.ran_ms is not None and app.ran_ms < self.rest_ms(app.restart_ms)

    @classmethod
    def of(cls, rules: LayoutRules) -> Self:
        """Return the options of a cluster that has these rules."""
        return cls(
            **{field.name: getattr(rules, field.name) for field in attrs.fields(LayoutRules)}
        )


@attrs.frozen(kw_only=True)
class Snapshot:
    """The input of one decision. Equal snapshots give equal decisions, bit by bit.

    Attributes:
        prices: `Decision.prices` of the last decision, if there was one. They save the optimizer
            time; any others, or none, are as good for the layout.
    """

    nodes: tuple[NodeOffer, ...]
    apps: tuple[AppRequest, ...]
    options: Options = Options()
    prices: Mapping[str, float] = attrs.field(factory=dict)
