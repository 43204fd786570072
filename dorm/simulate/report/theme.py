"""Colours of the plots and of the page, on white and on dark paper.

The hues are those of Okabe and Ito ("Color Universal Design", 2008), which people with any kind of
colour blindness can tell apart; the dark theme has them lighter. Yellow is left out, for it cannot
be seen on white, and grey belongs to the baseline. Variants of one policy share its hue and differ
in lightness and dashes.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from dorm.simulate.report.groups import Group

Dashes = tuple[float, Sequence[float]]
DASHES: Final[Sequence[Dashes]] = ((0, ()), (0, (4, 1.5)), (0, (1.2, 1.2)))
_MIX: Final = (0.0, 0.3, 0.5)  # how much of the paper is in the colour of a variant


@attrs.frozen(kw_only=True)
class Theme:
    """One set of colours.

    Attributes:
        paper, ink, faint, grid: Background, text, lesser text, lines of the grid.
        hues: Of the policies.
        baseline: Of the policy that the others are measured against.
        heat: Name of matplotlib's colour map for amounts.
    """

    name: str
    paper: str
    ink: str
    faint: str
    grid: str
    hues: tuple[str, ...]
    baseline: str
    heat: str

    def colour(self, group: Group) -> str:
        """Return the colour of a policy."""
        hue = self.baseline if group.is_baseline else self.hues[group.hue % len(self.hues)]
        return mixed(hue, self.paper, _MIX[group.variant % len(_MIX)])

    def dashes(self, group: Group) -> Dashes:
        """Return the line style of a policy."""
        turn = 0 if group.is_baseline else group.hue // len(self.hues)
        return DASHES[(group.variant + turn) % len(DASHES)]


LIGHT: Final = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    faint="#5c6670",
    grid="#e3e6ea",
    hues=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    baseline="#73787d",
    heat="viridis_r",
)
DARK: Final = Theme(
    name="dark",
    paper="#14181d",
    ink="#e8ebee",
    faint="#9aa4ae",
    grid="#2b323a",
    hues=("#4aa8e8", "#f5854a", "#2cc99d", "#e5a2c8", "#f3b43a", "#9ad6f8"),
    baseline="#a2a8ae",
    heat="viridis",
)


def mixed(colour: str, other: str, part: float) -> str:
    """Return `#rrggbb` that is `part` of the way from one colour to the other."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[index : index + 2], 16) for index in (1, 3, 5))
