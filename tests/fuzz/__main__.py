"""Fuzz one target with atheris: `python -m tests.fuzz TARGET [-runs=N | -max_total_time=S] ...`.

Options are libFuzzer's. What it finds is written to `crash-...` in the current folder, or where
`-artifact_prefix=` says; a found input becomes a file of the corpus once its bug is mended.
"""

import sys
import tempfile

import atheris

with atheris.instrument_imports(
    include=["events", "dorm.spec", "dorm.agent", "reconcilers"], enable_loader_override=False
):
    from tests.fuzz.targets import FOLDERS, TARGETS


def main(arguments: list[str]) -> None:
    """Run libFuzzer; it ends the process by itself."""
    name, *options = arguments or [""]
    if name not in TARGETS:
        sys.exit(f"usage: python -m tests.fuzz {'|'.join(TARGETS)} [libFuzzer's options]")
    with tempfile.TemporaryDirectory() as found:  # New inputs go there, not into the corpus.
        atheris.Setup([sys.argv[0], *options, found, *map(str, FOLDERS[name])], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
