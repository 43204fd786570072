"""Random clusters through the optimizer; `DORM_FUZZ=1000` for as many histories as that."""

import os

import pytest

from reconcilers.layout.check import problems
from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.solve import solve
from reconcilers.layout.snapshot import Snapshot
from tests.bench.optimizer.worth import worth
from tests.reconcilers.optimizer.random_layouts import STEPS, History

HISTORIES = int(os.environ.get("DORM_FUZZ", "16"))
SLACK = 1e-6


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_every_decision_is_sound(seed: int) -> None:
    """Failures, gangs, roles, tiers, shrunken nodes: no rule is broken, no bound is exceeded."""
    history = History(seed)
    snapshot = history.first()
    for step in range(STEPS + 1):
        decision = solve(snapshot)

        assert () == problems(snapshot, decision)
        assert_valued(snapshot, decision)
        assert_kept(snapshot, decision)
        assert step > 0 or decision == solve(snapshot)
        snapshot = history.follow(snapshot, decision)


def assert_valued(snapshot: Snapshot, decision: Decision) -> None:
    """Fail if a layout is not worth what is said, or more than the bound says is possible."""
    found = worth(snapshot, decision)
    assert found.value == pytest.approx(decision.objective, abs=SLACK)
    assert found.loss == pytest.approx(decision.loss, abs=SLACK)
    assert found.value <= decision.bound + SLACK * max(1.0, abs(decision.bound))


def assert_kept(snapshot: Snapshot, decision: Decision) -> None:
    """Fail if anybody whose minimum is due lost what it could have kept."""
    model = build(snapshot)
    for index, app in enumerate(snapshot.apps):
        if model.running[index]:
            assert app.app_id in decision.placements


def test_exact_sizes_do_not_disturb_one_more_than_the_budget() -> None:
    """History 363: a burst had disturbed two, and the exact sizes wanted another in their place."""
    test_every_decision_is_sound(363)


def test_a_polished_layout_leaves_room_for_the_roles_of_others() -> None:
    """History 516: parameter servers that stay where they are take room as well."""
    test_every_decision_is_sound(516)


def test_exact_sizes_place_nobody_out_of_turn() -> None:
    """History 677: worth nothing while it had to wait, one was placed all the same."""
    test_every_decision_is_sound(677)


def test_a_higher_tier_may_take_room_to_be_whole_again() -> None:
    """History 1116: one had kept its container, and lost its roles: to get them back is a gain."""
    test_every_decision_is_sound(1116)
