"""A state as the snapshot that a decision is taken from."""

from collections.abc import Mapping
from typing import Final

import attrs

from events.layouts import Partition
from events.nodes import NodeReported
from events.policy import RESTART_MS, LayoutRules
from events.state import App, ClusterState
from reconcilers.layout.claims import Standing, stand
from reconcilers.layout.problem import Problem, problem_of
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot
from reconcilers.layout.speed import curve

RACK_LABELS: Final = ("dorm.rack", "rack")


@attrs.frozen(kw_only=True)
class Posed:
    """A decision that is to be taken.

    Attributes:
        standing: What is left of the partitions in force, with the devices behind it.
    """

    problem: Problem
    standing: Standing
    snapshot: Snapshot


def pose(state: ClusterState, policy: str | None = None) -> Posed:
    """Return the decision that a state asks for.

    Args:
        state: What is known.
        policy: In place of the configured one.
    """
    problem = problem_of(state)
    standing = stand(problem)
    options = options_of(state.rules, policy)
    return Posed(
        problem=problem,
        standing=standing,
        snapshot=Snapshot(
            nodes=tuple(_offer(report, standing) for report in problem.nodes.values()),
            apps=tuple(
                _request(state, app, order, standing)
                for order, app in enumerate(problem.contenders)
            ),
            options=options,
            prices=_last_prices(state),
        ),
    )


def options_of(rules: LayoutRules, policy: str | None = None) -> Options:
    """Return the options that the rules of the cluster ask for, perhaps under another policy."""
    return Options.of(attrs.evolve(rules, policy=policy) if policy else rules)


def _last_prices(state: ClusterState) -> Mapping[str, float]:
    last = state.last_decision
    return last.quality.prices if last and last.quality else {}


def _offer(report: NodeReported, standing: Standing) -> NodeOffer:
    capacity, gpu_count = report.capacity, len({device.uuid for device in report.devices})
    if capacity.gpu_count != gpu_count:
        capacity = attrs.evolve(capacity, gpu_count=gpu_count)
    room = standing.room[report.node_id]
    return NodeOffer(
        node_id=report.node_id,
        capacity=capacity,
        available=None if room == capacity else room,
        rack=rack_of(report.labels),
    )


def rack_of(labels: Mapping[str, str]) -> str:
    """Return where a node stands, by its labels; empty when they do not say."""
    for name in RACK_LABELS:
        if rack := labels.get(name):
            return rack
    return ""


def _request(state: ClusterState, app: App, order: int, standing: Standing) -> AppRequest:
    placement = {node: len(groups) for node, groups in standing.kept[app.app_id].items()}
    size = sum(placement.values())
    is_on_its_way = app.last_generation < app.target_generation
    restarts_anyway = is_on_its_way or placement != _counts(app.partition)
    return AppRequest(
        app_id=app.app_id,
        demand=app.demand,
        min=app.spec.scale.min,
        max=app.spec.scale.max,
        weight=app.spec.weight,
        priority=app.spec.priority,
        submitted_ms=order,
        waited_ms=0 if app.partition else max(0, state.now_ms - app.waiting_since_ms),
        age_ms=max(0, state.now_ms - app.submitted_at_ms),
        # What has to restart in any case, or is about to, neither rests nor costs another restart.
        ran_ms=None if restarts_anyway else undisturbed_ms(state, app),
        restart_ms=0 if restarts_anyway else app.restart_ms or RESTART_MS,
        placement=placement,
        speed=curve(app),
        is_evicted=bool(app.partition) and size < app.spec.scale.min,
    )


def undisturbed_ms(state: ClusterState, app: App) -> int | None:
    """Return how long ago an application was last disturbed; None if it never was, or waits."""
    if app.disturbed_at_ms is None or not app.partition:
        return None
    return max(0, state.now_ms - app.disturbed_at_ms)


def _counts(partition: Partition) -> dict[str, int]:
    return {node_id: slots.count for node_id, slots in partition.items()}
