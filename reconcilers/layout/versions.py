"""The names under which decisions are recorded: a policy, and the version of its meaning.

A version is counted up when equal states would be decided otherwise than before. Which algorithm
and solver decided, to the letter, stands in `LayoutQuality.version`.
"""

from collections.abc import Mapping
from typing import Final

VERSIONS: Final[Mapping[str, int]] = {
    "goodput": 1,
    "utilization": 1,
    "drf": 2,
    "static": 1,
    "two-level": 1,
}


def name_of(policy: str) -> str:
    """Return the name of a policy in a decision: `goodput/1`."""
    return f"{policy}/{VERSIONS[policy]}"


def policy_of(name: str) -> str | None:
    """Return the policy of a recorded name; None for a policy or a version that is not ours."""
    return next((policy for policy in VERSIONS if name_of(policy) == name), None)
