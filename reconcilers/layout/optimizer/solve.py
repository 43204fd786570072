"""One layout decision of the optimizer: `goodput` and `utilization`.

Given the nodes, and of each application i what a container of it takes, the bounds of its size
n_i, its places now and its worth by size, choose sizes and places that

    max   sum_i G_i(n_i)  -  sum of restart costs  -  EXCESS_PRICE * max(0, sum_i L_i(n_i) - F)
    s.t.  every node holds its containers,
          low_i <= n_i <= high_i, or n_i = 0 for those that wait,
          at most K running applications are disturbed.

G is gain, L distance from the fair share, F = theta_1 * 2m and K = ceil(theta_2 * running) as in
the paper. Nodes being equal in hundreds, the direct integer program is hopeless (its branches are
permutations of equal nodes), so the problem is taken apart:

1. `build` makes arrays of the snapshot; `shares` says what is fair.
2. `forced` does what has to be done: lost places, tiers, gangs whose time is up.
3. `prices` bounds all layouts and prices room, fairness and restarts; `budget` reads from bounds
   how many restarts are worth it, most often none.
4. `arrange` makes a layout: patterns for the free room, rounding, repair. First without disturbing
   anybody, then with the chosen budget.
5. Small clusters are solved exactly (`certify`), those whose exact sizes do not pack improved node
   by node (`polish`), medium ones by local search (`search`).
6. A layout that disturbs somebody is taken only if it is better than leaving everything in place by
   more than `PAYS` of the bound (in small clusters: than what counts as proven optimal). So a
   settled layout stays.

Nothing depends on time, hash order or the processor's vector width: limits are counts, ties are
broken by index, sums over applications are exactly rounded.

Source: Sun et al., "Dorm", 2017 (arXiv 1704.06738), for the objective and the two thresholds; the
decomposition is ours, the sources of its parts stand where they are.
"""

from typing import Final

import attrs

from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.arrange import Candidate, Freedom, arrange
from reconcilers.layout.optimizer.budget import PAYS, Level, chosen, levels
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.certify import PROVEN, Proof, is_small, prove, suggested
from reconcilers.layout.optimizer.forced import Case, prepare
from reconcilers.layout.optimizer.model import Floats, Model
from reconcilers.layout.optimizer.polish import is_tiny, polish
from reconcilers.layout.optimizer.report import report
from reconcilers.layout.optimizer.search import Scope, improve
from reconcilers.layout.snapshot import Snapshot

LOOSE: Final = 0.02  # so far below its bound a layout is bad, and not just the bound loose
LARGE: Final = (
    2048  # nodes beyond which there is no local search, and restarts bring next to nothing
)
NEAR: Final = 1e-3  # so near to its bound a small layout is not worth more work
LOOSE_LARGE: Final = 0.06  # the same beyond `LARGE`, where shapes rounded up cost as much as that
TINY: Final = 1e-9


@attrs.frozen(kw_only=True, eq=False)
class Answer:
    """The layout decided on, and the best bound that is known.

    Attributes:
        best: The layout.
        bound: No layout is worth more.
    """

    best: Candidate
    bound: float


def solve(snapshot: Snapshot) -> Decision:
    """Return the layout that the optimizer makes of a snapshot.

    Raises:
        ValueError: A node holds more than its room, or an application more than its maximum.
    """
    case = prepare(build(snapshot))
    answer = _answer(case)
    return report(case, answer.best, answer.bound)


def _answer(case: Case) -> Answer:
    model = case.base.model
    is_empty = not case.base.size.any()
    keep = arrange(
        case.base,
        case.guide,
        Freedom(waiting=case.waiting, fixed=case.fixed, certify=is_empty),
    )
    bound = min(case.full.bound, keep.bound if is_empty else case.full.bound)
    if _is_within(keep, bound, PROVEN):
        return Answer(best=keep, bound=bound)
    level, best = _with_budget(case, keep, bound)
    touches = level.touches
    if is_small(model):
        touches = model.touches_max
        proof = prove(case.base, case.priced, case.guide, touches + case.forced)
        if proof is not None:
            bound = min(bound, proof.bound)
            found = _affordable(case, proof.best) or _affordable(case, _like(case, proof))
            best = _better(best, found, TINY * abs(bound))
        wanted = case.full.touched if proof is None else case.full.touched + proof.sizes.touched
        best = _polished(case, best, wanted, touches, bound)
    if not _is_within(best, bound, PROVEN):
        scope = Scope(
            guide=case.guide,
            waiting=case.waiting,
            fixed=case.fixed,
            touches=touches,
            bound=bound,
        )
        best = improve(best, scope)
    # A layout that is not proven would find a little more next time, and disturb somebody for it.
    pays = PROVEN if _is_within(best, bound, PROVEN) else PAYS
    disturbs = best.score.touches > keep.score.touches
    worth_it = best.score.value > keep.score.value + pays * abs(bound)
    return Answer(best=best if worth_it or not disturbs else keep, bound=bound)


