"""One call with its operands, run by NumPy; and several of them as the text of one program."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import sdgrad

from .lines import Line
from .operands import Form, drawn, letters_of, renamed

HEAD = """\
import cmath
import math

import numpy as np
import scipy.fft as fft
import scipy.linalg as linalg
import scipy.integrate as integrate
import scipy.interpolate as interpolate
import scipy.ndimage as ndimage
import scipy.optimize as optimize
import scipy.signal as signal
import scipy.spatial.distance as distance
import scipy.special as special
import scipy.stats as stats

import sdgrad


def each(function, a):
    found = np.zeros(len(a))
    for k in range(len(a)):
        found[k] = function(a[k])
    return found


def pairs(function, a, b):
    found = np.zeros(len(a))
    for k in range(len(a)):
        found[k] = function(a[k], b[k])
    return found


def masked(a, m):
    b = np.copy(a)
    b[~m] = 0.0
    return b


def arms(m, a):
    found = np.zeros(len(m))
    for k in range(len(m)):
        if m[k]:
            found[k] = a[k]
    return found


def written(function, a, *more, **named):
    b = np.copy(a)
    function(b, *more, **named)
    return b
"""

NAMES: dict[str, Any] = {
    "np": np, "math": math, "cmath": cmath, "fft": scipy.fft, "linalg": scipy.linalg, "special": scipy.special,
    "stats": scipy.stats, "interpolate": scipy.interpolate, "signal": scipy.signal, "ndimage": scipy.ndimage,
    "distance": scipy.spatial.distance, "integrate": scipy.integrate,
    "optimize": scipy.optimize, "sdgrad": sdgrad,
}  # fmt: skip
exec(HEAD, NAMES)  # noqa: S102 (the same helpers for NumPy)


@dataclass
class Cell:
    """One expression of a line and its operands; ``by`` are those to differentiate by."""

    line: Line
    form: Form
    text: str
    values: dict[str, np.ndarray]
    points: bool = False
    parts: list[str] = field(default_factory=list)
    wanted: list[np.ndarray] = field(default_factory=list)

    @property
    def by(self) -> list[str]:
        return [n for n, v in self.values.items() if v.dtype.kind in "fc"]

    @property
    def smooth(self) -> list[int]:
        """Positions of the results that can have a derivative."""
        return [k for k, w in enumerate(self.wanted) if w.dtype.kind in "fc"]

    @property
    def name(self) -> str:
        return f"{self.line.text} [{self.form.dtype} {self.form.layout}{' special' if self.points else ''}]"

    def run(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        """NumPy's results."""
        with np.errstate(all="ignore"):
            found = eval(self.text, NAMES, {n: np.copy(v, order="K")[()] for n, v in values.items()})  # noqa: S307
        return [np.asarray(f) for f in (found if isinstance(found, (tuple, list)) else [found])]


def cell(line: Line, form: Form) -> Cell | None:
    """A line's call in a form; None where NumPy has no value or nothing changes with the form."""
    domains = dict(zip(line.letters, line.domain, strict=True))
    values = {n: drawn(n, form, domains.get(n)) for n in letters_of(line.text)}
    return evaluated(Cell(line, form, line.text, values))


def evaluated(made: Cell) -> Cell | None:
    """A cell with NumPy's values; None where it raises an error, or gives none."""
    try:
        made.wanted = made.run(made.values)
    except Exception:  # noqa: BLE001 (whatever NumPy refuses)
        return None
    several = len(made.wanted) > 1 or isinstance(eval(made.text, NAMES, dict(made.values)), (tuple, list))  # noqa: S307
    made.parts = [f"[{k}]" for k in range(len(made.wanted))] if several else [""]
    numeric = all(w.dtype.kind in "biufc" for w in made.wanted)
    return made if numeric and made.wanted and made.values else None


@dataclass
class Pack:
    """Cells as one program."""

    cells: Sequence[Cell]

    def names(self, k: int) -> dict[str, str]:
        return {n: f"{n}_{k}" for n in self.cells[k].values}

    @property
    def parameters(self) -> list[str]:
        return [p for k in range(len(self.cells)) for p in self.names(k).values()]

    @property
    def moved(self) -> list[str]:
        """The parameters to differentiate by."""
        return [self.names(k)[n] for k, c in enumerate(self.cells) for n in c.by]

    @property
    def slots(self) -> list[tuple[int, int]]:
        """The cell and the part of each result."""
        return [(k, j) for k, c in enumerate(self.cells) for j in range(len(c.parts))]

    def arguments(self) -> list[np.ndarray]:
        return [v for c in self.cells for v in c.values.values()]

    def text(self) -> str:
        """The program, its gradient by a pullback, and its derivative in a direction."""
        lines, results = [], []
        for k, c in enumerate(self.cells):
            lines.append(f"    e{k} = {renamed(c.text, self.names(k))}")
            results += [f"e{k}{part}" for part in c.parts]
        given = ", ".join(self.parameters)
        seeds = [f"seed{i}" if j in self.cells[k].smooth else "None" for i, (k, j) in enumerate(self.slots)]
        taken = ", ".join(s for s in seeds if s != "None")
        ways = [f"way_{p}" if p in self.moved else "None" for p in self.parameters]
        positions = [self.parameters.index(p) for p in self.moved]
        program = [f"{HEAD}\n\ndef program({given}):", *lines, f"    return ({', '.join(results)},)", ""]
        if not taken or not positions:
            return "\n".join(program)
        return "\n".join([
            *program, f"\ndef gradient({given}, {taken}):", f"    _, pullback = sdgrad.vjp(program, {given})",
            f"    found = pullback({', '.join(seeds)})",
            f"    return ({', '.join(f'found[{p}]' for p in positions)},)", "",
            f"\ndef direction({given}, {', '.join(w for w in ways if w != 'None')}):",
            f"    return sdgrad.jvp(program, ({given},), ({', '.join(ways)},))[1]", "",
        ])  # fmt: skip
