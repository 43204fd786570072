"""Write the golden timeline of `a_day` anew: `python -m tests.history.golden.write`.

The export beside it is never written anew: it shows that old exports stay readable.
"""

from pathlib import Path

from click.testing import CliRunner

from dorm.cli.events import cli
from events.fold import fold
from events.snapshot import state_hash
from tests.history.days import a_day

HERE = Path(__file__).parent


def main() -> None:
    """Replay the golden export, and keep what is told; the hash changes with every new field."""
    replayed = CliRunner().invoke(
        cli, ["replay", "--file", str(HERE / "day.jsonl")], env={"NO_COLOR": "1"}
    )
    hash_line = f"State     {state_hash(fold(a_day()))}\n"
    assert hash_line in replayed.stdout, "the golden export and a_day() tell the same history"
    (HERE / "day.txt").write_text(replayed.stdout.replace(hash_line, ""))


if __name__ == "__main__":
    main()
