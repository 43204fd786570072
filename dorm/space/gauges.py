"""The room in etcd for Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dorm.space.levels import MemberSpace, Space


class SpaceGauges(Collector):
    """Read at each scrape from what the master last saw."""

    def __init__(self, seen: Callable[[], Space]) -> None:
        self._seen = seen

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges; none before etcd has answered."""
        space = self._seen()
        if not space.members:
            return
        yield _by_member("db_bytes", "Size of the database file", space, lambda one: one.db_bytes)
        yield _by_member(
            "db_in_use_bytes", "What of it holds anything", space, lambda one: one.in_use_bytes
        )
        yield _by_member(
            "db_quota_bytes", "How large it may become", space, lambda one: one.quota_bytes
        )
        yield _by_member(
            "db_fill", "Part of the quota that counts as used", space, lambda one: one.fill
        )
        text = "0 roomy, 1 filling, 2 no submits, 3 only endings, 4 full: etcd refuses all writes"
        yield GaugeMetricFamily("dorm_etcd_space_level", text, value=float(space.level))

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: before a master runs it has nothing to say."""
        return iter(())


def _by_member(
    name: str, text: str, space: Space, read: Callable[[MemberSpace], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"dorm_etcd_{name}", text, labels=["member"])
    for member in space.members:
        family.add_metric([member.endpoint], float(read(member)))
    return family
