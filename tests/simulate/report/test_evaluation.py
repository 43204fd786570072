"""The tables of docs/evaluation.md, which `tests.bench.evaluation` writes."""

import pytest

from dorm.simulate.clusters import read_cluster
from dorm.simulate.report.groups import groups_of
from dorm.simulate.results import Results
from tests.bench.evaluation import BASELINE, CLAIMS, CLUSTER, DRAWN, pictures, tables, values
from tests.simulate.report.samples import results


@pytest.fixture(scope="module")
def found() -> Results:
    """Two seeds of the baseline and one of ours."""
    return results((BASELINE, DRAWN[-1]), apps=6, seeds=2)


def test_each_seed_is_compared_with_its_own_baseline(found: Results) -> None:
    """Seeds are different workloads: across them a ratio would mean nothing."""
    baseline, ours = groups_of(found)

    ratios = values(CLAIMS[0], ours)

    assert {
        seed: ours.runs[seed].summary.utilization_5h / baseline.runs[seed].summary.utilization_5h
        for seed in (0, 1)
    } == ratios


def test_the_figures_of_the_paper_stand_beside_ours(found: Results) -> None:
    """A reader should not have to look them up."""
    text = tables(found)

    assert all(figure in text for figure in ("2.32x", "1.52x", "2.72x", "below 5 %"))
    assert r"goodput:loss=0.2,touch=0.1" in text
    assert "### Seed by seed" in text


def test_the_cluster_is_the_one_of_the_paper() -> None:
    """20 servers, 240 CPUs, 5 GPUs, 2.5 TB."""
    cluster = read_cluster(CLUSTER)

    assert 20 == len(cluster.nodes)
    assert (240_000, 5) == (cluster.total.cpu_milli, cluster.total.gpu_count)
    assert 2_560 << 30 == cluster.total.memory_bytes


def test_the_plots_for_the_document_are_a_few(found: Results) -> None:
    """The page of `dorm simulate` has all of them; a document has those it talks about."""
    assert {"utilization", "fairness", "speedup", "sizes-1", "sizes-2"} < set(pictures(found))
