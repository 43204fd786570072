"""Which application makes planning fail: a bisection over the suspects, newest first.

Let P(k) be the k newest suspects. If planning fails with nothing held out and succeeds with P(n)
held out, there is a k for which it fails without P(k - 1) and succeeds without P(k), and about
log2(n) trials find one. The k-th suspect is guilty then: holding it out too is what heals. Others
may be guilty as well; the next failure finds them.
"""

from collections.abc import Generator

Trials = Generator[tuple[str, ...], bool, str]
"""Yields applications to hold out, is sent whether that healed, returns the guilty one, or ""."""


def trials(suspects: tuple[str, ...], others: tuple[str, ...]) -> Trials:
    """Search among the suspects, and among all others too when holding those out does not heal.

    Args:
        suspects: What is new since planning last succeeded, newest first.
        others: Everything else that could be held out, newest first.
    """
    everyone = suspects + others
    if suspects and (yield suspects):
        return (yield from _bisect(suspects))
    if others and (yield everyone):
        return (yield from _bisect(everyone))
    return ""


def _bisect(order: tuple[str, ...]) -> Trials:
    """Return the application at which the shortest healing prefix of `order` ends."""
    failing, healing = 0, len(order)
    while healing - failing > 1:  # The span halves each turn.
        middle = (failing + healing) // 2
        if (yield order[:middle]):
            healing = middle
        else:
            failing = middle
    return order[healing - 1]
