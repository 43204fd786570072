"""`dorm submit`."""

import json
import uuid
from typing import Any, BinaryIO

import click

from dorm.api.client import Refused
from dorm.cli.session import Session, talks_to_masters
from dorm.spec import SpecFaults
from dorm.spec.document import DOCUMENT_BYTES_MAX, load_yaml
from events.errors import Rejected


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option(
    "--key",
    help="Idempotency key: a second submit under the same key returns the first application.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Change one field of the file, such as scale.max=8. May be given several times.",
)
@talks_to_masters
def submit(session: Session, file: BinaryIO, key: str | None, changes: tuple[str, ...]) -> None:
    """Submit the application that FILE describes (- reads it from stdin).

    \b
    A small FILE:
      name: hello
      image: debian:13
      run: {start: ["sleep", "60"]}
      resources: {cpu: 0.5, memory: 128MiB}
      scale: {min: 1, max: 4}

    \b
    Examples:
      dorm submit app.yaml
      dorm submit app.yaml --set scale.max=8 --set env.LR=\\"0.01\\"
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    if wrong := next((change for change in changes if "=" not in change.lstrip("=")), None):
        raise click.UsageError(f"--set {wrong}: must be FIELD=VALUE")
    text = file.read(DOCUMENT_BYTES_MAX + 1)  # one more than is accepted: FILE may have no end
    key = f"cli-{uuid.uuid4().hex}" if key is None else key
    body = json.dumps(_changed(text, changes)) if changes else text
    try:
        receipt = session.client.submit(body, key=key, is_json=bool(changes))
    except Refused as error:
        if not error.unknown:
            raise
        again = f"{error}\nTo try again without a second application: add --key {key}"
        raise Refused(again, unknown=True) from error
    if session.out.as_json:
        session.out.json(receipt)
        return
    was = "was submitted before" if receipt["duplicate"] else "submitted"
    session.out.say(f"{receipt['id']} {was}")
    session.out.say(f"See how it does:  dorm why {receipt['id']}   dorm logs -f {receipt['id']}")


def _changed(text: bytes, changes: tuple[str, ...]) -> Any:  # noqa: ANN401 - a document
    """Return the document with every change made."""
    try:
        plain = load_yaml(text)
        for change in changes:
            field, _, value = change.partition("=")
            _put(plain, field, _value(change, value))
    except Rejected as fault:
        raise SpecFaults([fault]) from fault
    return plain


def _value(change: str, text: str) -> object:
    try:
        return load_yaml(text)
    except Rejected as fault:
        raise Rejected(fault.rule, field="--set", value=change, hint=fault.hint) from fault


def _put(plain: object, field: str, value: object) -> None:
    *parents, last = field.split(".")
    place = plain
    for name in parents:
        if isinstance(place, dict) and place.get(name) is None:
            place[name] = {}
        place = place.get(name) if isinstance(place, dict) else None
    if not isinstance(place, dict) or not all([*parents, last]):
        hint = "name a field below mappings, such as scale.max; edit the file for lists"
        raise Rejected("cannot be set", field="--set", value=field, hint=hint)
    place[last] = value
