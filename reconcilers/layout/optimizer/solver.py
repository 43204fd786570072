"""HiGHS, set up so that equal inputs give equal answers, and nothing is printed."""

import highspy


class Solver(highspy.Highs):
    """A silent solver on one thread: with limits that count work, its answers can be repeated."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        for option, value in (("output_flag", False), ("threads", 1)):
            self.setOptionValue(option, value)

    def enableCallbacks(self) -> None:  # noqa: N802 - highspy's name
        """Do without callbacks, which nobody uses: to enable them prints a banner."""
