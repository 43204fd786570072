"""What the folded state says, as gauges: the same on every master, leader or not."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from events.layouts import LayoutQuality
from events.state import ClusterState

QUALITY: Final[Mapping[str, tuple[str, Callable[[LayoutQuality], float]]]] = {
    "objective": ("What the newest layout is worth", lambda quality: quality.objective),
    "bound": ("No layout is worth more", lambda quality: quality.bound),
    "gap": ("(bound - objective) / |bound|", lambda quality: quality.gap),
    "loss": ("Distance from fair shares, over all", lambda quality: quality.loss),
    "loss_bound": ("What the rules allow that to be", lambda quality: quality.loss_bound),
    "touched": ("Running applications it moved", lambda quality: len(quality.touched)),
    "touches_max": ("How many it was allowed to", lambda quality: quality.touches_max),
}


class Seen(Protocol):
    """What is read of a master."""

    def state(self) -> ClusterState:
        """Return the newest folded state."""
        ...

    def is_leader(self) -> bool:
        """Return whether this master is in office."""
        ...

    def silence_s(self) -> float | None:
        """Return for how long the log has given no sign of life; None before the first."""
        ...


class Gauges(Collector):
    """Read at each scrape, so nothing has to be kept up to date."""

    def __init__(self, master: Seen) -> None:
        self._master = master

    def collect(self) -> Iterator[Metric]:
        """Yield every gauge."""
        state, silence_s = self._master.state(), self._master.silence_s()
        yield _gauge("dorm_leader", "1 on the master in office", self._master.is_leader())
        yield _gauge("dorm_log_revision", "The log is folded up to here", state.revision)
        if silence_s is not None:
            text = "Seconds since the log last gave a sign of life"
            yield _gauge("dorm_log_silence_seconds", text, silence_s)
        phases = Counter(app.phase for app in state.apps.values())
        yield _by("dorm_apps", "Unfinished applications", "phase", phases)
        quarantined = sum(1 for app in state.apps.values() if app.quarantine)
        yield _gauge("dorm_apps_quarantined", "Held out of layouts", quarantined)
        health = Counter("lost" if node.lost else "healthy" for node in state.nodes.values())
        nodes = {key: health[key] for key in ("healthy", "lost")}
        yield _by("dorm_nodes", "Machines", "state", nodes)
        yield from _quality(state)

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: before a master runs it has nothing to say."""
        return iter(())


def _quality(state: ClusterState) -> Iterator[Metric]:
    decision = state.last_decision
    if decision is not None and decision.quality is not None:
        for name, (text, read) in QUALITY.items():
            yield _gauge(f"dorm_layout_{name}", text, read(decision.quality))


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _by(name: str, text: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, count in sorted(counts.items()):
        family.add_metric([key], count)
    return family
