"""Write the golden files that are missing: `python -m tests.golden.write`.

A golden file is one event as some version of Dorm stored it, and stays for ever: never edited,
never removed. A class that no longer writes the same bytes needs a new wire version and an upcast.
"""

import sys
from pathlib import Path
from typing import Final

from events.apps import CheckpointPolicy, Mount, RetryPolicy, SpeedPoint
from events.catalog import CATALOG, KIND_OF, Event
from events.codec import encode
from events.layouts import LayoutQuality, Slots
from events.nodes import Device
from events.recorded import Recorded, Stamp
from tests import builders as b
from tests.checkpoint_builders import checkpoint_rejected, checkpoint_saved

GOLDEN: Final = Path(__file__).parent

EXAMPLES: Final[tuple[Event, ...]] = (
    b.an_app(
        "digits-a-x1y2z",
        name="digits-a",
        image="dorm/train:1",
        start=("python", "train.py"),
        resume=("python", "train.py", "--resume"),
        cpus=0.5,
        memory_gib=0.5,
        gpus=1,
        pids_max=256,
        min=1,
        max=6,
        weight=2.5,
        env={"EPOCHS": "40", "NAME": "ümlaut"},
        checkpoint=CheckpointPolicy(
            signal="SIGUSR1", grace_ms=30_000, path="/ckpt/$DORM_APP_ID", keep=3
        ),
        mounts=(Mount(name="data", target="/data", read_only=True),),
        retry=RetryPolicy(max=2, backoff_ms=1_000, backoff_max_ms=60_000),
        priority=-5,
        speed=(SpeedPoint(containers=1, speed=1.5), SpeedPoint(containers=6, speed=7.25, nodes=2)),
        on_disconnect="keep",
    ),
    b.app_changed("digits-a-x1y2z", weight=0.5, scale=(2, 3), priority=10),
    b.app_cancel_requested("digits-a-x1y2z"),
    b.app_retrying("digits-a-x1y2z", attempt=2, wait_ms=5_000, reason="oom"),
    b.app_requeued("digits-a-x1y2z"),
    b.app_completed("digits-a-x1y2z"),
    b.app_failed("digits-a-x1y2z", reason="gave up after 2 retries"),
    b.app_cancelled("digits-a-x1y2z"),
    b.app_quarantined("digits-a-x1y2z", reason="the planner ran out of memory"),
    b.app_unquarantined("digits-a-x1y2z"),
    b.a_node(
        "n1",
        cpus=2,
        memory_gib=8,
        gpus=1,
        devices=(Device(uuid="GPU-1", model="NVIDIA H200", memory_bytes=150 * b.GIB),),
        api_url="http://n1.test:7071",
        network="host",
        port_min=21_000,
        port_max=21_999,
        labels={"zone": "z1"},
        versions={"dorm": "0.1.0"},
        tenure="k3l4m5n6o7p8",
    ),
    b.node_lost("n1"),
    b.node_returned("n1"),
    b.node_expelled("n1", tenure="k3l4m5n6o7p8"),
    b.node_fenced("n1", tenure="k3l4m5n6o7p8"),
    b.node_forgotten("n1"),
    b.a_layout(
        {"digits-a-x1y2z": {"n1": Slots(count=1, devices=("GPU-1",))}, "digits-b-k3l4m": {}},
        generation=8,
        decision_id="m1-0000000007",
        input_revision=41,
        part=1,
        parts=2,
        problem_hash="12" * 32,
        quality=LayoutQuality(
            objective=1.75,
            bound=2.0,
            gap=0.125,
            loss=0.25,
            loss_bound=1.2,
            touched=("digits-a-x1y2z",),
            touches_max=1,
            released=("digits-b-k3l4m",),
            prices={"1/gpu": 0.5},
            input_hash="34" * 32,
            version="dorm/1 highs/1.16.0",
            fallback="the planner ran out of memory",
        ),
    ),
    b.layout_configured(
        policy="utilization",
        loss_factor=0.1,
        touch_factor=0.05,
        shortfall_price=2.0,
        horizon_ms=900_000,
        min_run_ms=300_000,
        gang_wait_ms=120_000,
        static_containers=4,
    ),
    b.layout_due(600_500),
    b.a_generation("digits-a-x1y2z", "n1", generation=8, gpus=1, first_port=21_000),
    b.checkpoint_requested("digits-a-x1y2z", generation=7),
    checkpoint_saved(
        "digits-a-x1y2z",
        generation=7,
        step=1200,
        manifest_sha256="ab" * 32,
        size_bytes=3_000_000_000,
        file_count=9,
    ),
    checkpoint_rejected(
        "digits-a-x1y2z", generation=8, saved_generation=7, step=1200, reason="model.npz is gone"
    ),
    b.stop_requested("digits-a-x1y2z", generation=8, cause="failure", reason="container 0: oom"),
    b.container_started("digits-a-x1y2z", generation=8),
    b.container_exited(
        "digits-a-x1y2z",
        generation=8,
        exit_code=137,
        reason="killed",
        final=True,
        message="grace time over",
        checkpoint_step=1200,
    ),
    b.generation_stopped("digits-a-x1y2z", generation=8),
    b.leader_elected("m1", epoch=17),
    b.segment_sealed(
        3, sha256="cd" * 32, previous="ab" * 32, count=5000, first_revision=17, last_revision=9000
    ),
    b.node_settled("n1", epoch=2),
    b.store_epoch_began(
        2, found_revision=9_100, lost_revision=9_250, witnesses=("node/n1", "master/m1")
    ),
)
"""One event of each present kind, with every field away from its default."""


def path_of(kind: str, folder: Path = GOLDEN) -> Path:
    """Return the file of a wire name."""
    return folder / f"{kind.replace('/', '.')}.json"


def write_missing(folder: Path = GOLDEN) -> tuple[str, ...]:
    """Write the files that are not there, and return their wire names. Old files stay as they are.

    Raises:
        KeyError: A kind has no example.
    """
    examples = {KIND_OF[type(event)]: event for event in EXAMPLES}
    missing = tuple(kind for kind in CATALOG if not path_of(kind, folder).exists())
    for kind in missing:
        recorded = Recorded(
            event_id="m1-x7k2p-0000000012-003",
            stamp=Stamp(
                at_ms=1_700_000_000_000, actor="master/m1", cause="m1-x7k2p-0000000011-000"
            ),
            previous="ef" * 32,
            event=examples[kind],
        )
        path_of(kind, folder).write_bytes(encode(recorded) + b"\n")
    return missing


if __name__ == "__main__":
    sys.stdout.write("".join(f"wrote {kind}\n" for kind in write_missing()) or "nothing to write\n")
