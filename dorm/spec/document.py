"""Text to plain values: the YAML and JSON that a spec may be written in.

YAML is read event by event instead of through PyYAML's constructors, because those follow
YAML 1.1, where `on` is true, `12:30` is 750 and `0777` is 511. Here a plain scalar is null, true,
false or a decimal number exactly when YAML 1.2 says so; everything else is the text that was
written. Aliases, tags and a second document are refused: a spec needs none of them, and each
can turn a small document into a large one or hide what it says.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from dorm.spec.faults import shown
from events.errors import Rejected

DOCUMENT_BYTES_MAX: Final = 64 * 1024
DEPTH_MAX: Final = 8  # the deepest field lies three levels down

_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_FLOAT: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]+|(?<=[0-9])\.?)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_SPECIAL_FLOAT: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def load_yaml(text: str | bytes) -> object:
    """Return the one YAML document in `text` as dicts, lists and scalars.

    Raises:
        Rejected: It is no YAML, or YAML of a kind that a spec may not use.
    """
    try:
        return _Tree().build(yaml.parse(_checked(text), Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Rejected(
            f"is not valid YAML: {error.problem}{where}",
            field="document",
            hint="look at the indentation, the quotes and the colons there",
        ) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # PyYAML lets ValueError and OverflowError through for escapes beyond Unicode.
        raise Rejected(
            "is not valid YAML: it has a character or an escape that text cannot have",
            field="document",
            hint="save the file as plain UTF-8 text",
        ) from error


def load_json(text: str | bytes) -> object:
    """Return a JSON document as dicts, lists and scalars.

    Raises:
        Rejected: It is no JSON, or too deep, or has a key twice.
    """
    try:
        value = json.loads(_checked(text), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise Rejected(
            f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            field="document",
            hint="check it with any JSON tool",
        ) from error
    except (RecursionError, ValueError) as error:
        raise (
            _too_deep()
            if isinstance(error, RecursionError)
            else Rejected("is not valid JSON: it has a number that is too long", field="document")
        ) from error
    _check_plain(value)
    return value


def plain_scalar(text: str) -> object:
    """Return what an unquoted YAML scalar means: null, a truth value, a number, or its text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and any(digit.isdigit() for digit in text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", ""))
    return text


class _Tree:
    """Builds plain values from YAML parse events, with a stack in place of recursion."""

    def __init__(self) -> None:
        self._open: list[dict[str, object] | list[object]] = []
        self._keys: list[str | None] = []  # The key that waits for its value, per open mapping.
        self._root: object = None
        self._documents = 0

    def build(self, parsed: Iterable[yaml.Event]) -> object:
        for event in parsed:
            self._take(event)
        return self._root

    def _take(self, event: Any) -> None:  # noqa: ANN401 - the stubs of PyYAML do not type events
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _banned(event, "holds a second document", "submit one file for each")
            case yaml.AliasEvent():
                raise _banned(event, f"uses the alias *{event.anchor}", "write the value out")
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._check_tag(event)
                self._enter(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
                self._keys.pop()
            case yaml.ScalarEvent():
                self._scalar(event)
            case _:
                pass  # Stream and document ends carry nothing.

    def _check_tag(self, event: Any) -> None:  # noqa: ANN401 - see _take
        if event.tag is not None:
            raise _banned(event, f"uses the tag {event.tag}", "leave the tag out")

    def _enter(
        self,
        event: Any,  # noqa: ANN401 - see _take
        container: dict[str, object] | list[object],
    ) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise _too_deep()
        if self._waits_for_key():
            raise _banned(event, "uses a list or a mapping as a key", "keys are plain words")
        self._place(container)
        self._open.append(container)
        self._keys.append(None)

    def _scalar(self, event: Any) -> None:  # noqa: ANN401 - see _take
        self._check_tag(event)
        text = _clean(event.value)
        if not self._waits_for_key():
            self._place(plain_scalar(text) if event.style is None else text)
            return
        mapping = self._open[-1]
        if text in mapping:
            raise _banned(event, f"has the key {shown(text)} twice", "keep one of the two")
        self._keys[-1] = text

    def _waits_for_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is None

    def _place(self, value: object) -> None:
        if not self._open:
            self._root = value
            return
        container, key = self._open[-1], self._keys[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            assert key is not None
            container[key] = value
            self._keys[-1] = None


def _checked(text: str | bytes) -> str:
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(raw) > DOCUMENT_BYTES_MAX:
        raise Rejected(
            f"is larger than {DOCUMENT_BYTES_MAX} bytes",
            field="document",
            hint="keep data and scripts in the image or on a mount",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Rejected(
            f"is not UTF-8: byte {error.start} is wrong",
            field="document",
            hint="save the file as plain UTF-8 text",
        ) from error


def _clean(text: str) -> str:
    """Refuse text that neither UTF-8 nor a process's environment and arguments can carry."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Rejected(
            "has a NUL or half of a surrogate pair in its text",
            field="document",
            value=shown(text.encode(errors="backslashreplace").decode()),
            hint="remove that character",
        )
    return text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise Rejected(
            f"has the key {shown(twice)} twice", field="document", hint="keep one of the two"
        )
    return dict(pairs)


def _check_plain(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):  # One turn for each level of nesting, so this ends.
        for text in _texts(level):
            _clean(text)
        level = [child for parent in level for child in _children(parent)]
    if level:
        raise _too_deep()


def _texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        if isinstance(value, dict):
            yield from value


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> Rejected:
    return Rejected(
        f"is nested deeper than {DEPTH_MAX} levels", field="document", hint="no field needs that"
    )


def _banned(event: Any, what: str, hint: str) -> Rejected:  # noqa: ANN401 - see _Tree._take
    line = event.start_mark.line + 1
    return Rejected(f"{what} at line {line}", field="document", hint=hint)
