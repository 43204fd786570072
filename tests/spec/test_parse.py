"""Sound documents, and what they mean."""

import json
from pathlib import Path, PurePosixPath

import pytest

from dorm.spec import SpecFaults, from_json_text, from_plain, from_yaml, render, to_plain
from events.apps import AppSpec, CheckpointPolicy, Mount, RetryPolicy, Scale, SpeedPoint
from events.units import Resources
from tests.spec.texts import a_text

FULL = """
name: resnet
image: registry:5000/resnet@sha256:00
run:
  start: [python, train.py]
  resume: [python, train.py, --resume]
resources: {cpu: 500m, memory: 1.5GiB, gpu: 2, pids: 256}
scale: {min: 2, max: 8}
weight: 2.5
priority: -10
speed: [{containers: 1, speed: 1}, {containers: 8, speed: 6.5, nodes: 2}]
env: {NCCL_DEBUG: WARN, EMPTY: ""}
checkpoint: {signal: SIGUSR1, grace: 2m, path: /ckpt/$DORM_APP_ID, keep: 4}
mounts:
  - {name: data, target: /data, mode: ro}
  - {name: ckpt, target: /ckpt/}
retry: {max: 5, backoff: 10s, maxBackoff: 1h}
"""


def test_every_field_is_read() -> None:
    """A field that is accepted and then forgotten is worse than one that is refused."""
    assert from_yaml(FULL) == AppSpec(
        name="resnet",
        image="registry:5000/resnet@sha256:00",
        start=("python", "train.py"),
        resume=("python", "train.py", "--resume"),
        resources=Resources(cpu_milli=500, memory_bytes=3 << 29, gpu_count=2),
        pids_max=256,
        scale=Scale(min=2, max=8),
        weight=2.5,
        env={"NCCL_DEBUG": "WARN", "EMPTY": ""},
        checkpoint=CheckpointPolicy(
            signal="SIGUSR1", grace_ms=120_000, path="/ckpt/$DORM_APP_ID", keep=4
        ),
        mounts=(
            Mount(name="data", target="/data", read_only=True),
            Mount(name="ckpt", target="/ckpt"),
        ),
        retry=RetryPolicy(max=5, backoff_ms=10_000, backoff_max_ms=3_600_000),
        priority=-10,
        speed=(SpeedPoint(containers=1, speed=1.0), SpeedPoint(containers=8, speed=6.5, nodes=2)),
    )


def test_a_short_document_is_enough() -> None:
    """What is not said has the dullest value: one container, weight 1, nothing saved."""
    spec = from_yaml(a_text())

    assert (spec.scale, spec.weight, spec.resume) == (Scale(min=1, max=1), 1.0, ())
    assert (spec.priority, spec.speed) == (0, ())
    assert spec.checkpoint == CheckpointPolicy()


def test_a_speed_curve_is_written_as_briefly_as_people_say_it() -> None:
    """Most know only how fast it is with how many containers, wherever these are."""
    expected = (SpeedPoint(containers=1, speed=1.0), SpeedPoint(containers=8, speed=6.5))

    assert from_yaml(a_text(speed="{1: 1.0, 8: 6.5}")).speed == expected
    assert from_yaml(a_text(speed="{'1': 1, '8': 6.5}")).speed == expected
    assert from_yaml(a_text(speed="{}")).speed == ()


def test_a_speed_may_be_told_for_the_same_size_on_more_nodes() -> None:
    """The network between them is what makes the difference."""
    text = "[{containers: 8, speed: 7, nodes: 1}, {containers: 8, speed: 5, nodes: 2}]"

    assert [(7.0, 1), (5.0, 2)] == [
        (point.speed, point.nodes) for point in from_yaml(a_text(speed=text)).speed
    ]


def test_the_smallest_size_is_the_largest_too_unless_said() -> None:
    """An application that never asked to be resized is not."""
    assert from_yaml(a_text(scale="{min: 3}")).scale == Scale(min=3, max=3)


@pytest.mark.parametrize(
    "text", ["on", "no", "12:30", "0777", "1_000", "2024-01-02", "1e3x", "0x1F"]
)
def test_yaml_11_does_not_turn_text_into_something_else(text: str) -> None:
    """YAML 1.1 reads these as true, false, 750, 511, 1000, a date; their author wrote text."""
    assert from_yaml(a_text(env=f"{{VALUE: {text}}}")).env == {"VALUE": text}


def test_json_with_the_same_fields_gives_the_same_spec() -> None:
    """Programs write JSON; there is one form, not two."""
    spec = from_yaml(FULL)

    assert from_json_text(json.dumps(to_plain(spec))) == spec


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "is not valid JSON"),
        ('{"name": "a", "name": "b"}', 'has the key "name" twice'),
        ("[" * 2000, "nested deeper"),
        ("[" * 20 + "]" * 20, "nested deeper"),
        ('{"weight": ' + "1" * 5000 + "}", "too long"),
        ('{"name": "\\ud800"}', "surrogate"),
        ('"' + "x" * 70_000 + '"', "is larger than 65536 bytes"),
        (b"\xff\xfe", "is not UTF-8"),
        ('{"name": "a", "weight": NaN}', "weight: NaN must be above 0"),
    ],
)
def test_bad_json_is_refused_in_words(text: str | bytes, part: str) -> None:
    """The API takes JSON from anyone; nothing that comes may end in a traceback."""
    with pytest.raises(SpecFaults) as caught:
        from_json_text(text)

    assert part in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    """Some editors write one, and nobody sees it."""
    assert from_yaml(b"\xef\xbb\xbf" + a_text().encode()).name == "digits"


@pytest.mark.parametrize("target", ["//", "//proc", "/./proc", "/proc/", "///dev//shm"])
def test_a_mount_cannot_hide_the_systems_directories_by_odd_spelling(target: str) -> None:
    """A container without its /proc fails in ways that nobody would connect with a mount."""
    with pytest.raises(SpecFaults, match="would hide"):
        from_yaml(a_text(mounts=f"[{{name: data, target: '{target}'}}]"))


def test_targets_are_kept_in_one_spelling() -> None:
    """Everything behind the spec compares paths as text."""
    spec = from_yaml(
        a_text(mounts="[{name: c, target: //ckpt/./x/}]", checkpoint="{path: /ckpt//x/a/}")
    )

    assert (spec.mounts[0].target, spec.checkpoint.path) == ("/ckpt/x", "/ckpt/x/a")
    assert PurePosixPath(spec.mounts[0].target) in PurePosixPath(spec.checkpoint.path).parents


def test_the_rendered_document_reads_back() -> None:
    """`dorm show` prints it, so that it can be submitted again."""
    spec = from_yaml(FULL)

    assert from_yaml(render(spec)) == spec


def test_a_document_that_was_built_in_python_is_checked_too() -> None:
    """Python objects that YAML never gives must be refused, not crash."""
    with pytest.raises(SpecFaults, match="must be text"):
        from_plain({**to_plain(from_yaml(FULL)), "image": object()})


def test_the_example_of_the_documentation_is_a_spec() -> None:
    """It is what most users will begin with."""
    page = (Path(__file__).parents[2] / "docs" / "spec.md").read_text()

    example = page.split("```yaml\n")[1].split("```")[0]

    assert from_yaml(example).name == "digits"
