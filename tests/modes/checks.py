"""What the modes of a pack must agree on: :func:`findings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from . import references
from .cells import Cell, Pack
from .compare import difference, tolerance
from .running import Modes, by_halves


@dataclass(frozen=True)
class Finding:
    """A call, the two modes that differ, and where; a refusal has no places."""

    cell: Cell
    mode: str
    message: str

    def __str__(self) -> str:
        return f"{self.cell.name}: {self.mode}: {self.message}"


@dataclass
class Tally:
    """How many comparisons there were, by mode, and what was wrong."""

    compared: Counter = field(default_factory=Counter)
    found: list[Finding] = field(default_factory=list)

    def compare(self, cell: Cell, mode: str, found, wanted, relative: float, least: float = 0.0) -> None:
        self.compared[mode] += 1
        points = [cell.values[n] for n in cell.line.letters] if cell.points else []
        if (told := difference(found, wanted, relative, points, least)) is not None:
            self.found.append(Finding(cell, mode, told))


def like(rng: np.random.Generator, array: np.ndarray, ones: bool) -> np.ndarray:
    """A cotangent or a direction of a value."""
    if ones:
        return np.ones(array.shape, array.dtype)
    found = rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1, 1], array.shape)
    if array.dtype.kind == "c":
        found = found + 1j * rng.uniform(0.5, 1.5, array.shape)
    return np.asarray(found, array.dtype)


@dataclass
class Check:
    """The modes of a pack beside each other."""

    pack: Pack
    tally: Tally
    second: bool

    def __post_init__(self) -> None:
        rng = np.random.default_rng(11)
        wanted = [self.pack.cells[k].wanted[j] for k, j in self.pack.slots]
        points = [self.pack.cells[k].points for k, _ in self.pack.slots]
        has_slope = [bool(self.pack.cells[k].by) and w.dtype.kind in "fc" for (k, _), w in
                     zip(self.pack.slots, wanted, strict=True)]  # fmt: skip
        drawn = [like(rng, w, p) for w, p in zip(wanted, points, strict=True)]
        self.seeds = [s if ok else None for s, ok in zip(drawn, has_slope, strict=True)]
        self.ways = {
            self.pack.names(k)[n]: like(rng, c.values[n], c.points) for k, c in enumerate(self.pack.cells) for n in c.by
        }
        self.modes = Modes(self.pack, self.seeds)

    def run(self) -> None:
        values = self.modes.compiled()
        self.values("compiled and NumPy", values)
        if not any(s is not None for s in self.seeds):
            return
        ahead, gradients = self.modes.reverse()
        self.values("vjp's value and NumPy", ahead)
        self.by_name = dict(zip(self.pack.moved, gradients, strict=True))
        for ways in self.directions():
            beside, dots = self.modes.forward(ways)
            self.values("jvp's value and NumPy", beside)
            self.slopes(ways, dots)
        if self.second:
            for ways in self.directions():
                self.curvatures(ways)

    def directions(self) -> Iterator[dict[str, np.ndarray]]:
        """All operands at once; for special points each of them alone."""
        if not self.pack.cells[0].points:
            yield self.ways
            return
        for letter in sorted({p.partition("_")[0] for p in self.ways}):
            yield {p: w for p, w in self.ways.items() if p.startswith(f"{letter}_")}

    def cells(self) -> Iterator[tuple[int, Cell, dict[str, str], list[int]]]:
        """Cells with a derivative: number, names of the moved operands, and positions of the smooth results."""
        for k, cell in enumerate(self.pack.cells):
            slots = [i for i, (owner, _) in enumerate(self.pack.slots) if owner == k and self.seeds[i] is not None]
            names = {n: self.pack.names(k)[n] for n in cell.by}
            if slots and names:
                yield k, cell, names, slots

    def values(self, mode: str, found: list) -> None:
        for (k, j), value in zip(self.pack.slots, found, strict=True):
            cell = self.pack.cells[k]
            wanted, value = cell.wanted[j], np.asarray(value)
            if value.dtype != wanted.dtype:
                self.tally.found.append(Finding(cell, mode, f"dtype {value.dtype}, not {wanted.dtype}"))
            inputs = [v.dtype for v in cell.values.values()]
            relative = tolerance(*inputs, value.dtype, wanted.dtype) / 10
            self.tally.compare(cell, mode, value, wanted, relative, cell.line.rounds * relative / 1e2)

    def slopes(self, ways: dict[str, np.ndarray], dots: list) -> None:
        for _, cell, names, slots in self.cells():
            if cell.points:
                self.special_slopes(cell, names, ways, dots[slots[0]])
                continue
            relative = tolerance(*(v.dtype for v in cell.values.values()), *(w.dtype for w in cell.wanted))
            wanted = references.gradients(cell, [references.wide(self.seeds[i]) for i in slots])
            for n, name in names.items():
                found = self.by_name[name]
                if found.dtype != cell.values[n].dtype:
                    self.tally.found.append(Finding(cell, f"gradient by {n}", f"dtype {found.dtype}"))
                self.tally.compare(cell, f"reverse and differences by {n}", found, wanted[n], relative)
            along = references.tangents(cell, {n: references.wide(ways[name]) for n, name in names.items()})
            for i, dot in zip(slots, along, strict=True):
                self.tally.compare(cell, "forward and differences", dots[i], dot, relative)

    def special_slopes(self, cell: Cell, names: dict[str, str], ways: dict[str, np.ndarray], dots: np.ndarray) -> None:
        """At special points: each mode against the other, against mpmath, and at infinity against JAX."""
        relative = tolerance(*(v.dtype for v in cell.values.values()))
        least = cell.line.rounds * relative / 1e7
        theirs = references.jax_slopes(cell) if cell.form.dtype == "float64" and cell.line.beside else None
        valued = ~np.isnan(cell.wanted[0])
        for n in (n for n, name in names.items() if name in ways):
            found = np.asarray(self.by_name[names[n]])
            ahead = np.where(valued, dots.astype(found.dtype), found)  # of the operand's type, in which it may overflow
            self.tally.compare(cell, f"reverse and forward by {n}", found, ahead, relative, least)
            exact = references.exact_slopes(cell, n).astype(found.dtype)
            wanted = np.where(np.isfinite(exact), exact, found)
            self.tally.compare(cell, f"reverse and mpmath by {n}", found, wanted, relative, least)
            if theirs is not None:
                jax = theirs[cell.by.index(n)]
                at_infinity = np.isnan(exact) & valued & ~np.isnan(jax)
                wanted = np.where(at_infinity, jax, found)
                self.tally.compare(cell, f"reverse and JAX by {n}", found, wanted, relative)

    def curvatures(self, ways: dict[str, np.ndarray]) -> None:
        """Forward over reverse, reverse over reverse, forward over forward."""
        over_reverse = dict(zip(self.pack.moved, self.modes.forward_over_reverse(ways), strict=True))
        twice = dict(zip(self.pack.moved, self.modes.reverse_over_reverse(ways), strict=True))
        dots = self.modes.forward_over_forward(ways)
        special = self.pack.cells[0].points
        coarse = any(v.dtype.itemsize < 8 for c in self.pack.cells for v in c.values.values() if v.dtype.kind == "f")
        apart = None if special or coarse else dict(zip(self.pack.moved, self.modes.gradients_apart(ways), strict=True))
        for _, cell, names, slots in self.cells():
            relative = 10 * tolerance(*(v.dtype for v in cell.values.values()), *(w.dtype for w in cell.wanted))
            if special:
                for n, name in names.items():
                    found = np.asarray(over_reverse[name]), np.asarray(twice[name]), dots[slots[0]]
                    self.special_curvatures(cell, n, name in ways, *found, relative)
                continue
            for n, name in names.items():
                first, other = over_reverse[name], twice[name]
                self.tally.compare(cell, f"reverse and forward over reverse, {n}", other, first, relative)
                if apart is not None:
                    self.tally.compare(cell, f"forward over reverse and differences, {n}", first, apart[name], relative)
            left = sum(_product(self.seeds[i], dots[i]) for i in slots)
            right = sum(_product(ways[name], over_reverse[name]) for name in names.values())
            self.tally.compare(cell, "forward over forward and over reverse", left, right, relative)

    def special_curvatures(self, cell: Cell, n: str, moved: bool, found, twice, dots, relative: float) -> None:
        """At special points: of poles and kinks no two modes need know the same."""
        least = cell.line.rounds * 1e-15
        exact = references.exact_slopes(cell, n, 2)
        smooth = ~np.isinf(exact) & np.isfinite(found)
        self.tally.compare(
            cell, f"reverse and forward over reverse, {n}", np.where(smooth, twice, found), found, relative
        )
        if moved:
            mode = f"forward over forward and over reverse, {n}"
            self.tally.compare(cell, mode, np.where(smooth, dots, found), found, relative)
            wanted = np.where(np.isfinite(exact), exact, found)
            self.tally.compare(cell, f"forward over reverse and mpmath, {n}", found, wanted, relative, least)


def _product(a, b) -> float:
    return float(np.real(np.sum(np.conj(references.wide(np.asarray(a))) * references.wide(np.asarray(b)))))


def findings(pack: Pack, second: bool, tally: Tally) -> None:
    """Compare the modes of a pack; errors are findings of the cell that raises them."""

    def attempt(part: Pack) -> list:
        own = Tally()
        Check(part, own, second).run()
        return [own]

    def refuse(part: Pack, error: Exception) -> list:
        message = f"{type(error).__name__}: {' '.join(str(error).splitlines()[:4])}"
        return [Tally(found=[Finding(part.cells[0], "refused", message)])]

    for own in by_halves(pack, attempt, refuse):
        tally.compared += own.compared
        tally.found += own.found
