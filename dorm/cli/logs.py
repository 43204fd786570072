"""`dorm logs`."""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Final

import click

from dorm.cli.session import Session, talks_to_masters, until_ctrl_c

_MARK: Final = re.compile(r"\[(\d+)\] ")


@click.command()
@click.argument("app")
@click.option(
    "-f", "--follow", is_flag=True, help="Go on, across resizes, until the app has ended."
)
@click.option("--rank", type=click.IntRange(0), help="Only this container; all of them by default.")
@click.option("--generation", type=click.IntRange(1), help="An older one; the newest by default.")
@talks_to_masters
def logs(
    session: Session, app: str, *, follow: bool, rank: int | None, generation: int | None
) -> None:
    """Print the output of an application's containers, each line with its [rank].

    \b
    Examples:
      dorm logs -f digits
      dorm logs digits --rank 0
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    wanted = {"follow": int(follow), "rank": rank, "generation": generation}
    params = {name: value for name, value in wanted.items() if value is not None}
    with (
        until_ctrl_c() if follow else nullcontext(),
        session.client.logs(app, params=params) as chunks,
    ):
        if session.out.as_json:
            for line in _lines(chunks):
                session.out.json_line(_marked(line, rank))
            return
        for chunk in chunks:
            click.echo(chunk, nl=False)


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)


def _marked(line: str, rank: int | None) -> dict[str, object]:
    match = _MARK.match(line) if rank is None else None
    if match is None:
        return {"rank": rank, "line": line}
    return {"rank": int(match[1]), "line": line[match.end() :]}
