"""Users: submit, change and cancel tiny trainings through whichever master answers.

They never give up and never change a key, so what they were told is what must be true.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import attrs

from dorm.api.client import ApiClient
from events.errors import DormError, Rejected
from tests.chaos.journal import USERS, Journal

AGAIN_S: Final = 0.3
CONTAINER_CPUS: Final = 0.2


@attrs.frozen(kw_only=True)
class Errand:
    """One application and what its user does with it; times in seconds.

    Attributes:
        at_s: When it is submitted, from the begin of the run.
        steps: How many it needs; each of its containers makes ten a second.
        crash_per_s: How likely each container crashes in a second.
        deaf: It ignores the signal to stop.
        change_after_s, cancel_after_s: After the submit; None for never.
    """

    name: str
    at_s: float
    least: int
    most: int
    steps: int
    crash_per_s: float = 0.0
    deaf: bool = False
    change_after_s: float | None = None
    cancel_after_s: float | None = None

    def spec(self, image: str) -> str:
        """Return the application as a user writes it."""
        deaf = ', CHAOS_DEAF: "1"' if self.deaf else ""
        return (
            f"name: {self.name}\nimage: {image}\nrun: {{start: [python3, /code/trainer.py]}}\n"
            f"resources: {{cpu: {CONTAINER_CPUS:g}, memory: 32MiB}}\n"
            f"scale: {{min: {self.least}, max: {self.most}}}\n"
            f'env: {{CHAOS_STEPS: "{self.steps}", CHAOS_CRASH: "{self.crash_per_s:g}"{deaf}}}\n'
            "checkpoint: {signal: SIGTERM, grace: 3s, path: /ckpt/$DORM_APP_ID}\n"
            "mounts: [{name: ckpt, target: /ckpt}, {name: witness, target: /witness},"
            " {name: code, target: /code, mode: ro}]\n"
            "retry: {max: 1000, backoff: 500ms, maxBackoff: 2s}\n"
        )


def errands(seed: int, *, apps: int, seconds: float) -> tuple[Errand, ...]:
    """Return what the users of a run do, in order of time; the same for the same seed."""
    random = Random(f"{seed}/errands")
    found = []
    for index in range(apps):
        least = random.randint(1, 2)
        found.append(
            Errand(
                name=f"app{index}",
                at_s=random.uniform(0, 0.6 * seconds),
                least=least,
                most=random.randint(least, 4),
                steps=int(random.uniform(0.5, 3.0) * seconds * 2),
                crash_per_s=random.choice((0.0, 0.0, 0.0, 0.02)),
                deaf=random.random() < 0.1,
                change_after_s=_maybe(random, 0.2, seconds),
                cancel_after_s=_maybe(random, 0.1, seconds),
            )
        )
    return tuple(sorted(found, key=lambda errand: errand.at_s))


def _maybe(random: Random, likely: float, seconds: float) -> float | None:
    after = random.uniform(1.0, 0.4 * seconds)
    return after if random.random() < likely else None


class Users:
    """A user for each errand, in a thread of its own."""

    def __init__(self, journal: Journal, client: Callable[[], ApiClient], *, image: str) -> None:
        """Take the record, a way to make clients, and the image that everybody trains with."""
        self._journal, self._client, self._image = journal, client, image
        self._threads: list[threading.Thread] = []
        self._patience = threading.Event()

    def start(self, plan: Sequence[Errand]) -> None:
        """Begin with all errands."""
        for errand in plan:
            thread = threading.Thread(target=self._run, args=(errand,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish(self, *, timeout_s: float) -> bool:
        """Wait until everything is acknowledged; return whether it is."""
        ends_at = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(timeout=max(0.0, ends_at - time.monotonic()))
        self._patience.set()
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, errand: Errand) -> None:
        time.sleep(errand.at_s)
        with contextlib.closing(self._client()) as client:
            spec, key = errand.spec(self._image), f"key-{errand.name}"
            self._journal.note(USERS, what="asked", name=errand.name)
            app = self._insist("submitted", errand, lambda: client.submit(spec, key=key)["id"])
            if errand.change_after_s is not None:
                time.sleep(errand.change_after_s)
                change = {"min": 1, "max": 2}
                self._insist("changed", errand, lambda: client.change(app, change)["id"])
            if errand.cancel_after_s is not None:
                time.sleep(errand.cancel_after_s)
                self._insist("cancelled", errand, lambda: client.cancel(app)["id"])

    def _insist(self, what: str, errand: Errand, ask: Callable[[], str]) -> str:
        """Ask until there is an answer, and write it down."""
        while not self._patience.is_set():
            try:
                app_id = ask()
            except Rejected as error:  # Such as a change of an application that has ended.
                self._journal.note(USERS, what="refused", name=errand.name, why=str(error))
                return ""
            except DormError:
                time.sleep(AGAIN_S)
            else:
                self._journal.note(USERS, what=what, name=errand.name, app_id=app_id)
                return app_id
        return ""
