"""The example training keeps what it promises, since demo and Docker tests build on it."""

import hashlib
from pathlib import Path

import pytest

from tests.examples.digits import Generation, manifest


def test_size_changes_the_speed_and_not_the_mathematics(tmp_path: Path, digits: Path) -> None:
    """Gradients are really averaged: three ranks end where one rank ends."""
    losses = []
    for size in (1, 3):
        home = tmp_path / f"size-{size}"
        generation = Generation.start(home, digits, size=size, steps=60)
        assert [0] * size == generation.ends()
        losses.append(manifest(home)["loss"])

    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_a_stopped_training_goes_on_at_another_size(tmp_path: Path, digits: Path) -> None:
    """No step is done twice or left out over a resize, so the end is that of an undisturbed run."""
    undisturbed = Generation.start(tmp_path / "whole", digits, size=1, steps=120)
    assert undisturbed.ends() == [0]

    first = Generation.start(tmp_path, digits, size=1, steps=120, step_cost_ms=40)
    first.wait_for_step(10)
    first.terminate()
    assert first.ends() == [0]
    saved = manifest(tmp_path)
    second = Generation.start(tmp_path, digits, size=3, number=2, steps=120)
    second.wait_for_step(saved["step"])
    assert second.ends() == [0, 0, 0]

    assert 10 <= saved["step"] < 120
    assert manifest(tmp_path)["step"] == 120
    assert manifest(tmp_path)["loss"] == pytest.approx(manifest(tmp_path / "whole")["loss"])
    assert second.progress() == {
        "step": 120,
        "total": 120,
        "generation": 2,
        "loss": pytest.approx(manifest(tmp_path)["loss"], abs=1e-6),
    }


def test_an_order_to_stop_that_reaches_one_rank_stops_all(tmp_path: Path, digits: Path) -> None:
    """Signals arrive at different times; ranks that left at different steps would lose the work."""
    generation = Generation.start(tmp_path, digits, size=3, steps=100_000, step_cost_ms=60)
    generation.wait_for_step(5)
    generation.processes[2].terminate()

    assert generation.ends() == [0, 0, 0]
    assert manifest(tmp_path)["step"] >= 5


def test_the_checkpoint_is_the_file_that_its_manifest_names(tmp_path: Path, digits: Path) -> None:
    """It is written last: whoever reads it finds a whole file, and Dorm time to copy it."""
    generation = Generation.start(tmp_path, digits, size=1, steps=50, checkpoint_every=20)
    assert generation.ends() == [0]

    older, saved = sorted((tmp_path / "ckpt").glob("checkpoint-*.npz"))
    assert older.name == "checkpoint-00000040.npz"
    assert {saved.name: hashlib.sha256(saved.read_bytes()).hexdigest()} == manifest(tmp_path)[
        "files"
    ]


def test_a_dead_peer_ends_everybody(tmp_path: Path, digits: Path) -> None:
    """Ranks that hang on after a death would hold their machines for nothing."""
    generation = Generation.start(tmp_path, digits, size=3, steps=100_000, step_cost_ms=60)
    generation.wait_for_step(5)
    generation.processes[1].kill()

    codes = generation.ends()

    assert codes[1] == -9
    assert codes[0] > 0
    assert codes[2] > 0


def test_a_finished_training_that_is_resumed_ends_at_once(tmp_path: Path, digits: Path) -> None:
    """An application may finish in the moment in which it is told to move."""
    assert Generation.start(tmp_path, digits, size=1, steps=30).ends() == [0]
    before = manifest(tmp_path)

    resumed = Generation.start(tmp_path, digits, size=2, number=2, steps=30)

    assert resumed.ends() == [0, 0]
    assert before == manifest(tmp_path)


def test_a_training_that_still_waits_for_peers_stops_at_once(tmp_path: Path, digits: Path) -> None:
    """Peers may never come; there is nothing to save, and nothing to wait for."""
    generation = Generation.start(tmp_path, digits, size=2, steps=30)
    generation.processes[1].kill()
    generation.wait_until_listening()
    generation.terminate()

    assert generation.ends() == [0, -9]
    assert not (tmp_path / "ckpt").exists()
