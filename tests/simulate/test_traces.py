"""Each format of traces, with files as they really look, and what is said of bad ones."""

import gzip
from pathlib import Path

import pytest

from dorm.simulate.job import Curve
from dorm.simulate.traces.elastic import make_jobs, read_elasticity
from dorm.simulate.traces.read import read_trace
from dorm.simulate.traces.request import Request, Trace
from events.errors import Rejected
from events.units import Resources

GIB = 1 << 30


def given_file(directory: Path, name: str, text: str) -> Path:
    """Write a file, and return where."""
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_public_traces_are_known_by_their_header(tmp_path: Path) -> None:
    """The published traces give GPUs, a duration, and a label under a name of their own."""
    path = tmp_path / "week.csv.gz"
    path.write_bytes(
        gzip.compress(b"submit_s,duration_s,gpus,vc\n73,67,1,11cb48\n317,51654,8,ee9\n")
    )

    first, second = read_trace(path).requests

    assert (first.submitted_s, first.duration_s, first.containers) == (73, 67, 1)
    assert (second.containers, second.kind) == (8, "ee9")


def test_a_file_of_several_workloads_wants_one_of_them(tmp_path: Path) -> None:
    """Three workloads that all begin at 0 must not become one."""
    path = given_file(
        tmp_path,
        "workloads.csv",
        "workload,submit_s,duration_s,gpus,application\n"
        "workloads/1,107.0,910,6,cifar10\nworkloads/2,9,4142,6,deepspeech2\n",
    )

    assert [one.kind for one in read_trace(path, workload="workloads/2").requests] == [
        "deepspeech2"
    ]
    with pytest.raises(Rejected, match="choose one of workloads/1, workloads/2"):
        read_trace(path)
    with pytest.raises(Rejected, match="the file has workloads/1"):
        read_trace(path, workload="workloads/3")


def test_yaml_has_every_field_of_our_own_format(tmp_path: Path) -> None:
    """A trace of one's own says bounds, demand, curve and weight itself."""
    path = given_file(
        tmp_path,
        "trace.yaml",
        """
jobs:
  - name: resnet
    submit_s: 5
    work: 7200
    containers: 2
    min: 1
    max: 4
    demand: {cpu: 2, memory: 8GiB, gpu: 1}
    weight: 2
    priority: 1
    speed: {1: 1.0, 2: 1.8}
""",
    )

    (job,) = read_trace(path).requests

    assert job == Request(
        name="resnet",
        submitted_s=5,
        duration_s=4_000,
        containers=2,
        demand=Resources(cpu_milli=2_000, memory_bytes=8 * GIB, gpu_count=1),
        min=1,
        max=4,
        weight=2,
        priority=1,
        curve=Curve(points=((1, 1.0), (2, 1.8))),
    )


def test_csv_may_have_a_curve_and_a_demand_too(tmp_path: Path) -> None:
    """Both forms of our format say the same."""
    path = given_file(
        tmp_path,
        "trace.csv",
        "submit_s,duration_s,containers,cpu,memory,speed,alpha\n"
        "0,60,4,2,8GiB,,0.1\n0,60,2,500m,1GiB,1:1 2:1.5,\n",
    )

    first, second = read_trace(path).requests

    assert first.curve == Curve(alpha=0.1)
    assert second.curve == Curve(points=((1, 1.0), (2, 1.5)))
    assert second.demand == Resources(cpu_milli=500, memory_bytes=GIB)


SACCT = (
    "JobID|JobName|Submit|Elapsed|State|Partition|ReqTRES|AllocTRES\n"
    "101|train|2024-03-01T12:00:00|1-02:00:00|COMPLETED|gpu|cpu=8,gres/gpu=2,mem=64G,node=1|"
    "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1\n"
    "101.batch|batch|2024-03-01T12:00:00|1-02:00:00|COMPLETED|||cpu=8,gres/gpu=2,mem=64G,node=1\n"
    "102_7|sweep|2024-03-01T12:10:00|00:05:30|CANCELLED by 1000|cpu||cpu=64,mem=256G,node=2\n"
    "103|never|2024-03-01T12:20:00|00:00:00|CANCELLED by 1000|gpu|cpu=8,gres/gpu=2,node=1|\n"
    "104|later|2024-03-01T12:30:00||PENDING|gpu|cpu=8,gres/gpu=2,mem=64G,node=1|\n"
)


def test_sacct_exports_give_the_jobs_that_ran(tmp_path: Path) -> None:
    """A container is one GPU with its part, or one node's part; steps are no jobs."""
    trace = read_trace(given_file(tmp_path, "jobs.txt", SACCT))

    train, sweep = trace.requests
    assert train.duration_s == 26 * 3600
    assert train.containers == 2
    assert train.demand == Resources(cpu_milli=4_000, memory_bytes=32 * GIB, gpu_count=1)
    assert (train.name, train.kind) == ("train", "gpu")
    assert sweep.containers == 2
    assert sweep.demand == Resources(cpu_milli=32_000, memory_bytes=128 * GIB)
    assert sweep.duration_s == 330
    assert sweep.submitted_s - train.submitted_s == 600
    assert trace.notes == (
        "1 jobs without a run time are left out (cancelled)",
        "1 jobs without a run time are left out (pending)",
    )


def test_sacct_without_resources_says_how_to_export(tmp_path: Path) -> None:
    """The default columns of sacct are not enough."""
    path = given_file(
        tmp_path, "jobs.txt", "JobID|Submit|Elapsed|State\n1|2024-03-01T12:00:00|1:00|X\n"
    )

    with pytest.raises(Rejected, match=r"ReqTRES .*sacct -a -X -P -o"):
        read_trace(path)


