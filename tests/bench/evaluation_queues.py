"""How much of the baseline's waiting is its single queue: who wants a GPU holds up who does not."""

from collections.abc import Sequence

from dorm.simulate.clusters import read_cluster
from dorm.simulate.job import Job
from dorm.simulate.runs import Order, run_one
from dorm.simulate.settings import RunSettings
from reconcilers.layout.snapshot import Options


def two_queues_s(jobs: Sequence[Job], cluster: str) -> float:
    """Return the mean completion time of fixed partitions, with a queue of its own for GPUs.

    Both kinds are simulated as if the other was not there. That is nearly exact: fixed partitions
    leave the cpus and the memory beside free GPUs alone as long as they can.
    """
    ends = [end for is_gpu in (False, True) for end in _completions(jobs, cluster, is_gpu=is_gpu)]
    return sum(ends) / len(ends)


def _completions(jobs: Sequence[Job], cluster: str, *, is_gpu: bool) -> list[float]:
    order = Order(
        cluster=read_cluster(cluster),
        jobs=tuple(job for job in jobs if bool(job.demand.gpu_count) == is_gpu),
        settings=RunSettings(label="static", options=Options(policy="static")),
    )
    apps = run_one(order, tell=lambda _at_s, _done: None).apps
    return [app.completion_s for app in apps if app.completion_s is not None]
