"""What the events of a generation and its containers change."""

from typing import Any

from events.draft import Draft, Senseless
from events.evolving import evolve
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    GenerationStopped,
    StopRequested,
)
from events.recorded import Recorded
from events.rules import measuring
from events.state import App, Exit, Generation, Stop


def started(draft: Draft, event: GenerationStarted, recorded: Recorded) -> None:
    """Let the containers exist."""
    app = draft.app(event.app_id)
    if app.generation is not None:
        raise Senseless("an older generation is still there")
    if event.generation <= app.last_generation:
        raise Senseless("generation number is used up")
    if any(member.node_id not in draft.nodes for member in event.members):
        raise Senseless("generation on an unknown node")  # forgotten since it was planned
    seeds = app.seeds
    generation = Generation(
        number=event.generation,
        members=event.members,
        started_revision=recorded.revision,
        origin=recorded.event_id,
        epoch=draft.store_epoch,
        input_revision=app.input_revision,
        first_step=seeds[0].step if seeds else app.measured.last_step,
        seeds=seeds,
    )
    draft.put(evolve(app, generation=generation, last_generation=event.generation))


def checkpoint_requested(draft: Draft, event: CheckpointRequested, recorded: Recorded) -> None:
    """Begin a resize."""
    app = draft.app(event.app_id)
    generation = running(app, event.generation)
    if generation.stop is not None:
        raise Senseless("the generation is already stopping")
    stop = Stop(cause="resize", reason=event.reason, revision=recorded.revision, at_ms=draft.now_ms)
    generation = evolve(generation, stop=stop)
    measured = measuring.moving(app.measured, draft.now_ms)
    draft.put(evolve(app, generation=generation, measured=measured))


def stop_requested(draft: Draft, event: StopRequested, recorded: Recorded) -> None:
    """End the generation for a cancel or a failure, which overrule a resize under way."""
    app = draft.app(event.app_id)
    generation = running(app, event.generation)
    if generation.stop is not None and generation.stop.cause != "resize":
        raise Senseless("the generation is already stopping")
    counts, final = app.failure_counts, app.failure_final
    if event.cause == "failure":
        # Only what ended so far is the failure: the others are stopped now, and end badly for it.
        counts = any(one.failed and one.reason != "lost" for one in generation.exits.values())
        final = any(one.final for one in generation.exits.values())
    stop = Stop(
        cause=event.cause, reason=event.reason, revision=recorded.revision, at_ms=draft.now_ms
    )
    draft.put(
        evolve(
            app,
            generation=evolve(generation, stop=stop),
            failure_counts=counts,
            failure_final=final,
            measured=measuring.unmoved(app.measured),
        )
    )


def container_started(draft: Draft, event: ContainerStarted) -> None:
    """Note that it was seen running."""
    app = draft.app(event.app_id)
    generation = _generation_of(app, event)
    if event.rank in generation.started:
        raise Senseless("container already started")
    ranks = tuple(sorted((*generation.started, event.rank)))
    if len(ranks) < len(generation.members):
        draft.put(evolve(app, generation=evolve(generation, started=ranks)))
        return
    generation = evolve(generation, started=ranks, running_since_ms=draft.now_ms)
    measured = measuring.moved(app.measured, draft.now_ms)
    draft.put(evolve(app, generation=generation, measured=measured))


def container_exited(draft: Draft, event: ContainerExited) -> None:
    """Note how it ended, and the newest checkpoint that it left."""
    app = draft.app(event.app_id)
    generation = _generation_of(app, event)
    gone = Exit(
        exit_code=event.exit_code, reason=event.reason, message=event.message, final=event.final
    )
    measured = app.measured
    if (step := event.checkpoint_step) is not None:
        at_will = event.reason == "exited"
        measured = measuring.stepped(app, generation, step, at_will=at_will)
    generation = evolve(generation, exits={**generation.exits, event.rank: gone})
    steps = [step for step in (app.checkpoint_step, event.checkpoint_step) if step is not None]
    draft.put(
        evolve(
            app,
            generation=generation,
            checkpoint_step=max(steps, default=None),
            measured=measured,
        )
    )


def stopped(draft: Draft, event: GenerationStopped) -> None:
    """Free the room, and keep what the stop means for the application."""
    app = draft.app(event.app_id)
    generation = running(app, event.generation)
    if generation.live:
        raise Senseless("containers are still there")
    if generation.stop is None:
        raise Senseless("nobody asked the generation to stop")
    changes: dict[str, Any] = {"generation": None}
    if generation.stop.cause == "resize":
        changes["resizes"] = app.resizes + 1
    if generation.stop.cause == "failure":
        changes["failure"] = generation.stop.reason or "a container failed"
    draft.put(evolve(app, **changes))


def running(app: App, number: int) -> Generation:
    """Return the generation of that number, while it is the one that exists.

    Raises:
        Senseless: It is not.
    """
    if app.generation is None or app.generation.number != number:
        raise Senseless("generation is not the running one")
    return app.generation


def _generation_of(app: App, event: ContainerStarted | ContainerExited) -> Generation:
    generation = running(app, event.generation)
    if not 0 <= event.rank < len(generation.members):
        raise Senseless("rank is not in the generation")
    if generation.members[event.rank].node_id != event.node_id:
        raise Senseless("rank belongs to another node")
    if event.rank in generation.exits:
        raise Senseless("container is already gone")
    return generation
