"""Every layout decision of a history, taken again from the facts before it, and compared.

Needs no solver's memory and no clock: a decision names the revision that it was taken from, and
`layout.plan` is a function of that state alone.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import attrs

from events.fold import apply
from events.layouts import LayoutDecided, PartitionChange, join
from events.recorded import Recorded
from events.state import ClusterState
from reconcilers import layout
from reconcilers.layout.versions import VERSIONS, name_of, policy_of

STATES_KEPT: Final = 1_000  # a decision is written milliseconds after the state it was taken from


class Verdict(StrEnum):
    """What came of taking a decision again."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN_POLICY = "unknown policy"
    INPUT_NOT_SEEN = "input not seen"


@attrs.frozen(kw_only=True)
class Retaken:
    """One decision of the history, and what came of taking it again.

    Attributes:
        revision: Of the part that completed the decision.
        differences: A sentence for each change that was decided otherwise.
    """

    decision_id: str
    revision: int
    input_revision: int
    policy: str
    verdict: Verdict
    differences: tuple[str, ...] = ()


def retake(history: Iterable[Recorded], start: ClusterState | None = None) -> Iterator[Retaken]:
    """Yield each complete decision of `history`, in order, beginning from `start` or nothing.

    One pass. The states of the last `STATES_KEPT` revisions are kept, since a decision stands
    behind the revision that it was taken from.
    """
    state = start or ClusterState()
    recent = OrderedDict({state.revision: state})
    for recorded in history:
        event = recorded.event
        if isinstance(event, LayoutDecided):
            parts = (*state.open_parts.get(event.decision_id, ()), event)
            if len(parts) >= event.parts:
                yield _judge(parts, recorded.revision, recent.get(event.input_revision))
        state = apply(state, recorded)
        recent[state.revision] = state  # Of one revision's events, the last one completes it.
        if len(recent) > STATES_KEPT:
            recent.popitem(last=False)


def _judge(parts: tuple[LayoutDecided, ...], revision: int, before: ClusterState | None) -> Retaken:
    first = parts[0]
    differences: tuple[str, ...] = ()
    if stranger := _stranger(first):
        verdict, differences = Verdict.UNKNOWN_POLICY, (stranger,)
    elif before is None:
        verdict = Verdict.INPUT_NOT_SEEN
        differences = (f"the state of revision {first.input_revision} is not in this history",)
    else:
        again = layout.plan(attrs.evolve(before, settled=""), policy_of(first.policy))
        if stranger := _other_version(first, again):
            verdict, differences = Verdict.UNKNOWN_POLICY, (stranger,)
        else:
            differences = tuple(_differences(join(parts), join(again)))
            verdict = Verdict.DIFFERENT if differences else Verdict.EQUAL
    return Retaken(
        decision_id=first.decision_id,
        revision=revision,
        input_revision=first.input_revision,
        policy=first.policy,
        verdict=verdict,
        differences=differences,
    )


def _stranger(decision: LayoutDecided) -> str:
    """Return why this Dorm cannot take a decision again; empty when it can."""
    if policy_of(decision.policy) is not None:
        return ""
    ours = ", ".join(name_of(policy) for policy in VERSIONS)
    return f"this Dorm knows {ours}, not {decision.policy}"


def _other_version(decision: LayoutDecided, again: tuple[LayoutDecided, ...]) -> str:
    """Return which other algorithm or solver decided than the one here; empty for the same."""
    theirs = decision.quality.version if decision.quality else ""
    ours = again[0].quality.version if again and again[0].quality else ""
    if not theirs or not ours or theirs == ours:
        return ""
    return f"it was decided by {theirs}, and this Dorm has {ours}"


def _differences(
    written: Mapping[str, PartitionChange], again: Mapping[str, PartitionChange]
) -> Iterator[str]:
    for app_id in sorted(written.keys() | again.keys()):
        one, other = written.get(app_id), again.get(app_id)
        if one != other:
            yield f"{app_id}: decided {_words(one)}, taken again {_words(other)}"


def _words(change: PartitionChange | None) -> str:
    if change is None:
        return "no change"
    places = ", ".join(
        f"{slots.count} on {node_id}" + (f" with {', '.join(slots.devices)}" * bool(slots.devices))
        for node_id, slots in sorted(change.partition.items())
    )
    return f"generation {change.generation}: {places or 'nothing'} ({change.reason})"
