"""Compare all modes of execution: ``python -m tests.modes``, about half an hour on one core.

``--only hypot`` takes the lines that contain a text, ``--forms 3`` the first forms. Differences are printed as they are
found; the table at the end counts comparisons.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.update(JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

import sdgrad  # noqa: E402

from .checks import Tally, findings  # noqa: E402
from .known import reason  # noqa: E402
from .plan import FORMS, LINES, POINTED, TWICE, packs, regular, special_points  # noqa: E402
from .registered import missing, registered  # noqa: E402

console = Console(width=160)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="lines that contain this text")
    parser.add_argument("--forms", type=int, default=len(FORMS), help="how many types and layouts")
    parser.add_argument("--skip", type=int, default=0, help="types and layouts to leave out, from the first one")
    parser.add_argument("--level", type=int, default=0, help="optimization level of the compiler")
    parser.add_argument("--cache", type=Path, default=None, help="folder of compiled programs")
    parser.add_argument("--no-points", action="store_true", help="without the special points")
    return parser.parse_args()


def parts(chosen: argparse.Namespace) -> dict[str, tuple[list, bool]]:
    """Programs by what they are about, and whether to differentiate them twice."""
    lines = [line for line in LINES if chosen.only in line.text]
    found = {
        f"{form.dtype} {form.layout}": (list(packs(regular(lines, form))), form in TWICE)
        for form in FORMS[chosen.skip : chosen.forms]
    }
    if not chosen.no_points:
        found |= {
            f"{dtype} special{' twice' if twice else ''}": (special_points(lines, dtype, twice), twice)
            for dtype, twice in POINTED
        }
    return found


def report(tallies: dict[str, tuple[int, Tally]]) -> int:
    """Print how many comparisons there were; return how many failed without a known reason."""
    table = Table("operands", "calls", "comparisons", "differences", "known", "refused")
    total = 0
    for name, (calls, tally) in tallies.items():
        refused = [f for f in tally.found if f.mode == "refused"]
        known = [f for f in tally.found if reason(f)]
        total += len(tally.found) - len(known)
        counts = (calls, tally.compared.total(), len(tally.found) - len(refused), len(known), len(refused))
        table.add_row(name, *map(str, counts))
    console.print(table)
    return total


def main() -> int:
    """Nonzero where modes differ for no known reason, or a registered function has no line."""
    chosen = options()
    warnings.simplefilter("ignore")
    sdgrad.config.verify, sdgrad.config.optimization_level = "never", chosen.level
    if chosen.cache is not None:
        sdgrad.config.cache_dir = str(chosen.cache)
    tallies = {}
    for name, (programs, twice) in parts(chosen).items():
        tally = Tally()
        for pack in track(programs, name, console=console, disable=not console.is_terminal):
            before = len(tally.found)
            findings(pack, twice, tally)
            for found in tally.found[before:]:
                told = f" (known: {reason(found)})" if reason(found) else ""
                console.print(f"{found}{told}", markup=False, highlight=False, soft_wrap=True)
        tallies[name] = (sum(len(p.cells) for p in programs), tally)
        console.print(
            f"{name}: {tallies[name][0]} calls, {tally.compared.total()} comparisons, {len(tally.found)} differences"
        )
    left = report(tallies)
    without = missing(line.text for line in LINES)
    console.print(f"{len(registered())} registered functions, {len(without)} without a line: {', '.join(without)}")
    return bool(left or without)


if __name__ == "__main__":
    sys.exit(main())
