"""Prepare this machine for demo, development and tests: `python -m dorm.local.setup`.

Quiet where everything is there. What cannot be had is said, with the way out, and ends the set-up
with 1; what works without it still works.
"""

import sys

from dorm.local.binaries import obtain_etcd
from dorm.local.engine import engine, install_engine
from dorm.local.images import ensure_demo_image
from dorm.local.interrupts import EXIT_INTERRUPTED
from events.errors import DormError


def say(sentence: str) -> None:
    """Tell the user what happens."""
    print(f"setup: {sentence}", flush=True)  # noqa: T201 - a command's output


def main() -> int:
    """Prepare etcd, the Docker engine and the demo image."""
    try:
        obtain_etcd(say=say, members=3)
        install_engine(say=say)
        with engine() as found:
            ensure_demo_image(found.url, say=say)
    except KeyboardInterrupt:
        say("interrupted; repeat it to go on from here")
        return EXIT_INTERRUPTED
    except DormError as error:
        print(f"setup: {error}", file=sys.stderr)  # noqa: T201 - a command's output
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
