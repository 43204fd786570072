"""Prices of room, of fairness and of restarts: the Lagrangian dual, and what it says.

`relaxed` answers any prices theta with the proposal that is best at them, and so with an upper
bound on every layout:

    D(theta) = max over proposals p of  gain_p + sum_j theta_j * spare_pj

D is convex: a maximum of linear functions. Its minimum is the best bound that prices can give, and
equals that of the linear program over the convex hull of everybody's choices (formulation F2 of
`sizes`). It is found by cutting planes: a small linear program, the *master*, keeps one row
`v >= gain_p + theta * spare_p` for each proposal met so far and minimises v over a box around the
best prices known; its answer is the next theta to ask. The box grows while the master is right
about how far D falls and shrinks where it is not, which tames the swings of plain cutting planes.
When the master, away from the sides of its box, promises next to nothing more, the prices are
found.

The dual values of the master's rows mix the proposals into a fractional layout (Dantzig-Wolfe):
how often an application changes in this mix is how much a restart of it is worth.

The master has one column for each price, a dozen or so, whatever the number of applications.

Sources: Kelley, "The cutting-plane method for solving convex programs", 1960; Marsten, Hogan and
Blankenship, "The BOXSTEP method for large-scale optimization", 1975; Dantzig and Wolfe,
"Decomposition principle for linear programs", 1960.
"""

import math
from typing import Final

import attrs
import highspy
import numpy as np

from reconcilers.layout.optimizer.model import EXCESS_PRICE, Floats, Model
from reconcilers.layout.optimizer.relaxed import LOSS, TOUCH, Proposal, Relaxed, relax
from reconcilers.layout.optimizer.solver import Solver

ROUNDS_MAX: Final = 120
TOLERANCE: Final = 1e-4  # stop when the master promises less than this part of the bound
BOX_START, BOX_LEAST, BOX_MOST = 0.3, 1e-4, 5.0  # sides of the box, relative to the prices
BOX_WARM: Final = 0.05  # what the box starts with around prices that were found before
SERIOUS: Final = 0.1  # part of the promised fall of D that counts as progress
ROOM_START, LOSS_START, TOUCH_START = 0.6, 0.5, 0.1
PRICE_UNIT: Final = 0.05  # the box leaves even a price of zero this much room, times its sides
WORTHLESS: Final = 1e-3  # differences count in parts of the bound, but of no less than this
NEGLIGIBLE: Final = 1e-9  # weight of a proposal that does not count
_TINY: Final = 1e-300  # keeps a division by zero from being one


@attrs.frozen(kw_only=True, eq=False)
class Prices:
    """What each scarce thing is worth, in units of the objective.

    Attributes:
        room: (C, R) of a whole class of nodes full of a resource.
        loss: Of one unit of fairness loss; at most what excess costs.
        touch: Of one more restart.
    """

    room: Floats
    loss: float
    touch: float


@attrs.frozen(kw_only=True, eq=False)
class Dual:
    """The answer of the dual.

    Attributes:
        bound: No layout is worth more.
        prices: At which that bound was found.
        touched: (A,) how much of each application changes in the fractional layout: of a running
            one how much a restart is worth, of a waiting one how much of it is admitted.
        target: (A, C) its containers by class where it changes; zero where it does not.
        unit_price: (A, C) what one container costs at these prices; infinite where none fits.
        rounds: Proposals that were asked for.
    """

    bound: float
    prices: Prices
    touched: Floats
    target: Floats
    unit_price: Floats
    rounds: int


def dual(model: Model, *, touches_max: int | None = None, start: Prices | None = None) -> Dual:
    """Return the best bound that prices give, and the fractional layout behind it.

    Args:
        model: The problem.
        touches_max: Another touch budget than the model's.
        start: Prices to begin from, such as those for another budget or of the last decision;
            the closer, the fewer rounds. They need not fit the model.
    """
    if not model.apps or not model.nodes:
        return _nothing(model)
    relaxed = relax(model, model.touches_max if touches_max is None else touches_max)
    side = BOX_START if start is None else BOX_WARM
    search = _Search(relaxed, _theta(relaxed, start), side)
    search.run()
    return _answer(relaxed, search)


class _Search:
    """Cutting planes in a moving box; the state of one minimisation of D."""

    def __init__(self, relaxed: Relaxed, start: Floats, side: float) -> None:
        self.relaxed = relaxed
        self.most = _most(relaxed)
        self.best = np.minimum(start, self.most)
        self.proposals = [relaxed.propose(self.best)]
        self.bound = self.proposals[0].at(self.best)
        self.master = _Master(len(start))
        self.master.add(self.proposals[0])
        self.side = side
        self.failures = 0

    def run(self) -> None:
        """Move the box until nothing more is promised. Each turn asks once or grows the box."""
        for _ in range(ROUNDS_MAX):
            low, high = self._box()
            theta, promised = self.master.solve(low, high)
            is_low, is_high = (theta <= low) & (low > 0), (theta >= high) & (high < self.most)
            at_side = bool((is_low | is_high).any())
            fall = self.bound - promised
            least = TOLERANCE * max(abs(self.bound), WORTHLESS)
            if fall < least * (SERIOUS if at_side else 1.0):
                if not at_side or self.side >= BOX_MOST:
                    return
                self.side = min(self.side * 3, BOX_MOST)
                continue
            self._ask(theta, fall, at_side=at_side)
            if self.side < BOX_LEAST:
                return

    def _box(self) -> tuple[Floats, Floats]:
        reach = self.side * np.maximum(self.best, PRICE_UNIT)
        return np.maximum(self.best - reach, 0.0), np.minimum(self.best + reach, self.most)

    def _ask(self, theta: Floats, fall: float, *, at_side: bool) -> None:
        """Ask at new prices; move there if D falls, and fit the box to how true the promise was."""
        proposal = self.relaxed.propose(theta)
        self.proposals.append(proposal)
        self.master.add(proposal)
        value = proposal.at(theta)
        is_serious = value < self.bound - SERIOUS * fall
        is_far_off = value - self.bound > 2 * fall
        if value < self.bound:
            self.best, self.bound = theta, value
        if is_serious:
            self.failures = 0
            self.side = min(self.side * 2, BOX_MOST) if at_side else self.side
            return
        self.failures += 1
        if is_far_off or self.failures >= 3:  # noqa: PLR2004 - as usual in bundle methods
            self.side, self.failures = self.side * 0.5, 0


