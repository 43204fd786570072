"""What `GET /metrics` tells."""

import attrs
import httpx
from starlette.applications import Starlette

from dorm.master.gauges import Gauges
from dorm.master.metrics import Metrics
from dorm.master.run import scraped
from dorm.planner.port import Plan
from events.layouts import LayoutQuality
from events.state import ClusterState
from tests.builders import a_layout, a_node, an_app, app_quarantined, node_lost, state_of


@attrs.frozen
class AMaster:
    """What gauges see of a master."""

    seen: ClusterState
    leads: bool = True
    silent_s: float | None = 1.5

    def state(self) -> ClusterState:
        """See `Seen`."""
        return self.seen

    def is_leader(self) -> bool:
        """See `Seen`."""
        return self.leads

    def silence_s(self) -> float | None:
        """See `Seen`."""
        return self.silent_s


def lines(metrics: Metrics) -> dict[str, float]:
    """Return every sample by its name and labels."""
    text = metrics.scrape().decode()
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def test_the_state_is_read_when_it_is_asked_for() -> None:
    """Nothing to keep up to date, so nothing can be forgotten."""
    quality = LayoutQuality(objective=0.9, bound=1.0, gap=0.1, loss=0.2, loss_bound=0.4)
    decision = attrs.evolve(a_layout({"a": {"n1": 1}}), quality=quality)
    apps = (an_app("a"), an_app("b"), app_quarantined("b"))
    state = state_of(a_node("n1"), a_node("n2"), *apps, decision, node_lost("n2"))
    metrics = Metrics()
    metrics.add(Gauges(AMaster(state)))
    found = lines(metrics)

    expected = {
        "dorm_leader": 1.0,
        "dorm_log_revision": 7.0,
        "dorm_log_silence_seconds": 1.5,
        'dorm_apps{phase="pending"}': 2.0,
        "dorm_apps_quarantined": 1.0,
        'dorm_nodes{state="healthy"}': 1.0,
        'dorm_nodes{state="lost"}': 1.0,
        "dorm_layout_gap": 0.1,
        "dorm_layout_loss_bound": 0.4,
    }
    assert expected == {name: found[name] for name in expected}


def test_a_master_at_its_very_beginning_can_be_asked() -> None:
    """It has read nothing and decided nothing."""
    metrics = Metrics()
    metrics.add(Gauges(AMaster(ClusterState(), leads=False, silent_s=None)))

    assert 0 == lines(metrics)["dorm_leader"]
    assert "dorm_log_silence_seconds" not in lines(metrics)


def test_plans_and_decisions_are_counted() -> None:
    """How often, how fast, how costly, and how often not by the cluster's own policy."""
    metrics = Metrics()
    metrics.planned(Plan(cpu_ms=2_000, rss_bytes=1 << 20, fallback="it died"))
    metrics.decided(a_layout({"a": {"n1": 1}}, policy="drf/2"), latency_s=0.4)
    found = lines(metrics)

    expected = {
        'dorm_layout_decisions_total{policy="drf/2"}': 1.0,
        "dorm_layout_plan_cpu_seconds_sum": 2.0,
        "dorm_layout_latency_seconds_sum": 0.4,
        "dorm_layout_fallbacks_total": 1.0,
        "dorm_planner_rss_bytes": float(1 << 20),
    }
    assert expected == {name: found[name] for name in expected}


def test_two_masters_of_one_process_do_not_count_together() -> None:
    """As in every simulation."""
    one, other = Metrics(), Metrics()
    one.quarantined(1)

    assert 0 == lines(other)["dorm_layout_quarantines_total"]


async def test_the_route_answers_in_prometheus_own_format() -> None:
    """Its content type names the version."""
    app = Starlette()
    app.add_route("/metrics", scraped(Metrics()), methods=["GET"])
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://m1") as client:
        answer = await client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "dorm_layout_overtaken_total 0.0" in answer.text
