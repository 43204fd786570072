"""The call that docs/optimizer.md shows to writers of other simulators."""

import re
from pathlib import Path

from reconcilers.layout import Decision

PAGE = Path(__file__).parents[2] / "docs" / "optimizer.md"


def test_the_example_works_as_it_stands() -> None:
    """Whoever copies it should get a decision, not a lesson in our renamings."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, object] = {}

    exec(example, names)

    decision = names["decision"]
    assert isinstance(decision, Decision)
    assert 16 == sum(decision.placements["bert"].values())
    assert ("bert",) == decision.touched
    assert decision.gap < 1e-3
