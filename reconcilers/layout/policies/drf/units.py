"""Weighted dominant shares as whole numbers, so that they are compared exactly, and fast.

The weighted dominant share of an amount is `max over r of (amount_r / total_r) / weight`. With
`T = lcm of total_r`, with a weight of `p / q` as the float that it is, and `P = lcm of all p`,
every share times `T P` is whole:

    T P share = max over r of (amount_r T / total_r)  *  q P / p

The order of shares is all that the policy asks for, so the factor may stay in; what all of them
have in common is divided out again, to keep the numbers short. Thousands of odd weights have no
`P` of reasonable length; then `2^BITS_MAX` stands for it, and shares are rounded down.

Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4, for the share.
"""

import math
from collections.abc import Mapping
from typing import Final

from events.units import Resources
from reconcilers.layout.snapshot import AppRequest, Snapshot
from reconcilers.layout.sums import total

BITS_MAX: Final = 256

Units = Mapping[str, tuple[int, int]]
"""By app id: the share of one elastic container, and of all fixed roles together."""


def units_of(snapshot: Snapshot) -> Units:
    """Return the shares of every application, as multiples of one common fraction."""
    capacity = total((node.capacity, 1) for node in snapshot.nodes)
    whole = math.lcm(*(amount for amount in _amounts(capacity) if amount > 0))
    scales = tuple(whole // amount if amount > 0 else 0 for amount in _amounts(capacity))
    ratios = {app.weight: app.weight.as_integer_ratio() for app in snapshot.apps}
    weights = math.lcm(*(above for above, _ in ratios.values()))
    if weights.bit_length() > BITS_MAX:
        weights = 1 << BITS_MAX
    factors = {weight: below * weights // above for weight, (above, below) in ratios.items()}
    units = {
        app.app_id: (
            _share(app.demand, scales) * factors[app.weight],
            _share(_fixed(app), scales) * factors[app.weight] if app.roles else 0,
        )
        for app in snapshot.apps
    }
    common = math.gcd(*(unit for pair in units.values() for unit in pair)) or 1
    return {app_id: (one // common, fixed // common) for app_id, (one, fixed) in units.items()}


def _fixed(app: AppRequest) -> Resources:
    return total((role.demand, role.count) for role in app.roles)


def _share(amount: Resources, scales: tuple[int, ...]) -> int:
    cpu, memory, gpus = scales
    return max(amount.cpu_milli * cpu, amount.memory_bytes * memory, amount.gpu_count * gpus)


def _amounts(resources: Resources) -> tuple[int, int, int]:
    return resources.cpu_milli, resources.memory_bytes, resources.gpu_count