def _polished(case: Case, best: Candidate, wanted: Floats, touches: int, bound: float) -> Candidate:
    """Return a tiny cluster's layout improved node by node, where that is likely to bring much."""
    model = case.base.model
    # With fixed roles it overfilled a node in one of 500 random histories (516).
    is_plain = not (case.fixed.any() or model.yields.any() or model.roles)
    if not (is_tiny(model) and is_plain and model.running.any()) or _is_within(best, bound, NEAR):
        return best
    found = polish(best, case.waiting, wanted, touches)
    return _better(best, found, TINY * abs(bound))


def _affordable(case: Case, found: Candidate | None) -> Candidate | None:
    """Return a layout if it keeps to the touch budget, and places nobody out of turn.

    The exact sizes may spare somebody who had to be disturbed before, and disturb another instead;
    carried out on top of what has happened already, that is one too many. And whoever may not be
    placed yet is worth nothing to them, so they do not mind placing it.
    """
    if found is None:
        return None
    is_out_of_turn = (found.table.size > 0) & (case.base.size == 0) & ~case.waiting
    most = case.base.model.touches_max + case.forced
    return None if found.score.touches > most or is_out_of_turn.any() else found


def _like(case: Case, proof: Proof) -> Candidate:
    """Return a layout that disturbs those whom the exact sizes disturb."""
    model, touched = case.base.model, case.base.touched()
    disturbed = suggested(proof, model).items()
    chosen_ones = {app: size for app, size in disturbed if not touched[app]}
    freedom = Freedom(
        waiting=case.waiting,
        fixed=case.fixed,
        chosen=chosen_ones,
        touches=model.touches_max,
    )
    return arrange(case.base, case.guide, freedom)


def _is_within(found: Candidate, bound: float, gap: float) -> bool:
    return bound - found.score.value <= gap * abs(bound)


def _is_fair(found: Candidate, model: Model) -> bool:
    return found.score.loss <= model.loss_max + TINY


def _better(best: Candidate, other: Candidate | None, margin: float) -> Candidate:
    return other if other and other.score.value > best.score.value + margin else best


def _with_budget(case: Case, keep: Candidate, bound: float) -> tuple[Level, Candidate]:
    """Return the smallest budget worth solving for, and the best layout with it.

    Beyond it goes only who is not fair or far from the bound, and then a bigger one has to pay. In
    large clusters already the first budget above zero needs such a reason: what bounds promise of
    restarts is less there than what rounding loses, unless somebody lacks a fair share; and then a
    small budget is tried even if bounds promise a little more of the full one.
    """
    best, model = keep, case.base.model
    is_good = _is_fair(keep, model) and _is_within(keep, bound, LOOSE)
    level = Level(touches=0, dual=case.full)
    is_large = model.nodes > LARGE
    if is_large and _is_fair(keep, model) and _is_within(keep, bound, LOOSE_LARGE):
        return level, keep
    least, pays = 0 if is_good else 1, LOOSE if is_large else PAYS
    for level in levels(case.priced, case.full, case.forced, least=least, pays=pays):
        if level.touches:
            freedom = Freedom(
                waiting=case.waiting,
                fixed=case.fixed,
                chosen=chosen(case.base, level),
                touches=level.touches,
            )
            found = arrange(case.base, case.guide, freedom)
            best = _better(best, found, PAYS * abs(bound))
        if _is_fair(best, model) and (is_large or _is_within(best, bound, LOOSE)):
            break
    return level, best
