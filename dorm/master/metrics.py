"""What a master tells Prometheus of its own work.

A registry for each master, none for the process: several masters live in one process in tests.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

from dorm.planner.port import Plan
from events.layouts import LayoutDecided

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_CPU_S: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120)
_LATENCY_S: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 120, 600)


class Metrics:
    """Counts of what a master did, and whatever its collectors read at the moment of asking."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._decisions = Counter(
            "dorm_layout_decisions", "Layout decisions appended", ["policy"], registry=registry
        )
        self._cpu = Histogram(
            "dorm_layout_plan_cpu_seconds",
            "CPU time of one plan, all of its attempts together",
            buckets=_CPU_S,
            registry=registry,
        )
        self._latency = Histogram(
            "dorm_layout_latency_seconds",
            "From the first change of the problem to the decision in the log",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._fallbacks = Counter(
            "dorm_layout_fallbacks", "Plans not made by the cluster's own policy", registry=registry
        )
        self._quarantines = Counter(
            "dorm_layout_quarantines", "Applications that made planning fail", registry=registry
        )
        self._overtaken = Counter(
            "dorm_layout_overtaken", "Plans whose problem changed meanwhile", registry=registry
        )
        self._rss = Gauge(
            "dorm_planner_rss_bytes", "Resident memory of the planner child", registry=registry
        )

    def add(self, collector: Collector) -> None:
        """Ask `collector` too, at each scrape."""
        self._registry.register(collector)

    def planned(self, plan: Plan) -> None:
        """Count a plan, whatever becomes of it."""
        self._cpu.observe(plan.cpu_ms / 1000)
        self._rss.set(plan.rss_bytes)
        if plan.fallback:
            self._fallbacks.inc()

    def decided(self, decision: LayoutDecided, *, latency_s: float | None) -> None:
        """Count a decision that is in the log."""
        self._decisions.labels(decision.policy).inc()
        if latency_s is not None:
            self._latency.observe(latency_s)

    def quarantined(self, count: int) -> None:
        """Count applications that are held out of layouts."""
        self._quarantines.inc(count)

    def overtaken(self) -> None:
        """Count a plan that came too late."""
        self._overtaken.inc()

    def scrape(self) -> bytes:
        """Return everything in Prometheus's text format."""
        return generate_latest(self._registry)