class _Master:
    """The linear program over the proposals met so far: prices, and v, which it minimises.

    Attributes:
        weights: How much of each proposal is in the mix that the last solution stands for.
    """

    def __init__(self, prices: int) -> None:
        self.weights: list[float] = []
        self.columns = np.arange(prices + 1, dtype=np.int32)
        self.highs = Solver()
        self.highs.setOptionValue("presolve", "off")  # would throw the last basis away
        for _ in range(prices):
            self.highs.addVar(0.0, 0.0)
        self.highs.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        self.highs.changeColCost(prices, 1.0)

    def add(self, proposal: Proposal) -> None:
        """Add the row `v - theta * spare >= gain` of a proposal."""
        row = np.append(-proposal.spare, 1.0)
        size = len(self.columns)
        self.highs.addRow(proposal.gain, highspy.kHighsInf, size, self.columns, row)

    def solve(self, low: Floats, high: Floats) -> tuple[Floats, float]:
        """Return the prices within a box that promise the lowest bound, and that bound."""
        lower, upper = np.append(low, -highspy.kHighsInf), np.append(high, highspy.kHighsInf)
        self.highs.changeColsBounds(len(self.columns), self.columns, lower, upper)
        self.highs.run()
        solution = self.highs.getSolution()
        self.weights = [abs(weight) for weight in solution.row_dual]
        values = np.array(solution.col_value)
        return np.clip(values[:-1], low, high), float(values[-1])


def _theta(relaxed: Relaxed, start: Prices | None) -> Floats:
    """Return prices in the units of the rows, inside of their bounds."""
    rows = relaxed.rows
    theta = np.empty(len(rows) + 2)
    theta[:LOSS], theta[LOSS], theta[TOUCH] = ROOM_START, LOSS_START, TOUCH_START
    if start is not None and start.room.shape == relaxed.class_share.shape:
        theta[:LOSS] = (start.room / np.maximum(relaxed.class_share, _TINY))[rows[:, 0], rows[:, 1]]
        theta[LOSS] = start.loss
        theta[TOUCH] = start.touch * relaxed.touchable
    return theta


def _most(relaxed: Relaxed) -> Floats:
    """Return the highest price of each row: who may exceed fairness at a price pays no more."""
    most = np.full(len(relaxed.rows) + 2, np.inf)
    most[LOSS] = EXCESS_PRICE
    most[TOUCH] = np.inf if relaxed.touches_max > 0 else 0.0
    return most


def _answer(relaxed: Relaxed, search: _Search) -> Dual:
    model, theta = relaxed.model, search.best
    room = np.zeros_like(relaxed.class_share)
    room[relaxed.rows[:, 0], relaxed.rows[:, 1]] = theta[:LOSS]
    touched, target = _mix(model, search)
    return Dual(
        bound=search.bound,
        prices=Prices(
            room=room * relaxed.class_share,
            loss=float(theta[LOSS]),
            touch=float(theta[TOUCH]) / relaxed.touchable,
        ),
        touched=touched,
        target=target,
        unit_price=relaxed.container_prices(theta)[relaxed.shape],
        rounds=len(search.proposals),
    )


def _mix(model: Model, search: _Search) -> tuple[Floats, Floats]:
    """Return (A,) how much of each application changes, and (A, C) to what, in the last mix."""
    touched = np.zeros(model.apps)
    target = np.zeros((model.apps, len(model.classes)))
    weights = search.master.weights
    whole = math.fsum(weights)
    for weight, proposal in zip(weights, search.proposals, strict=False):  # the last is newer
        if weight > NEGLIGIBLE:
            part, ids = weight / whole, np.flatnonzero(proposal.changes)
            touched[ids] += part
            target[ids, proposal.node_class[ids]] += part * proposal.size[ids]
    return touched, target / np.maximum(touched, _TINY)[:, None]


def _nothing(model: Model) -> Dual:
    """Return the answer where there is nothing to place, or nowhere to place it."""
    by_class = np.zeros((model.apps, len(model.classes)))
    return Dual(
        bound=math.fsum(model.gain_zero.tolist()),
        prices=Prices(room=np.zeros(model.classes.shape), loss=0.0, touch=0.0),
        touched=np.zeros(model.apps),
        target=by_class,
        unit_price=np.full_like(by_class, np.inf),
        rounds=0,
    )
