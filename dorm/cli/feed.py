"""`dorm events`: the log as the masters tell it; `dorm-events` reads it without them."""

import time
from typing import Any, Final

import click

from dorm.cli.output import clock_time
from dorm.cli.session import Session, talks_to_masters, until_ctrl_c

POLL_S: Final = 1.0
PAGE: Final = 500


@click.command()
@click.option("--after", type=click.IntRange(0), default=0, help="Only what is behind a revision.")
@click.option("-f", "--follow", is_flag=True, help="Go on with new events until Ctrl-C.")
@talks_to_masters
def events(session: Session, *, after: int, follow: bool) -> None:
    """Print what happened: one event a line. With -o json, one JSON document a line.

    \b
    Examples:
      dorm events -f
      dorm events --after 1200 -o json
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    after = _print_to_end(session, after)
    if follow:
        with until_ctrl_c():
            while True:
                time.sleep(POLL_S)
                after = _print_to_end(session, after)


def _print_to_end(session: Session, after: int) -> int:
    """Print all events behind a revision, and return the last one's."""
    while True:  # Ends at the end of the log.
        page = session.client.events(after=after, limit=PAGE)
        for event in page["events"]:
            _print(session, event)
        after = int(page["next"])
        if page["at_end"]:
            return after


def _print(session: Session, event: dict[str, Any]) -> None:
    if session.out.as_json:
        session.out.json_line(event)
    else:
        when = clock_time(event["at_ms"])
        session.out.say(f"{event['revision']:>8}  {when}  {event['text']}")
