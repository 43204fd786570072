"""`dorm doctor`."""

import click

from dorm.cli.output import table
from dorm.cli.session import EXIT_FAILED, Session, talks_to_masters


@click.command()
@talks_to_masters
def doctor(session: Session) -> None:
    """Check what the cluster runs on: etcd, its known defects, Docker, clocks, alarms.

    Exits with 1 when something is an error; warnings are no errors.

    \b
    Example:
      dorm doctor
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    findings = session.client.doctor()
    if session.out.as_json:
        session.out.json(findings)
    else:
        rows = [
            (one["level"], one["subject"], f"{one['text']}{_hint(one['hint'])}") for one in findings
        ]
        session.out.print(table(("LEVEL", "WHAT", "FINDING"), rows, empty="Nothing to check"))
    if any(one["level"] == "error" for one in findings):
        raise click.exceptions.Exit(EXIT_FAILED)


def _hint(hint: str) -> str:
    return f" ({hint})" if hint else ""
