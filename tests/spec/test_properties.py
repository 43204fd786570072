"""Whatever comes: a spec, or a refusal in words. Never anything else."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from dorm.spec import SpecFaults, from_json_text, from_plain, from_yaml, render
from dorm.spec.parse import FIELDS
from events.apps import (
    CHECKPOINT_SIGNALS,
    KEEP_MAX,
    KEEP_MIN,
    AppSpec,
    CheckpointPolicy,
    Mount,
    RetryPolicy,
    Scale,
    SpeedPoint,
)
from events.codec import from_json, to_json
from events.units import Resources

printable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1GiB", "500m", "30s", "on", "0777", "/data", "a", "SIGTERM"])
)
inner = (
    *("start", "resume", "cpu", "memory", "gpu", "pids", "min", "max", "signal", "grace", "path"),
    *("name", "target", "mode", "backoff", "maxBackoff", "containers", "speed", "nodes", "8"),
)
trees = st.recursive(
    scalars,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(inner) | st.text(max_size=4), below, max_size=4)
    ),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), trees, max_size=10)


def _read(read: Callable[[Any], AppSpec], document: object) -> None:
    with contextlib.suppress(SpecFaults):
        spec = read(document)
        assert from_json(to_json(spec), AppSpec) == spec, "what is accepted can be stored"


@given(st.text() | st.binary())
@example('"\\UFFFFFFFF"')
@example("%YAML 9999999999999999999999.1\n---\na")
@example("{" * 3000)
@example("- " * 3000)
@example("? " * 3000)
@example("!!int {}")
@example("&a [*a]")
@example("a: *b")
@example("\ud800")
@example("a: 0b12\nb: 2001-99-99\nc: 1:99:99\n")
def test_any_text_is_a_spec_or_a_refusal(text: str | bytes) -> None:
    """Junk reaches the parser from every user's editor."""
    _read(from_yaml, text)
    _read(from_json_text, text)


@given(documents)
def test_any_tree_is_a_spec_or_a_refusal(tree: dict[str, Any]) -> None:
    """Right names with wrong values reach every reader of a field."""
    _read(from_plain, tree)
    _read(from_json_text, json.dumps(tree))
    with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError):  # Not every text can be written.
        _read(from_yaml, yaml.safe_dump(tree))


@st.composite
def sound_specs(draw: st.DrawFn) -> AppSpec:
    """Specs that a document can describe, every field at play."""
    low = draw(st.integers(1, 50))
    backoff = draw(st.integers(1, 10_000))
    saves = draw(st.booleans())
    return AppSpec(
        name=draw(st.from_regex(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", fullmatch=True)),
        image=draw(st.from_regex(r"[a-z0-9][a-z0-9./:@-]{0,20}", fullmatch=True)),
        start=(draw(printable.filter(bool)), *draw(st.lists(printable, max_size=3))),
        resume=tuple(draw(st.lists(printable.filter(bool), max_size=3))),
        resources=Resources(
            cpu_milli=draw(st.integers(1, 100_000)),
            memory_bytes=draw(st.integers(6 << 20, 1 << 45)),
            gpu_count=draw(st.integers(0, 8)),
        ),
        pids_max=draw(st.integers(1, 100_000)),
        scale=Scale(min=low, max=draw(st.integers(low, 60))),
        weight=draw(st.floats(1e-6, 1e6)),
        env=draw(
            st.dictionaries(
                st.from_regex(r"[A-CE-Za-z_]\w{0,8}", fullmatch=True).filter(str.isascii),
                printable,
                max_size=4,
            )
        ),
        checkpoint=CheckpointPolicy(
            signal=draw(st.sampled_from(CHECKPOINT_SIGNALS)),
            grace_ms=draw(st.integers(1, 86_400_000)),
            path="/ckpt/$DORM_APP_ID" if saves else "",
            keep=draw(st.integers(KEEP_MIN, KEEP_MAX)),
        ),
        mounts=(Mount(name="ckpt", target="/ckpt"),) if saves else (),
        retry=RetryPolicy(
            max=draw(st.integers(0, 20)),
            backoff_ms=backoff,
            backoff_max_ms=draw(st.integers(backoff, 100_000)),
        ),
        priority=draw(st.integers(-1000, 1000)),
        speed=tuple(
            SpeedPoint(containers=size, speed=draw(st.floats(1e-6, 1e9)), nodes=nodes)
            for size, nodes in draw(
                st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=4, unique=True)
            )
        ),
    )


@given(sound_specs())
def test_what_is_rendered_reads_back(spec: AppSpec) -> None:
    """Also texts that YAML would take for numbers, dates, or nothing at all."""
    assert from_yaml(render(spec)) == spec
