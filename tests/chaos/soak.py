"""Tiny elastic trainings on a small cluster under faults from one seed; then everything is judged.

    python -m tests.chaos.soak --seed 1 --minutes 6

The record of a run that was not sound is kept; `tests.chaos.verdict` judges it again.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from dorm.local.interrupts import EXIT_INTERRUPTED
from dorm.local.places import local_dir
from events.errors import DormError
from tests.chaos import enclosure, faults
from tests.chaos.injector import Injector
from tests.chaos.journal import END
from tests.chaos.lab import IMAGE, Lab, inside, outside, say
from tests.chaos.programs import MASTERS, NODES
from tests.chaos.record import HISTORY, RECORD, load
from tests.chaos.users import Users, errands
from tests.chaos.verdict import judge, summary, tell

APPS: Final = 20
CONVERGENCE_S: Final = 150.0
LOOK_S: Final = 0.5
EXPORT_S: Final = 60.0
EXIT_VIOLATED: Final = 1
EXIT_IMPOSSIBLE: Final = 3
LOGS_KEPT: Final = ("logs", RECORD)
_EXPORT: Final = "from dorm.cli.entry import dorm_events; dorm_events()"


def main() -> int:
    """Run and judge a soak; the exit code is 0 only when everything held."""
    arguments = _arguments()
    if arguments.inside:
        return _inside(arguments)
    why_not = enclosure.missing()
    if why_not:
        say(f"impossible here: {why_not}")
        return EXIT_IMPOSSIBLE
    passed = [f"--{name}={getattr(arguments, name)}" for name in ("seed", "minutes", "apps")]

    def judged(folder: Path, code: int) -> int:
        return _judged(folder, code, seed=arguments.seed)

    try:
        return outside("tests.chaos.soak", passed, judged)
    except DormError as error:
        say(str(error))
        return EXIT_IMPOSSIBLE


def _judged(folder: Path, code: int, *, seed: int) -> int:
    """Judge what the run left, and keep it where something is wrong."""
    record = folder / RECORD
    if code == EXIT_INTERRUPTED:
        return code
    if not (record / HISTORY).exists():
        say(f"the run ended with {code} before it had a history")
    else:
        sys.stdout.write(f"{summary(load(record))}\n")
        found = judge(record)
        sys.stdout.write(f"{tell(found)}\n")
        if not found and code == 0:
            return 0
    kept = local_dir() / "chaos" / f"record-seed{seed}-{folder.name}"
    for name in LOGS_KEPT:
        shutil.copytree(folder / name, kept / name, dirs_exist_ok=True)
    say(f"the record is kept in {kept}")
    return code or EXIT_VIOLATED


def _inside(arguments: Any) -> int:  # noqa: ANN401 - argparse's own
    folder, seconds = Path(arguments.inside), arguments.minutes * 60
    seed = arguments.seed
    try:
        lab = inside(folder, image=Path(arguments.image), etcd=Path(arguments.etcd))
        plan = faults.schedule(seed, seconds=seconds)
        say(f"seed {seed}: {len(plan)} faults in {seconds:.0f} s, {arguments.apps} applications")
        users = Users(lab.journal, lab.programs.client, image=IMAGE)
        users.start(errands(seed, apps=arguments.apps, seconds=seconds))
        injector = Injector(
            lab.journal, lab.network, lab.programs, random=Random(f"{seed}/targets")
        )
        injector.run(plan)
        say("the faults are over; now everything must be brought to its end")
        _converge(lab, users, injector)
        say("nothing is left to do, or the time is up")
        _note_end(lab)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except DormError as error:
        say(str(error))
        return EXIT_IMPOSSIBLE
    return 0


def _converge(lab: Lab, users: Users, injector: Injector) -> None:
    """Wait until nothing is left to do; write down what is, after a long time."""
    ends_at = time.monotonic() + CONVERGENCE_S
    while True:  # Ends when nothing is missing, or with the time.
        injector.supervise()
        missing = list(_missing(lab))
        if not missing and users.finish(timeout_s=0.1):
            return
        if time.monotonic() > ends_at:
            break
        time.sleep(LOOK_S)
    users.finish(timeout_s=0)
    for sentence in missing or ["a user waits for an answer"]:
        lab.journal.note(END, what="missing", told=sentence)


def _missing(lab: Lab) -> Iterator[str]:
    try:
        with contextlib.closing(lab.programs.client()) as client:
            yield from (f"{row['id']} is {row['phase']}" for row in client.apps())
            for row in client.nodes():
                if row["state"] != "ready":
                    yield f"node {row['id']} is {row['state']}"
        with contextlib.closing(lab.programs.docker()) as docker:
            left = docker.started_at(lab.programs.label)
            yield from (f"container {ident[:12]} runs" for ident in left)
    except DormError as error:
        yield str(error)


def _note_end(lab: Lab) -> None:
    """Write down what every master believes, and export the history."""
    through = 0
    for master in MASTERS:
        try:
            with contextlib.closing(lab.programs.client(master)) as client:
                status = client.status()
        except DormError as error:
            lab.journal.note(END, what="missing", told=f"{master} does not answer: {error}")
            continue
        through = max(through, status["revision"])
        lab.journal.note(
            END,
            what="status",
            master=master,
            revision=status["revision"],
            state_hash=status["state_hash"],
        )
    if not lab.observer.stop(through=through):
        lab.journal.note(END, what="missing", told="the observer has not seen everything")
    for name in (*MASTERS, *NODES):
        log = lab.programs.folder / "logs" / f"{name}.log"
        if "Traceback" in log.read_text(errors="replace"):
            lab.journal.note(END, what="missing", told=f"{name} printed a traceback")
    endpoints = ",".join(lab.programs.endpoints)
    target = lab.programs.folder / RECORD / HISTORY
    subprocess.run(
        [
            *(sys.executable, "-c", _EXPORT, "export", str(target)),
            *("--etcd", endpoints, "--cluster", lab.programs.cluster),
        ],
        check=True,
        timeout=EXPORT_S,
        stdout=subprocess.DEVNULL,
    )


def _arguments() -> Any:  # noqa: ANN401 - argparse's own
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=6.0, help="of faults; then it must heal")
    parser.add_argument("--apps", type=int, default=APPS)
    for hidden in ("--inside", "--image", "--etcd"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
