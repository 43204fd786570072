"""What every command that talks to the masters has: `--master`, `-o`, and errors in plain words."""

import functools
import getpass
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

import attrs
import click

from dorm.api.client import ApiClient, Refused
from dorm.cli.output import Output
from dorm.local.interrupts import EXIT_INTERRUPTED
from dorm.spec import SpecFaults
from events.errors import Conflict, DormError, Full, NotFound, Rejected, Unavailable
from events.text import one_line

DEFAULT_MASTERS: Final = "http://127.0.0.1:7070"
MASTERS_HINT: Final = (
    "Is a master running there? Set DORM_MASTERS or --master, or start a cluster: dorm dev"
)
ETCD_HINT: Final = "Is etcd running there? Name its members with --etcd"
EXIT_FAILED: Final = 1
EXIT_INPUT: Final = 2
EXIT_NOT_FOUND: Final = 3
EXIT_CONFLICT: Final = 4
EXIT_NO_ANSWER: Final = 5


@attrs.frozen
class Session:
    """One command's way to the masters and to the terminal."""

    client: ApiClient
    out: Output


def masters_option(command: Callable[..., Any], *, envvar: str | None = None) -> Callable[..., Any]:
    """Add `--master`. Only the group's reads the environment, or it would win over its words."""
    return click.option(
        "--master",
        "masters",
        envvar=envvar,
        metavar="URL[,URL]",
        help=f"Masters to ask; any one that answers will do. [default: {DEFAULT_MASTERS}]",
    )(command)


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-o`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="For people, or for programs.",
    )(command)


def talks_to_masters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn `command(session, ...)` into a command with `--master` and `-o`."""

    @masters_option
    @output_option
    @click.pass_context
    @functools.wraps(command)
    def wrapper(
        context: click.Context, /, masters: str | None, output: str, **options: object
    ) -> object:
        wanted = masters or context.find_root().params.get("masters") or DEFAULT_MASTERS
        addresses = [one for one in wanted.split(",") if one.strip()]
        with in_plain_words():
            client = ApiClient(addresses or [DEFAULT_MASTERS], user=_user())
            try:
                result = command(Session(client, Output(as_json=output == "json")), **options)
                warn_if_stale(client.freshness)
                return result
            finally:
                client.close()

    return wrapper


def warn_if_stale(freshness: Mapping[str, Any]) -> None:
    """Say on stderr that what was shown may be old, so that no script trips over it."""
    if not freshness.get("stale"):
        return
    age_s, hold = freshness.get("age_s"), freshness.get("hold")
    age = "of unknown age" if age_s is None else f"{age_s:.0f} s old"
    why = f"this master holds: {hold}" if hold else "this master does not hear from etcd"
    click.echo(one_line(f"STALE, {age}: {why}"), err=True)


@contextmanager
def in_plain_words(*, no_answer_hint: str = MASTERS_HINT) -> Iterator[None]:
    """Turn errors of Dorm into messages and exit codes, and Ctrl-C into a quiet end.

    Ctrl-C is no success: a script must not take an interrupted submit for one that happened.
    """
    try:
        yield
    except SpecFaults as error:
        count = len(error.faults)
        head = "the spec has a fault:" if count == 1 else f"the spec has {count} faults:"
        lines = [f"  {fault}" for fault in error.faults]
        fail("\n".join([head, *lines]), EXIT_INPUT)
    except Refused as error:
        fail(str(error), EXIT_NO_ANSWER)
    except Unavailable as error:
        fail(f"nothing answers: {error}\n{no_answer_hint}", EXIT_NO_ANSWER)
    except Rejected as error:
        fail(str(error), _exit_code(error))
    except DormError as error:
        fail(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


@contextmanager
def until_ctrl_c() -> Iterator[None]:
    """Go on until Ctrl-C, which is how such a command ends well."""
    with suppress(KeyboardInterrupt):
        yield


def fail(message: str, exit_code: int) -> NoReturn:
    """End the command: `message` on stderr, and the exit code."""
    lines = [one_line(line) for line in f"Error: {message}".split("\n")]
    click.echo("\n".join(lines), err=True)
    raise click.exceptions.Exit(exit_code)


def _exit_code(error: Rejected) -> int:
    if isinstance(error, Full):
        return EXIT_FAILED  # The request is right, and may be accepted later.
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    return EXIT_CONFLICT if isinstance(error, Conflict) else EXIT_INPUT


def _user() -> str:
    """Return the login name, with what the API would refuse replaced."""
    try:
        name = os.environ.get("DORM_USER") or getpass.getuser()
    except (OSError, KeyError):  # There is no such user, as in a container with a bare uid.
        name = f"uid-{os.getuid()}"
    return re.sub(r"[^A-Za-z0-9._@-]", "_", name)[:64] or "anonymous"
