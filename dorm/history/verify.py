"""An audit of a history: the chain, the invariants, and every layout decision taken again."""

from collections import Counter
from collections.abc import Iterable, Iterator

import attrs

from events.chain import Audit
from events.errors import Corrupt
from events.fold import apply
from events.invariants import violations
from events.recorded import Recorded
from events.snapshot import state_hash
from events.state import ClusterState
from reconcilers.audit import Retaken, Verdict, retake


@attrs.frozen(kw_only=True)
class Report:
    """What an audit found.

    Attributes:
        through: The revision of the last event.
        seal: The sha256 of the newest seal; note it elsewhere to prove later that nothing before
            it was changed. Empty before the first one.
        verdicts: How many layout decisions came out how, by verdict.
        problems: A sentence for each thing that is wrong. None: the history is sound.
        notes: What could not be judged, and why.
    """

    events: int
    through: int
    state_hash: str
    sealed_segment: int
    seal: str
    verdicts: dict[str, int]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def verify(history: Iterable[Recorded]) -> Report:
    """Return what is wrong with a history that is read from its first event. One pass."""
    auditor = _Auditor()
    verdicts: Counter[str] = Counter()
    notes: list[str] = []
    try:
        for decision in retake(auditor.watch(history)):
            verdicts[decision.verdict.value] += 1
            if decision.verdict is Verdict.DIFFERENT:
                auditor.problems.append(_told(decision, "comes out otherwise"))
            elif decision.verdict is not Verdict.EQUAL:
                notes.append(_told(decision, "cannot be taken again"))
    except Corrupt as error:
        auditor.problems.append(f"the history cannot be read on: {error}")
    return Report(
        events=auditor.chain.events,
        through=auditor.state.revision,
        state_hash=state_hash(auditor.state),
        sealed_segment=auditor.chain.sealed_segment,
        seal=auditor.chain.seal,
        verdicts=dict(sorted(verdicts.items())),
        problems=tuple(auditor.problems),
        notes=tuple(notes),
    )


@attrs.define
class _Auditor:
    """Checks each event while it passes by on its way to the reconcilers' audit."""

    chain: Audit = attrs.field(factory=Audit)
    state: ClusterState = attrs.field(factory=ClusterState)
    problems: list[str] = attrs.field(factory=list)
    _broken: frozenset[str] = frozenset()

    def watch(self, history: Iterable[Recorded]) -> Iterator[Recorded]:
        for recorded in history:
            self.problems.extend(self.chain.feed(recorded))
            self.state = apply(self.state, recorded)
            self._check_invariants(recorded)
            yield recorded

    def _check_invariants(self, recorded: Recorded) -> None:
        """Note each violation once, where it begins."""
        found = violations(self.state)
        where = f"since event {recorded.event_id} at revision {recorded.revision}"
        self.problems.extend(f"{one}, {where}" for one in found if one not in self._broken)
        self._broken = frozenset(found)


def _told(decision: Retaken, what: str) -> str:
    where = f"layout decision {decision.decision_id} at revision {decision.revision}"
    return f"{where} {what}: {'; '.join(decision.differences)}"
