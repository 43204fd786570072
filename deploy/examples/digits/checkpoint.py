"""Checkpoints: the model in one file, and a word that says which file counts.

Dorm reads the word too: `step`, and `files` with the sha256 of each. It keeps a copy of them apart.
"""

import hashlib
import io
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from model import Model

MANIFEST = "checkpoint.json"
KEEP = 2  # the one before may just be copied


def save(model: Model, folder: Path, *, loss: float, generation: int) -> None:
    """Save the model. Readers see the old checkpoint or the new one, at any crash."""
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, model=model.pack())
    name = f"checkpoint-{model.step:08d}.npz"
    _replace(folder / name, buffer.getvalue())
    manifest = {
        "step": model.step,
        "loss": loss,
        "generation": generation,
        "files": {name: hashlib.sha256(buffer.getvalue()).hexdigest()},
        "saved_at_ms": time.time_ns() // 1_000_000,
    }
    _replace(folder / MANIFEST, json.dumps(manifest).encode())  # the new one counts from here
    for old in sorted(folder.glob("checkpoint-*.npz"))[:-KEEP]:
        old.unlink()


def load(folder: Path) -> Model | None:
    """Return the saved model, or None when nothing was saved."""
    if not (folder / MANIFEST).is_file():
        return None
    manifest = json.loads((folder / MANIFEST).read_bytes())
    ((name, sha256),) = manifest["files"].items()
    raw = (folder / name).read_bytes()
    if hashlib.sha256(raw).hexdigest() != sha256:
        sys.exit(f"{folder / name} is damaged")
    model = Model()
    with np.load(io.BytesIO(raw)) as arrays:
        model.become(arrays["model"])
    return model


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, durably."""
    scratch = path.with_name(f".{path.name}.tmp")
    with scratch.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