def test_batch_scripts_of_a_directory_become_a_trace(tmp_path: Path) -> None:
    """Long and short options, GPUs by type, an array, and nothing after the first command."""
    given_file(
        tmp_path,
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --gres=gpu:a100:2\n#SBATCH --nodes=2\n"
        "#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task=8 # each\n#SBATCH --mem=64G\n"
        "#SBATCH --time=2-12:00:00\nsrun train\n#SBATCH --time=1\n",
    )
    given_file(
        tmp_path,
        "b.sh",
        "#!/bin/bash\n#SBATCH -J sweep -n 4 -c2\n#SBATCH --mem-per-cpu=1000M\n"
        "#SBATCH -t 90\n#SBATCH -a 0-5:2%2\n",
    )

    train, *sweep = read_trace(tmp_path, spacing_s=60).requests

    assert (train.name, train.containers, train.duration_s) == ("train", 4, 216_000)
    assert train.demand == Resources(cpu_milli=4_000, memory_bytes=32 * GIB, gpu_count=1)
    assert [one.submitted_s for one in sweep] == [60, 120, 180]
    assert (sweep[0].name, sweep[0].containers, sweep[0].duration_s) == ("sweep", 4, 5_400)
    assert sweep[0].demand == Resources(cpu_milli=2_000, memory_bytes=2_000 << 20)


CSV = "submit_s,duration_s,gpus\n"
SACCT_HEADER = "JobID|Submit|Elapsed|State|AllocTRES\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", CSV + "0,5,1\n1,x,1\n", "a.csv, line 3, duration_s: 'x' is no number"),
        ("a.csv", CSV + "0,0,1\n", "a.csv, line 2, duration_s: '0' must be above 0"),
        ("a.csv", CSV + "0,5,1.5\n", "gpus: '1.5' must be a whole number"),
        ("a.csv", CSV + "0,5\n", "line 2, row: .* has not 3 values"),
        ("a.csv", "submit_s,duration_s\n-1,5\n", "submit_s: '-1' must be at least 0"),
        ("a.csv", "submit_s,duration_s,min,max\n0,5,3,2\n", "max: '2' is below min, which is 3"),
        ("a.csv", "submit_s,duration_s,memory\n0,5,8\n", "memory: .* has no unit"),
        ("a.csv", "submit_s,duration_s,speed\n0,5,fast\n", "speed: 'fast' is no speed curve"),
        (
            "a.yaml",
            "jobs:\n  - submit_s: 0\n    duration: 5\n",
            "job 1, duration: '5' is no field .*duration_s",
        ),
        ("a.yaml", "jobs: 5\n", "has no list of jobs"),
        ("a.yaml", "jobs: [", "is no YAML"),
        ("a.txt", "hello\n", "is no trace that Dorm can read"),
        ("a.sh", "#!/bin/sh\n#SBATCH -n 1\n", "--time: '' is missing"),
        (
            "a.sh",
            "#!/bin/sh\n#SBATCH -t 1:x\n",
            "a.sh, line 2, --time: '1:x' is no time of Slurm's",
        ),
        (
            "a.sh",
            "#!/bin/sh\n#SBATCH -t 1\n#SBATCH --gres=gpu:many\n",
            "line 3, --gres: 'gpu:many'",
        ),
        ("a.sh", "#!/bin/sh\n#SBATCH -t 1\n#SBATCH --mem=lots\n", "line 3, --mem: 'lots'"),
        ("a.txt", SACCT_HEADER + "1|soon|01:00:00|X|cpu=1\n", "line 2, Submit: 'soon'"),
        ("a.txt", SACCT_HEADER + "1|soon|01:00:00\n", "line 2, row: .* 5 values"),
    ],
)
def test_a_bad_line_is_named_with_field_value_and_rule(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    """Among a hundred thousand lines nobody finds it otherwise."""
    with pytest.raises(Rejected, match=message):
        read_trace(given_file(tmp_path, name, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A typing error is the most common mistake."""
    with pytest.raises(Rejected, match=r"nothing\.csv: cannot be read: No such file"):
        read_trace(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    ("text", "containers", "bounds"),
    [
        ("1x:1x", 4, (4, 4)),
        ("1:2x", 4, (1, 8)),
        ("0.5x:1.5x", 3, (1, 5)),
        ("2:16", 4, (2, 16)),
        ("8:16", 4, (4, 16)),  # a job can run at the size that it asked for
    ],
)
def test_a_rigid_request_gets_bounds(text: str, containers: int, bounds: tuple[int, int]) -> None:
    """Factors of the request, rounded away from it, or numbers of containers."""
    trace = Trace(
        name="t",
        requests=(Request(name="", submitted_s=9, duration_s=60, containers=containers),),
    )

    (job,) = make_jobs(trace, elasticity=read_elasticity(text), alpha=0.25, container=None)

    assert (job.min, job.max) == bounds
    assert job.submitted_ms == 0
    assert job.demand == Resources(gpu_count=1)
    assert job.work == pytest.approx(60 * containers / (1 + 0.25 * (containers - 1)))


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "a:b", "0:1x", "1.5:2x"])
def test_bounds_that_mean_nothing_are_refused(text: str) -> None:
    """With the way out."""
    with pytest.raises(Rejected, match=r"--elastic.*write 1:2x"):
        read_elasticity(text)
