"""Amounts as people write them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dorm.spec import units
from events.errors import Rejected


@pytest.mark.parametrize(
    ("value", "milli"),
    [(1, 1000), (0.5, 500), ("0.5", 500), ("500m", 500), (" 2 ", 2000), (0.001, 1), (0.1, 100)],
)
def test_cpus(value: object, milli: int) -> None:
    """Cores or thousandths, exactly: 0.1 is 100 although no float is a tenth."""
    assert units.parse_cpu(value, field="cpu") == milli


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("512MiB", 512 << 20),
        ("1.5GiB", 3 << 29),
        ("2 GB", 2_000_000_000),
        ("10000kB", 10_000_000),
        ("8388608B", 8 << 20),
    ],
)
def test_memory(value: object, size: int) -> None:
    """Binary and decimal units are both in use, and seven percent apart."""
    assert units.parse_memory(value, field="memory") == size


@pytest.mark.parametrize(
    ("value", "span"), [("500ms", 500), ("30s", 30_000), ("1h30m", 5_400_000), ("1.5s", 1500)]
)
def test_durations(value: object, span: int) -> None:
    """Parts add up."""
    assert units.parse_duration(value, field="grace") == span


@pytest.mark.parametrize("parser", [units.parse_cpu, units.parse_memory, units.parse_duration])
@pytest.mark.parametrize(
    "value", [None, True, [], {}, "", "x", "-1", "٣s", "1" * 400, float("nan")]
)
def test_anything_else_is_refused(parser: Callable[..., int], value: object) -> None:
    """Whatever stands in a document comes here, so nothing may crash."""
    with pytest.raises(Rejected, match=r"^f: "):
        parser(value, field="f")


@given(st.integers(1, units.CPU_MILLI_MAX))
def test_cpus_read_back(milli: int) -> None:
    """What `dorm show` prints is what was asked for, to the last thousandth."""
    assert units.parse_cpu(units.format_cpu(milli), field="cpu") == milli


@given(st.integers(units.MEMORY_BYTES_MIN, units.MEMORY_BYTES_MAX))
def test_memory_reads_back(size: int) -> None:
    """To the last byte."""
    assert units.parse_memory(units.format_memory(size), field="memory") == size


@given(st.integers(1, units.DURATION_MS_MAX))
def test_durations_read_back(span: int) -> None:
    """To the last millisecond."""
    assert units.parse_duration(units.format_duration(span), field="grace") == span
