"""Which lines run in which forms, and together in which programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from . import algebra, arrays, counting, elementwise, scipy_functions
from . import special as special_functions
from .cells import Cell, Pack, cell, evaluated
from .lines import Line
from .operands import LAYOUTS, Form, letters_of, moderate, special, special_few
from .references import crossed

LINES: tuple[Line, ...] = (
    *elementwise.LINES,
    *arrays.LINES,
    *algebra.LINES,
    *special_functions.LINES,
    *counting.LINES,
    *scipy_functions.LINES,
)
FORMS = (
    *(Form("float64", layout) for layout in LAYOUTS), Form("float32", "strided"), Form("float16", "reversed"),
    Form("complex128"), Form("complex64", "Fortran"), Form("int64"), Form("int32", "strided"), Form("uint8"),
    Form("bool"), Form("float32", "0-d"),
)  # fmt: skip
"""Types and layouts of operands."""
TWICE = {Form(), Form("complex128"), Form("float64", "reversed")}
POINTED = (("float64", False), ("float64", True), ("float32", False))
"""Types in which functions are looked at where they are special; the second time by second derivatives."""
SIZE = 12


def regular(lines: Iterable[Line], form: Form) -> Iterator[Cell]:
    """The cells of a form."""
    for line in lines:
        if form.layout == "0-d" and not line.elementwise and "s" not in line.text:
            continue
        if form.kind == "c" and re.search(r"\bmath\.", line.text):
            continue  # NumPy's complex numbers are real ones to it, with a warning
        if (found := cell(line, form)) is not None:
            yield found


def pointed(lines: Iterable[Line], dtype: str, twice: bool) -> Iterator[Cell]:
    """Element-wise functions at special points; those of Python's that raise errors there are left out."""
    for line in lines:
        if not line.elementwise or "math." in line.text or set(letters_of(line.text)) != set(line.letters):
            continue
        if twice and not line.twice:
            continue
        points = moderate if twice else special if len(line.domain) == 1 else special_few
        low, high = line.only
        chosen = np.array([p for p in points(dtype, line.edges, line.nan) if not (p < low or p > high)], dtype)
        columns = crossed([chosen] * len(line.domain))
        values = dict(zip(line.letters, columns, strict=True))
        if (found := evaluated(Cell(line, Form(dtype), line.text, values, points=True))) is not None:
            yield found


def packs(cells: Iterable[Cell], size: int = SIZE) -> Iterator[Pack]:
    """Programs of a few cells each."""
    waiting: list[Cell] = list(cells)
    for k in range(0, len(waiting), size):
        yield Pack(waiting[k : k + size])


def special_points(lines: Iterable[Line], dtype: str, twice: bool) -> list[Pack]:
    """Programs of functions with one and with two operands."""
    cells = list(pointed(lines, dtype, twice))
    groups = ([c for c in cells if len(c.values) == n] for n in (1, 2))
    return [p for group in groups for p in packs(group)]
