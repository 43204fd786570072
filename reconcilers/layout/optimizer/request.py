"""What the pattern program is asked, and what it answers."""

import math

import attrs

from reconcilers.layout.optimizer.model import Bools, Ints, Places


@attrs.frozen(kw_only=True, eq=False)
class FillRequest:
    """Applications to place or to grow in the room that all others leave.

    Attributes:
        free: (H, R) room beside everything that stays.
        apps: Indices of the applications that may be placed or may grow, the older first.
        kept: (A,) containers of these applications that stay where they are, at least `low`; with 0
            an application is placed from nothing: its first `low` containers and its fixed
            roles come together or not at all.
        must: (A,) who of those placed from nothing has to be.
        other_gain, other_loss: Of all applications not in `apps`.
        certify: Whether to price patterns exactly, for a bound that is proven.
        rounds_max: Most rounds of column generation.
        limit: (A,) upper bounds of the sizes besides the model's.
        dives: On few nodes, how often the program is solved again for what rounding leaves; 1 is
            fastest.
    """

    free: Ints
    apps: Ints
    kept: Ints
    must: Bools
    other_gain: float = 0.0
    other_loss: float = 0.0
    certify: bool = False
    rounds_max: int = 40
    limit: Ints | None = None
    dives: int = 3


@attrs.frozen(kw_only=True, eq=False)
class RolePlace:
    """Containers of one fixed role on one node.

    Attributes:
        role: Index into the roles of the model.
    """

    role: int
    node: int
    count: int


@attrs.frozen(kw_only=True, eq=False)
class Filling:
    """Containers to add.

    Attributes:
        added: Elastic containers beside those kept.
        roles: Fixed roles of the applications that are placed from nothing.
        unmet: Applications that had to be placed, and are not.
        bound: What the request is worth at most, the other applications included; infinite
            unless it was certified.
        value: What the pattern program made of it before rounding, 0 when there was nothing to do.
        patterns, rounds: How many patterns it found in how many rounds.
    """

    added: Places
    roles: tuple[RolePlace, ...] = ()
    unmet: tuple[int, ...] = ()
    bound: float = math.inf
    value: float = 0.0
    patterns: int = 0
    rounds: int = 0
