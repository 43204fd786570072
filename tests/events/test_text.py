"""Amounts and strings as people read them."""

import pytest

from events import text
from events.units import Resources


@pytest.mark.parametrize(
    ("cpu_milli", "expected"),
    [(500, "0.5 cpus"), (1000, "1 cpu"), (12_000, "12 cpus"), (1, "0.001 cpus"), (0, "0 cpus")],
)
def test_cpus(cpu_milli: int, expected: str) -> None:
    """No trailing zeros, and one cpu is singular."""
    assert expected == text.cpus(cpu_milli)


@pytest.mark.parametrize(
    ("amount_bytes", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (512 << 20, "512 MiB"),
        (3 << 29, "1.5 GiB"),
        (10 << 30, "10 GiB"),
        (1 << 40, "1 TiB"),
        (-(1 << 20), "-1 MiB"),
    ],
)
def test_memory(amount_bytes: int, expected: str) -> None:
    """The unit is the largest of which there is one."""
    assert expected == text.memory(amount_bytes)


@pytest.mark.parametrize(
    ("amount_ms", "expected"),
    [(0, "0 ms"), (250, "250 ms"), (1500, "1.5 s"), (120_000, "2 min"), (172_800_000, "2 d")],
)
def test_durations(amount_ms: int, expected: str) -> None:
    """Waits are read at a glance."""
    assert expected == text.duration(amount_ms)


def test_resources_name_only_what_there_is() -> None:
    """A cpu job has no word about gpus."""
    assert "0.5 cpus, 512 MiB" == text.resources(Resources(cpu_milli=500, memory_bytes=512 << 20))
    assert "2 gpus" == text.resources(Resources(gpu_count=2))
    assert "nothing" == text.resources(Resources())


def test_control_characters_are_made_visible() -> None:
    """Users' text must not move a cursor, colour a line or break one in two."""
    assert r"a\x1b[2Jb\nc\u202ed ümlaut" == text.one_line("a\x1b[2Jb\nc\u202ed ümlaut")


def test_a_value_in_a_message_is_brief() -> None:
    """A message of a thousand columns hides what it says."""
    assert text.brief("a\n") == "a\\n"
    assert text.brief("a" * 60) == "a" * 60
    assert text.brief("a" * 61) == "a" * 57 + "..."
