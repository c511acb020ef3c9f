"""What is not selected contributes nothing: every element-wise function at its special points, in all modes.

``python -m tests.modes.selection`` looks at all functions in all ways: about six minutes on one core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .cells import Cell, Pack, evaluated
from .lines import Line
from .plan import LINES, packs, pointed
from .running import Modes

WAYS = {
    "chosen": "np.where(m, {}, 0.0)",
    "weighted": "np.where(m, 3.0 * {}, 0.0)",
    "inner": "np.where(m, np.tanh({}), 0.0)",
    "squared": "np.where(m, {0} * {0}, 0.0)",
    "divisor": "np.where(m, 1.0 / ({} + 2.0), 0.0)",
    "factor": "np.where(m, {} * a, 0.0)",
    "twice": "np.where(m, {0}, 0.0) * 2.0 + np.sin(np.where(m, {0}, 1.0))",
    "overwritten": "masked({}, m)",
    "in arms": "arms(m, {})",
}
"""How values are not selected, where ``m`` is false."""
IN_DOUBT = "in arms"
"""The way of which only functions are known to contribute nothing, in first order (``docs/gradients.md``)."""
PRODUCTS = ("np.multiply(a, b)", "a * b", "np.logaddexp(a, b)", "log_expit", "xlogy", "xlog1py", "huber")


@dataclass(frozen=True)
class Contribution:
    """Derivatives that are not zero."""

    name: str
    mode: str
    points: tuple[tuple[float, ...], ...]

    def __str__(self) -> str:
        return f"{self.name}, {self.mode}: not zero at {', '.join(map(str, self.points[:4]))}"


def cells(lines: Iterable[Line], dtype: str, way: str) -> Iterator[Cell]:
    """Functions at special points, of which nothing is selected."""
    for known in pointed(lines, dtype, twice=False):
        if way == IN_DOUBT and any(p in known.text for p in PRODUCTS):
            continue
        if len(known.wanted) == 1 and known.wanted[0].dtype.kind == "f":
            mask = np.zeros(len(known.wanted[0]), bool)
            text = WAYS[way].format(f"({known.text})")
            found = evaluated(replace(known, text=text, values={**known.values, "m": mask}, parts=[], wanted=[]))
            if found is not None:
                yield found


def contributions(pack: Pack, twice: bool = True) -> Iterator[Contribution]:
    """What does contribute, by mode."""
    modes = Modes(pack, [np.ones_like(w) for c in pack.cells for w in c.wanted])
    moved = {p: np.ones_like(v) for p, v in zip(pack.parameters, pack.arguments(), strict=True) if p in pack.moved}
    owners = [k for k, c in enumerate(pack.cells) for _ in c.by]
    by_results = [k for k, _ in pack.slots]
    yield from _nonzero(pack, "reverse", owners, modes.reverse()[1])
    yield from _nonzero(pack, "forward", by_results, modes.forward(moved)[1])
    if twice:
        yield from _nonzero(pack, "second order", owners, modes.forward_over_reverse(moved))


def _nonzero(pack: Pack, mode: str, owners: Sequence[int], found: Sequence[np.ndarray]) -> Iterator[Contribution]:
    for k, derivative in zip(owners, found, strict=True):
        cell = pack.cells[k]
        off = np.flatnonzero(~(np.asarray(derivative) == 0))
        if off.size:
            points = tuple(tuple(float(cell.values[n][i]) for n in cell.by) for i in off)
            yield Contribution(f"{cell.text} [{cell.form.dtype}]", mode, points)


def main() -> int:
    """Nonzero where something contributes."""
    count = wrong = 0
    for dtype in ("float64", "float32"):
        for way in WAYS:
            for pack in packs(cells(LINES, dtype, way)):
                count += len(pack.cells)
                for found in contributions(pack, way != IN_DOUBT):
                    wrong += 1
                    print(found)
            print(f"{dtype}, {way}: {count} functions so far, {wrong} contribute", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    import sdgrad

    sdgrad.config.verify, sdgrad.config.optimization_level = "never", 0
    np.seterr(all="ignore")
    sys.exit(main())
