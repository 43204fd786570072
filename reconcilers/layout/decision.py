"""What one layout decision says, as plain data."""

from collections.abc import Mapping
from enum import StrEnum

import attrs


class Limit(StrEnum):
    """Why an application got no more than it did."""

    AT_MAX = "at its maximum"
    RESOURCE = "a resource is full"
    FAIR_SHARE = "more would be beyond its fair share"
    RESTS = "it was changed a short while ago"
    NOT_WORTH_IT = "a restart would cost more than it brings"
    TOUCH_BUDGET = "this decision disturbs no more applications"
    NOT_DUE = "the minimums of older applications fill the cluster"
    FRAGMENTED = "its minimum fits in sum, but not on the nodes"
    TOO_LARGE = "its minimum does not fit in the whole cluster"


@attrs.frozen(kw_only=True)
class Verdict:
    """What one application got, and what kept it from getting more.

    Attributes:
        containers: Elastic containers granted; 0 leaves it waiting.
        fair_containers: Its floor-aware fair share, in containers; a fraction.
        limit: What limits it.
        resource: Which resource is full, for `Limit.RESOURCE`: `cpu`, `memory` or `gpu`.
    """

    containers: int
    fair_containers: float
    limit: Limit
    resource: str = ""


@attrs.frozen(kw_only=True)
class Decision:
    """A layout, how good it is, and how it came about.

    Attributes:
        placements: Elastic containers by app id and node id; a waiting application is left out.
        role_placements: Fixed roles by app id, role name and node id.
        objective: What the layout is worth: the sum of all gains less fairness excess and restarts.
        bound: No layout that follows the rules is worth more.
        gap: `(bound - objective) / abs(bound)`, 0 when the layout is certified.
        loss: Sum over applications of the distance between dominant share and fair share.
        loss_bound: What the rules allow that to be.
        touched: Running applications whose places change, by id.
        touches_max: How many the rules allowed, beside those that had to be.
        released: Running applications that lose everything to a higher priority, or to a lost node.
        prices: What a whole class of nodes full of one resource is worth now, by `class/resource`;
            beside that a unit of fairness `loss`, and one more `restart`.
        verdicts: By app id.
        input_hash: sha256 of the snapshot in canonical form.
        version: Of the algorithm and its solver: equal versions decide equally.
        fallback: Why another policy than the one asked for decided; empty normally.
    """

    placements: Mapping[str, Mapping[str, int]]
    role_placements: Mapping[str, Mapping[str, Mapping[str, int]]] = attrs.field(factory=dict)
    objective: float = 0.0
    bound: float = 0.0
    gap: float = 0.0
    loss: float = 0.0
    loss_bound: float = 0.0
    touched: tuple[str, ...] = ()
    touches_max: int = 0
    released: tuple[str, ...] = ()
    prices: Mapping[str, float] = attrs.field(factory=dict)
    verdicts: Mapping[str, Verdict] = attrs.field(factory=dict)
    input_hash: str = ""
    version: str = ""
    fallback: str = ""
