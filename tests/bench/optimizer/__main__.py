"""Measure the optimizer: `python -m tests.bench.optimizer [--quick] [--sizes 20x50 100x200]`.

Every cluster is measured in a process of its own, so that its peak of memory is its own.
"""

import argparse
import importlib.util
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console

from tests.bench.optimizer.cases import QUICK, SIZES, Figures, Size, measure, shortfall
from tests.bench.optimizer.oracle import Exact

HEAD = (
    f"{'cluster':27}{'event':6}{'CPU s':>7}{'MiB':>5}{'value':>8}{'gap %':>7}{'to prices %':>12}"
    f"{'loss':>7}{'touched':>10}{'racks':>6}   exact solvers: value, ours better by %, CPU s"
)
LEGEND = (
    "MiB: what the decision added to the peak of the process. gap: to the bound of the decision. "
    "to prices: to the bound that prices alone give. racks: mean of a placed application."
)


def main() -> None:
    """Print one line for each decision."""
    options = _options()
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"policy {options.policy}, loss factor 0.1, seed {options.seed}\n{LEGEND}")
    if options.exact > 0 and importlib.util.find_spec("ortools") is None:
        console.print("CP-SAT is left out: `pip install ortools` to compare with it.")
    console.print(HEAD)
    for size in QUICK if options.quick else SIZES:
        if options.sizes and size.name not in options.sizes:
            continue
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as alone:
            for row in alone.submit(
                measure, size, seed=options.seed, policy=options.policy, exact_s=options.exact
            ).result():
                console.print(_line(size, row))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.optimizer", description="Measure the layout optimizer."
    )
    names = list(dict.fromkeys(size.name for size in SIZES))
    parser.add_argument("--sizes", nargs="*", choices=names, help="only clusters of these sizes")
    parser.add_argument("--quick", action="store_true", help="up to 1000x1000, catalog shapes")
    parser.add_argument("--policy", default="utilization", choices=("utilization", "goodput"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--exact", type=float, default=5.0, help="seconds for each exact solver; 0 for none"
    )
    return parser.parse_args()


def _line(size: Size, row: Figures) -> str:
    cluster = f"{size.name} {size.kind} {size.shapes}"
    touched = f"{row.touched}/{row.running}"
    exact = "; ".join(_beside(name, answer, row.value) for name, answer in row.exact.items())
    return (
        f"{cluster:27}{row.event:6}{row.cpu_s:7.2f}{row.memory_mib:5.0f}{row.value:8.4f}"
        f"{100 * row.gap:7.3f}{100 * row.dual_gap:12.3f}{row.loss:7.3f}{touched:>10}"
        f"{row.racks:6.2f}   {exact}"
    )


def _beside(name: str, answer: Exact, value: float) -> str:
    if math.isinf(answer.value):
        return f"{name} no layout, {answer.cpu_s:.1f}"
    better = 100 * shortfall(answer, value)
    return f"{name} {answer.value:.4f}, {better:+.2f}, {answer.cpu_s:.1f}"


if __name__ == "__main__":
    main()
