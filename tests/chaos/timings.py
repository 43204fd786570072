"""How long everything takes: directed faults on a quiet cluster, a row of the table for each.

    python -m tests.chaos.timings [--rounds 3] [ROW ...]

Every figure is measured from outside, by CLOCK_BOOTTIME: when etcd's watch had a decision, when a
container wrote down that it runs. So it includes all that a user would wait for.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from dorm.local.interrupts import EXIT_INTERRUPTED
from events.errors import DormError
from tests.chaos import enclosure, measured
from tests.chaos.bench import Bench, Row
from tests.chaos.injector import Injector
from tests.chaos.lab import inside, outside, say

ROWS: Final[dict[str, Callable[[Bench], Row | tuple[Row, ...]]]] = {
    "leader-killed": measured.leader_killed,
    "leader-stopped": measured.leader_stopped,
    "node-off": measured.node_off,
    "node-cut": measured.node_cut,
    "agent-frozen": measured.agent_frozen,
    "quorum-lost": measured.quorum_lost,
    "restarts": measured.restarts,
}
EXIT_TOO_SLOW: Final = 1
EXIT_IMPOSSIBLE: Final = 3


def main() -> int:
    """Measure; the exit code is 0 when no figure is above its limit."""
    arguments = _arguments()
    if arguments.inside:
        return _inside(arguments)
    why_not = enclosure.missing()
    if why_not:
        say(f"impossible here: {why_not}")
        return EXIT_IMPOSSIBLE
    passed = [f"--rounds={arguments.rounds}", *arguments.rows]
    try:
        return outside("tests.chaos.timings", passed, lambda _, code: code)
    except DormError as error:
        say(str(error))
        return EXIT_IMPOSSIBLE


def _inside(arguments: Any) -> int:  # noqa: ANN401 - argparse's own
    rows: list[Row] = []
    try:
        lab = inside(Path(arguments.inside), image=Path(arguments.image), etcd=Path(arguments.etcd))
        injector = Injector(lab.journal, lab.network, lab.programs, random=Random(1))
        bench = Bench(lab=lab, injector=injector, rounds=arguments.rounds)
        for name in arguments.rows or ROWS:
            say(name)
            found = ROWS[name](bench)
            rows += found if isinstance(found, tuple) else (found,)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except DormError as error:
        say(str(error))
        return EXIT_IMPOSSIBLE
    finally:
        sys.stdout.write("".join(f"{row}\n" for row in rows))
    return 0 if all(row.holds for row in rows) else EXIT_TOO_SLOW


def _arguments() -> Any:  # noqa: ANN401 - argparse's own
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    for hidden in ("--inside", "--image", "--etcd"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
