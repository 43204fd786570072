"""Which devices an application gets on a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.layouts import Slots
from reconcilers.layout.devices import block, deal
from reconcilers.layout.pose import pose
from tests.builders import a_layout, a_node, an_app, gpu
from tests.reconcilers.situations import devices, fair

EIGHT = tuple("abcdefgh")


@pytest.mark.parametrize(
    ("taken", "count", "expected"),
    [
        ("", 1, "a"),
        ("", 2, "ab"),
        ("a", 2, "cd"),  # bc are no neighbours on a switch of two
        ("abc", 1, "d"),  # the pair that is broken already
        ("ae", 4, "bcdf"),  # no aligned four are left
        ("abg", 2, "cd"),  # ef would break the other half
        ("abcde", 3, "fgh"),
        ("a", 3, "bcd"),
        ("a", 1, "b"),
        ("", 0, ""),
    ],
)
def test_new_containers_get_aligned_blocks(taken: str, count: int, expected: str) -> None:
    """Neighbours of a power of two share the fast links, and large blocks are broken last."""
    assert tuple(expected) == block(EIGHT, dict.fromkeys(taken), count)


@given(
    taken=st.sets(st.sampled_from(EIGHT)),
    length=st.integers(1, 8),
    count=st.integers(0, 8),
)
def test_a_block_is_free_and_of_the_size_asked_for(
    taken: set[str], length: int, count: int
) -> None:
    """Whatever is taken, and however many devices a machine has: six as well as eight."""
    node = EIGHT[:length]
    free = [uuid for uuid in node if uuid not in taken]
    if count > len(free):
        return

    actual = block(node, dict.fromkeys(taken), count)

    assert count == len(set(actual))
    assert set(actual) <= set(free)


def test_large_containers_are_dealt_to_first() -> None:
    """A container of one GPU between them would cost the larger one its block."""
    actual = devices(
        a_node("n1", gpus=4), an_app("small", gpus=1, max=1), an_app("large", gpus=2, max=1)
    )

    assert {"small": (gpu("n1", 2),), "large": (gpu("n1", 0), gpu("n1", 1))} == actual


def test_a_container_is_taken_away_with_all_of_its_own_devices() -> None:
    """What stays has the same devices as before, container by container."""
    has = tuple(gpu("n1", index) for index in (4, 5, 0, 1))
    app = an_app("a", gpus=2)
    posed = pose(
        fair(a_node("n1", gpus=8), app, a_layout({"a": {"n1": Slots(count=2, devices=has)}}))
    )

    (shrunk,) = deal(posed.problem.contenders, {"a": {"n1": 1}}, posed.standing).values()

    assert {"n1": Slots(count=1, devices=has[:2])} == shrunk


def test_a_dead_device_takes_exactly_its_own_container_along() -> None:
    """The other container goes on with its own two, not with leftovers of both."""
    has = tuple(gpu("n1", index) for index in (0, 1, 2, 3))
    before = a_node("n1", gpus=4)
    devices_left = tuple(device for device in before.devices if device.uuid != gpu("n1", 1))
    after = a_node("n1", gpus=3, devices=devices_left)

    posed = pose(
        fair(
            before,
            an_app("a", gpus=2),
            a_layout({"a": {"n1": Slots(count=2, devices=has)}}),
            after,
        )
    )

    assert {"n1": (has[2:],)} == posed.standing.kept["a"]
