"""What a seed makes of a run: always the same, and never two faults on one host."""

import pytest

from tests.chaos.faults import KINDS, LEADER, schedule
from tests.chaos.programs import MASTERS
from tests.chaos.users import errands

SECONDS = 600.0


@pytest.mark.parametrize("seed", range(5))
def test_faults_are_the_same_for_a_seed_and_over_in_time(seed: int) -> None:
    """A failing seed is repeated, and healing must not meet a fault that still goes on."""
    plan = schedule(seed, seconds=SECONDS)

    assert plan == schedule(seed, seconds=SECONDS)
    assert plan != schedule(seed + 1, seconds=SECONDS)
    assert all(fault.at_s + fault.lasts_s < SECONDS for fault in plan)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_suffers_two_faults_at_once(seed: int) -> None:
    """The second would be undone by the end of the first."""
    plan = schedule(seed, seconds=SECONDS)

    for index, one in enumerate(plan):
        for other in plan[index + 1 :]:
            if other.at_s <= one.at_s + one.lasts_s:
                hit = {one.target, other.target}
                assert len(hit) == 2, (one, other)
                assert not (LEADER in hit and hit & set(MASTERS)), (one, other)


def test_every_kind_of_fault_is_drawn() -> None:
    """A kind that no run ever draws would test nothing."""
    drawn = {fault.kind for seed in range(20) for fault in schedule(seed, seconds=SECONDS)}

    assert drawn == set(KINDS)


def test_users_do_the_same_for_a_seed() -> None:
    """As the faults."""
    assert errands(7, apps=20, seconds=SECONDS) == errands(7, apps=20, seconds=SECONDS)
