"""Shares as whole numbers: they have to be in the order of the fractions that they stand for."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from events.units import Resources, total_of
from reconcilers.layout.policies.drf.board import Board
from reconcilers.layout.policies.drf.gangs import add_gang
from reconcilers.layout.policies.drf.placement import ROOMS_MAX
from reconcilers.layout.policies.drf.units import BITS_MAX, units_of
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer, Snapshot

amounts = st.builds(
    Resources,
    cpu_milli=st.integers(1, 64_000),
    memory_bytes=st.integers(0, 1 << 39),
    gpu_count=st.integers(0, 8),
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A few nodes, and applications of any demand and weight, some of them with a fixed role."""
    nodes = draw(st.lists(amounts, min_size=1, max_size=4))
    rows = st.tuples(amounts, st.floats(0.01, 100), st.lists(amounts, max_size=1))
    return Snapshot(
        nodes=tuple(
            NodeOffer(node_id=f"n{index}", capacity=node) for index, node in enumerate(nodes)
        ),
        apps=tuple(
            AppRequest(
                app_id=f"a{index}",
                demand=demand,
                min=1,
                max=2,
                weight=weight,
                roles=tuple(FixedRole(name="ps", demand=role, count=2) for role in roles),
            )
            for index, (demand, weight, roles) in enumerate(draw(st.lists(rows, max_size=4)))
        ),
    )


@given(snapshots())
def test_units_stand_to_each_other_as_the_weighted_dominant_shares_do(snapshot: Snapshot) -> None:
    """Fairness compares nothing else, so a wrong proportion would starve somebody."""
    total, units = total_of(node.capacity for node in snapshot.nodes), units_of(snapshot)
    pairs: list[tuple[int, Fraction]] = []
    for app in snapshot.apps:
        fixed = total_of(role.demand * role.count for role in app.roles)
        shares = [amount.dominant_share(total) for amount in (app.demand, fixed)]
        pairs += zip(
            units[app.app_id], (share / Fraction(app.weight) for share in shares), strict=True
        )
    assert all(
        unit * other_share == other_unit * share
        for unit, share in pairs
        for other_unit, other_share in pairs
    )


def test_thousands_of_odd_weights_do_not_make_endless_numbers() -> None:
    """A user may give any weight, and the fallback policy has to stay fast with all of them."""
    one = Resources(cpu_milli=1000)
    snapshot = Snapshot(
        nodes=(NodeOffer(node_id="n", capacity=one),),
        apps=tuple(
            AppRequest(app_id=str(index), demand=one, min=1, max=1, weight=1 / (3 + 2 * index))
            for index in range(1000)
        ),
    )
    units = [unit for unit, _ in units_of(snapshot).values()]
    assert units == sorted(units)
    assert units[-1].bit_length() < 2 * BITS_MAX


def test_a_search_for_somebody_who_gives_way_has_an_end() -> None:
    """Under overload everybody asks everybody: the count bounds that, and free room goes on."""
    four = Resources(cpu_milli=4000)
    one = Resources(cpu_milli=1000)
    rich = AppRequest(app_id="rich", demand=one, min=1, max=4, placement={"n": 4})
    poor = AppRequest(app_id="poor", demand=one, min=1, max=1, submitted_ms=1)
    snapshot = Snapshot(nodes=(NodeOffer(node_id="n", capacity=four),), apps=(rich, poor))
    found = []
    for searched in (0, ROOMS_MAX):
        board = Board.lay_out(snapshot)
        board.searched = searched
        found.append(add_gang(board, board.holdings["poor"]))
    assert found == [True, False]
