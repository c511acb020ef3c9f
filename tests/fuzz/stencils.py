"""Random stencils: ``python tests/fuzz/stencils.py --count 200 --seed 1``.

Statements on shifted parts of arrays of one to three dimensions, in loops and out of them, large enough that their
adjoints are gathered. They run in NumPy on complex numbers, whose imaginary parts are the derivatives.
"""

from __future__ import annotations

import argparse
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[k]) for k in (1, 2)]

import numpy as np

import sdgrad

EXTENTS = {1: (8, 24), 2: (7, 13), 3: (7, 9)}
ARRAYS = ("x", "w", "y", "z")
MARGIN = 4  # elements at an end that a statement may leave out, and reach over
MOST_CHECKED = 160  # elements of the gradients
STEP = 1e-20


@dataclass(frozen=True)
class Stencil:
    """A function of two arrays, as text and to be called."""

    text: str
    shape: tuple[int, ...]
    function: Callable[..., float]


def sample(seed: int) -> Stencil:
    """The random stencil of a seed."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(*EXTENTS[rank], rank))
    lines = ["def stencil(x, w):", "    y = np.zeros_like(x)", "    z = np.ones_like(x)"]
    for _ in range(rng.integers(1, 4)):
        looped = rng.random() < 0.5
        if looped:
            lines.append(f"    for t in range({rng.integers(1, 4)}):")
        indent = "        " if looped else "    "
        lines += [indent + _statement(rng, rank) for _ in range(rng.integers(1, 4) if looped else 1)]
    lines.append("    return np.sum(x * x) + np.sum(y * w) + np.sum(z * z) + np.sum(w)")
    text, name = "\n".join(lines) + "\n", f"<stencil {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict = {"np": np}
    exec(compile(text, name, "exec"), space)
    return Stencil(text, shape, space["stencil"])


def _statement(rng: np.random.Generator, rank: int) -> str:
    low, high = rng.integers(0, MARGIN, rank), rng.integers(0, MARGIN, rank)
    most_read = str(rng.choice(ARRAYS))

    def part(name: str, shifts: Iterator[int]) -> str:
        ends = ((a + s, b - s) for a, b, s in zip(low, high, shifts, strict=True))
        return f"{name}[{', '.join(f'{a}:-{b}' if b else f'{a}:' for a, b in ends)}]"

    def near(often: float = 0.0) -> str:
        name = most_read if rng.random() < often else str(rng.choice(ARRAYS))
        shifts = (int(rng.integers(-a, b + 1)) if rng.random() < 0.6 else 0 for a, b in zip(low, high, strict=True))
        return part(name, shifts)

    def term() -> str:
        forms = (
            lambda: f"{rng.uniform(-1, 1):.2f} * {near(0.7)}",
            lambda: f"{near(0.7)} * {near()}",
            lambda: f"np.sin({near(0.7)})",
            lambda: f"{near(0.7)} / (2.0 + {near()} * {near()})",
            lambda: f"np.exp(-{near(0.7)})",
        )
        return forms[rng.choice(len(forms), p=(0.5, 0.25, 0.1, 0.08, 0.07))]()

    target = part(str(rng.choice(ARRAYS)), iter([0] * rank))
    terms = " + ".join(term() for _ in range(rng.integers(1, 6)))
    return f"{target} {'=' if rng.random() < 0.7 else '+='} 0.5 * ({terms})"


def failure(stencil: Stencil, seed: int) -> str | None:
    """What is wrong with the gradient; None if nothing is."""
    rng = np.random.default_rng(seed)
    args = rng.uniform(-1, 1, (2, *stencil.shape))
    places = [(k, *i) for k in (0, 1) for i in np.ndindex(stencil.shape)]
    if len(places) > MOST_CHECKED:
        places = [places[k] for k in rng.choice(len(places), MOST_CHECKED, replace=False)]
    found = np.array(sdgrad.grad(stencil.function, wrt=("x", "w"))(*args.copy()))
    for place in places:
        moved = args.astype(complex)
        moved[place] += 1j * STEP
        right = stencil.function(*moved).imag / STEP
        if abs(found[place] - right) > 1e-9 * (1 + abs(right)):
            return f"gradient {place[0]} at {place[1:]} is {found[place]}, not {right}"
    return None


def main() -> int:
    from rich.progress import track

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed; the others follow")
    options = parser.parse_args()
    wrong = 0
    for seed in track(range(options.seed, options.seed + options.count), "checking"):
        stencil = sample(seed)
        try:
            what = failure(stencil, seed)
        except Exception as error:  # noqa: BLE001 (whatever the engine raises)
            what = f"{type(error).__name__}: {error}"
        if what is not None:
            wrong += 1
            print(f"seed {seed}: {what}\n{stencil.text}")
    print(f"{options.count - wrong} right, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
