"""What saved and rejected checkpoints change.

The pair of generation and step only grows in the log, so whoever knows any state of the log may
remove what stands below the oldest checkpoint of that state: it never counts again.
"""

from typing import Final

import attrs

from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.draft import Draft, Senseless
from events.evolving import evolve
from events.rules.generations import running
from events.state import App, Checkpoint, Generation

DAMAGED_KEPT: Final = 4
"""So many damaged ones are remembered besides the whole ones: the disk may be repaired."""


def saved(draft: Draft, event: CheckpointSaved) -> None:
    """Let later generations start from it."""
    app = draft.app(event.app_id)
    _of_rank_zero(running(app, event.generation), event.node_id)
    new = Checkpoint(
        generation=event.generation, step=event.step, manifest_sha256=event.manifest_sha256
    )
    if app.checkpoints and app.checkpoints[0].position >= new.position:
        raise Senseless("checkpoint is not newer")
    steps = [step for step in (app.checkpoint_step, event.step or None) if step is not None]
    draft.put(evolve(app, checkpoints=_kept(app, new), checkpoint_step=max(steps, default=None)))


def rejected(draft: Draft, event: CheckpointRejected) -> None:
    """Let the generation start from the next older one."""
    app = draft.app(event.app_id)
    generation = running(app, event.generation)
    _of_rank_zero(generation, event.node_id)
    if 0 in generation.started:
        raise Senseless("container already started")
    position = event.saved_generation, event.step
    if position not in {seed.position for seed in generation.seeds if not seed.rejected}:
        raise Senseless("generation does not start from that checkpoint")
    reason = event.reason or "damaged"
    generation = evolve(generation, seeds=_mark(generation.seeds, position, reason))
    if (seed := generation.seed) is not None:
        generation = evolve(generation, first_step=seed.step)
    checkpoints = _mark(app.checkpoints, position, reason)
    draft.put(evolve(app, generation=generation, checkpoints=checkpoints))


def _of_rank_zero(generation: Generation, node_id: str) -> None:
    if not generation.members or generation.members[0].node_id != node_id:
        raise Senseless("rank belongs to another node")


def _mark(
    checkpoints: tuple[Checkpoint, ...], position: tuple[int, int], reason: str
) -> tuple[Checkpoint, ...]:
    return tuple(
        attrs.evolve(one, rejected=reason) if one.position == position else one
        for one in checkpoints
    )


def _kept(app: App, new: Checkpoint) -> tuple[Checkpoint, ...]:
    whole = damaged = 0
    kept = []
    for one in (new, *app.checkpoints):
        if one.rejected:
            damaged += 1
            if damaged <= DAMAGED_KEPT:
                kept.append(one)
            continue
        whole += 1
        kept.append(one)
        if whole == app.spec.checkpoint.keep:
            break
    return tuple(kept)
