"""Rounds of filling until nobody gains by another one."""

from collections.abc import Mapping
from typing import Final

import attrs

from reconcilers.layout.decision import Decision
from reconcilers.layout.policies.drf.board import ELASTIC, Board
from reconcilers.layout.policies.drf.fairness import improve
from reconcilers.layout.policies.drf.units import units_of
from reconcilers.layout.policies.outcome import Layout, conclude
from reconcilers.layout.snapshot import AppRequest, Snapshot

VERSION: Final = "drf/2"
ROUNDS_MAX: Final = 20  # two are usual; a decision that stops here is sound, and the next goes on


def drf(snapshot: Snapshot) -> Decision:
    """Return a layout that is fair, and that another round would not improve on.

    Nobody is disturbed for nothing: a candidate is adopted only if what is there breaks a bound,
    or if it is fairer.
    """
    units = units_of(snapshot)
    board = Board.lay_out(snapshot, units)
    layout = layout_of(board)
    for _ in range(ROUNDS_MAX):
        snapshot_now = _with_layout(snapshot, layout)
        candidate = Board.lay_out(snapshot_now, units)
        improve(candidate)
        found = layout_of(candidate)
        if found == layout or (standing(candidate) <= standing(board) and _is_sound(board)):
            break
        board, layout = candidate, found
    fair = {app_id: float(holding.size) for app_id, holding in board.holdings.items()}
    return conclude(snapshot, layout, fair, version=VERSION)


def standing(board: Board) -> list[tuple[int, int]]:
    """Return the weighted dominant shares, by tier from the highest, the poorest first.

    Of two layouts the fairer one has the greater list: it lifts the poorest, then the next.
    """
    return sorted(holding.richness() for holding in board.holdings.values())


def layout_of(board: Board) -> Layout:
    """Return the placements on a board."""
    holdings = board.holdings.items()
    return Layout(
        placements={
            app_id: dict(sorted(holding.counts[ELASTIC].items()))
            for app_id, holding in holdings
            if holding.size
        },
        role_placements={
            app_id: roles for app_id, holding in holdings if (roles := _roles(holding.counts))
        },
    )


def _roles(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {
        key: dict(sorted(nodes.items()))
        for key, nodes in counts.items()
        if key != ELASTIC and nodes
    }


def _with_layout(snapshot: Snapshot, layout: Layout) -> Snapshot:
    apps = tuple(_placed(app, layout) for app in snapshot.apps)
    return attrs.evolve(snapshot, apps=apps)


def _placed(app: AppRequest, layout: Layout) -> AppRequest:
    places = layout.placements.get(app.app_id, {})
    roles = layout.role_placements.get(app.app_id, {})
    if app.placement == places and app.role_placement == roles:
        return app
    return attrs.evolve(app, placement=places, role_placement=roles)


def _is_sound(board: Board) -> bool:
    """Return whether every application has nothing at all, or what it needs to run."""
    return all(
        holding.is_complete or not any(holding.counts.values())
        for holding in board.holdings.values()
    )
