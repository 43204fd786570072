"""The events that a simulated cluster begins with: its rules, its machines, its submits."""

from typing import Final

import attrs

from dorm.simulate.job import Job, speed_points
from dorm.simulate.settings import RunSettings
from events.apps import AppSpec, AppSubmitted, CheckpointPolicy, Mount, Scale
from events.nodes import Device, NodeReported
from events.policy import LayoutConfigured, LayoutRules
from reconcilers.layout.snapshot import NodeOffer

STEPS_PER_S: Final = 1_000  # of work, so that rounding to whole steps costs nothing
NAME_LENGTH: Final = 40


def rules_of(settings: RunSettings) -> LayoutConfigured:
    """Return the rules of the cluster, without what only plain-data decisions have."""
    options = settings.options
    names = [field.name for field in attrs.fields(LayoutRules)]
    return LayoutConfigured(rules=LayoutRules(**{name: getattr(options, name) for name in names}))


def report_of(node: NodeOffer) -> NodeReported:
    """Return what the agent of a node says at its start."""
    count = node.capacity.gpu_count
    return NodeReported(
        node_id=node.node_id,
        incarnation="simulated",
        capacity=node.capacity,
        devices=tuple(Device(uuid=f"{node.node_id}-gpu-{index}") for index in range(count)),
        labels={"rack": node.rack} if node.rack else {},
    )


def submit_of(job: Job, settings: RunSettings) -> AppSubmitted:
    """Return the submit of a job."""
    return AppSubmitted(
        app_id=job.app_id,
        spec=AppSpec(
            name=job.name[:NAME_LENGTH],
            image="simulated",
            start=("train",),
            resources=job.demand,
            scale=Scale(min=job.min, max=job.max),
            weight=job.weight,
            priority=job.priority,
            speed=speed_points(job) if settings.speeds == "given" else (),
            checkpoint=CheckpointPolicy(path="/work"),
            mounts=(Mount(name="work", target="/work"),),
        ),
    )
