"""What sizes are worth: the points, gains and losses of a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.units import Resources
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import Model
from reconcilers.layout.optimizer.values import concave, speed_of
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot, SpeedPoint

CPU = Resources(cpu_milli=1000)


def curve(*points: tuple[int, float]) -> tuple[SpeedPoint, ...]:
    """Return a speed curve from pairs of containers and speed."""
    return tuple(SpeedPoint(containers=containers, speed=speed) for containers, speed in points)


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
    app = AppRequest(app_id="a", demand=CPU, min=1, max=8, speed=curve((1, 1), (2, 1), (4, 4)))
    hull = concave(app, [CPU * 8])

    assert hull is not None
    assert speed_of(hull, 2) == pytest.approx(2)
    assert speed_of(hull, 8) == pytest.approx(4)


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

    on_small, on_large = concave(app, [CPU * 2]), concave(app, [CPU * 4])

    assert on_small is not None
    assert on_large is not None
    assert speed_of(on_small, 4) == pytest.approx(3)
    assert speed_of(on_large, 4) == pytest.approx(4)


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
