"""What sizes are worth: the points, gains and losses of a model."""

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.units import Resources
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import Model
from reconcilers.layout.optimizer.values import Curve, concave, curves, speeds
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot, SpeedPoint

CPU = Resources(cpu_milli=1000)


def curve(*points: tuple[int, float]) -> tuple[SpeedPoint, ...]:
    """Return a speed curve from pairs of containers and speed."""
    return tuple(SpeedPoint(containers=containers, speed=speed) for containers, speed in points)


def at(curve: Curve | None, *counts: int) -> list[float]:
    """Return the speeds of a curve at some sizes."""
    assert curve is not None
    found: list[float] = speeds([curve], np.array(counts)[:, None])[:, 0].tolist()
    return found


def model(*apps: AppRequest, policy: str = "goodput", cpus: int = 8) -> Model:
    """Return the model of one node and some applications."""
    node = NodeOffer(node_id="n1", capacity=Resources(cpu_milli=cpus * 1000))
    return build(Snapshot(nodes=(node,), apps=apps, options=Options(policy=policy)))


def test_the_papers_gain_is_what_is_occupied() -> None:
    """`utilization` counts resources, whatever they achieve."""
    app = AppRequest(app_id="a", demand=CPU, min=1, max=8, speed=curve((1, 1), (8, 2)))

    made = model(app, policy="utilization")

    assert (made.points[:, 0] / 8).tolist() == pytest.approx(made.gain[:, 0].tolist())
    assert made.touch_cost.tolist() == [0.0]


def test_goodput_counts_what_containers_achieve() -> None:
    """Eight containers that do the work of four are worth four."""
    app = AppRequest(app_id="a", demand=CPU, min=1, max=8, speed=curve((1, 10), (8, 40)))

    made = model(app)

    assert made.gain[-1, 0] == pytest.approx(4 / 8)
    assert made.points[0, 0] == 1
    assert made.points[-1, 0] == 8


def test_below_the_fair_share_every_container_is_worth_more() -> None:
    """The pull towards the fair share acts long before the bound on the loss does."""
    apps = [AppRequest(app_id=name, demand=CPU, min=1, max=8) for name in "ab"]
    made = model(*apps)
    at = {int(n): float(g) for n, g in zip(made.points[:, 0], made.gain[:, 0], strict=True)}

    assert made.fair[0] == pytest.approx(0.5)
    assert at[4] - at[1] == pytest.approx(3 * (1 / 8 + 1 / 8))
    assert at[8] - at[4] == pytest.approx(4 / 8)


def test_a_dent_in_a_measured_curve_is_bridged() -> None:
    """Linear programs need concave values; one slow size between faster ones is taken for noise."""
    hull = concave(curve((1, 1), (2, 1), (4, 4)), 8)

    assert [2, 4, 4] == pytest.approx(at(hull, 2, 4, 8))


def test_a_speed_on_fewer_nodes_than_can_hold_it_does_not_count() -> None:
    """Four containers on one node is no promise where a node holds two."""
    app = AppRequest(
        app_id="a",
        demand=CPU,
        min=1,
        max=8,
        speed=(
            SpeedPoint(containers=1, speed=1),
            SpeedPoint(containers=4, nodes=1, speed=4),
            SpeedPoint(containers=4, nodes=2, speed=3),
        ),
    )

    (on_small,), (on_large,) = curves([app], [CPU * 2]), curves([app], [CPU * 4])

    assert [3] == pytest.approx(at(on_small, 4))
    assert [4] == pytest.approx(at(on_large, 4))


def test_a_curve_that_falls_at_its_end_falls_on() -> None:
    """Flat beyond its end it would not be concave, and no bound would hold."""
    hull = concave(curve((1, 1), (4, 4), (6, 3)), 8)

    assert [4, 3, 2] == pytest.approx(at(hull, 4, 6, 8))


def test_curves_of_different_lengths_are_read_together() -> None:
    """Thousands of applications are worth something at once, and their curves rarely match."""
    short, long = ((0.0, 0.0), (2.0, 2.0)), ((0.0, 0.0), (1.0, 1.0), (4.0, 2.5), (8.0, 3.0))
    counts = np.arange(10)

    together = speeds([short, long], np.stack([counts, counts], axis=1))

    for column, one in zip(together.T, (short, long), strict=True):
        expected = np.interp(counts, [x for x, _ in one], [y for _, y in one])
        assert expected.tolist() == pytest.approx(column.tolist())


def test_a_curve_without_a_possible_point_is_no_curve() -> None:
    """The application counts as fast as it has containers, as if nobody had said anything."""
    hopeless = SpeedPoint(containers=4, nodes=1, speed=4)
    app = AppRequest(app_id="a", demand=CPU, min=1, max=8, speed=(hopeless,))

    assert [None, None] == curves([app, attrs.evolve(app, speed=())], [CPU * 2])


@given(st.data())
def test_gains_are_concave_and_losses_convex(data: st.DataObject) -> None:
    """What every bound of the optimizer rests upon, zero included."""
    apps = []
    for name in range(data.draw(st.integers(1, 5))):
        low = data.draw(st.integers(1, 4))
        sizes = sorted(data.draw(st.sets(st.integers(1, 16), max_size=5)))
        speeds = tuple(
            SpeedPoint(containers=size, speed=data.draw(st.floats(0.1, 10))) for size in sizes
        )
        high = low + data.draw(st.integers(0, 12))
        apps.append(
            AppRequest(
                app_id=str(name),
                demand=CPU * data.draw(st.integers(1, 2)),
                min=low,
                max=high,
                weight=data.draw(st.sampled_from([1.0, 2.0])),
                speed=speeds,
            )
        )
    made = model(*apps, cpus=16)

    for index in np.flatnonzero(made.entitled).tolist():
        for at_zero, row, sign in (
            (made.gain_zero[index], made.gain[:, index], -1),
            (made.loss_zero[index], made.loss[:, index], 1),
        ):
            sizes_ = np.concatenate([[0], made.points[:, index]])
            values = np.concatenate([[at_zero], row])
            keep = np.concatenate([[True], np.diff(sizes_) > 0])
            slopes = np.diff(values[keep]) / np.diff(sizes_[keep])
            assert (sign * np.diff(slopes) >= -1e-9).all()


def test_what_nobody_lacks_is_nobodys_loss() -> None:
    """Room taken from the rich and given to nobody must not look like fairness."""
    apps = [AppRequest(app_id=name, demand=CPU, min=1, max=8) for name in "ab"]
    ours, papers = model(*apps), model(*apps, policy="utilization")
    size = ours.points[:, 0]

    assert [0.0] == sorted(set(ours.loss[size == 8, 0].tolist()))
    assert [0.5] == sorted(set(papers.loss[size == 8, 0].tolist()))
    assert [0.75] == sorted(set(ours.loss[size == 1, 0].tolist()))
    assert [0.375] == sorted(set(papers.loss[size == 1, 0].tolist()))
