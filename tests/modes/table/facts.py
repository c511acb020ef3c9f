"""What is known of one function: whether it has a rule, a gradient, which orders are compared, what is refused."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sdgrad.record.dispatch import METHODS as UFUNC_METHODS
from sdgrad.record.functions.discrete_distributions import DISCRETE
from sdgrad.record.functions.scipy_stats import METHODS_OF_ALL, TABLE
from sdgrad.record.functions.table import METHODS

from ..cells import NAMES
from ..lines import Line
from ..operands import FLOATS, Form, drawn, letters_of
from ..plan import LINES
from ..registered import ELSEWHERE, OF_TEMPLATES, PLACES, WITHOUT_DERIVATIVES, names_of
from .notes import always_raises, notes_of, unknown_arguments
from .sections import CALLED_OTHERWISE, Section, has_rule, is_distribution

YES, VALUE, CONSTANTS = "yes", "value only", "constants only"
OF_ARRAYS = {*METHODS, "conj", "conjugate", "view"}
MOVED = {*FLOATS, *"abd"}
"""Letters of operands that have derivatives."""
STEP = 1e-6
FORMS = (Form(), Form("complex128"))


@dataclass(frozen=True)
class Facts:
    """A row of the page: ``gradient`` is empty where there is no rule."""

    name: str
    gradient: str = ""
    orders: str = ""
    notes: tuple[str, ...] = ()

    @property
    def here(self) -> bool:
        return bool(self.gradient)


# What calls give ---------------------------------------------------------------------------------------


@cache
def _calls() -> dict[str, list[Line]]:
    """The lines by the names that they call; methods have a point before their name."""
    found = defaultdict(list)
    for line in LINES:
        names = {*re.findall(r"[\w.]+", line.text), *(f".{m}" for m in re.findall(r"\.(\w+)\(", line.text))}
        for name in names:
            found[name].append(line)
    return found


def lines_of(names: list[str]) -> list[Line]:
    return [line for name in names for line in _calls().get(name, [])]


def _ways(tree: ast.expr, names: set[str]) -> Iterator[list[ast.expr]]:
    """The expressions around each use of a name, from the inside."""

    def walk(node: ast.AST, above: list) -> Iterator[list]:
        if isinstance(node, (ast.Attribute, ast.Name)):
            method = f".{node.attr}" if isinstance(node, ast.Attribute) else ""
            if ast.unparse(node) in names or method in names and not _is_module(node):
                yield [n for n in reversed(above) if isinstance(n, ast.expr)]
        for child in ast.iter_child_nodes(node):
            yield from walk(child, [*above, node])

    yield from walk(tree, [])


def _is_module(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in PLACES


def _numbers(value: Any) -> list[np.ndarray] | None:
    """The arrays of a result; None of what is none."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    arrays = [np.asarray(p) for p in parts if isinstance(p, (np.ndarray, np.generic, bool, int, float, complex))]
    return arrays if arrays and all(a.dtype.kind in "biufc" for a in arrays) else None


def _run(text: str, values: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    try:
        with np.errstate(all="ignore"):
            return _numbers(eval(text, NAMES, {n: np.copy(v)[()] for n, v in values.items()}))  # noqa: S307
    except Exception:  # noqa: BLE001 (a part of a line need not be a value of its own)
        return None


def _gradient_in(line: Line, names: set[str]) -> Iterator[str]:
    """What the value of each call in a line does if floating-point operands move."""
    domains = dict(zip(line.letters, line.domain, strict=True))
    for around in _ways(ast.parse(line.text, mode="eval").body, names):
        for form in FORMS:
            for text in map(ast.unparse, around):
                values = {n: drawn(n, form, domains.get(n)) for n in letters_of(text)}
                before = _run(text, values)
                if before is not None:
                    yield _moves(text, values, before)
                    break


def _moved(letter: str, value: np.ndarray) -> np.ndarray:
    by = np.random.default_rng(ord(letter)).uniform(0.5, 1.5, value.shape)
    return value + STEP * by * (1 + 1j if value.dtype.kind == "c" else 1)


def _moves(text: str, values: dict[str, np.ndarray], before: list[np.ndarray]) -> str:
    if not MOVED & set(values):
        return CONSTANTS
    after = _run(text, {n: _moved(n, v) if n in MOVED else v for n, v in values.items()}) or before
    smooth = [(a, b) for a, b in zip(after, before, strict=False) if b.dtype.kind in "fc" and a.shape == b.shape]
    return YES if any(not np.array_equal(a, b, equal_nan=True) for a, b in smooth) else VALUE


def gradient_of(lines: list[Line], names: list[str]) -> str:
    found = {g for line in lines for g in _gradient_in(line, set(names))}
    return next((g for g in (YES, VALUE, CONSTANTS) if g in found), VALUE)


# Rows --------------------------------------------------------------------------------------------------


def orders_of(lines: list[Line], gradient: str, unknown: dict[int, int]) -> str:
    """How often derivatives can be taken, and whether the second ones are compared with others."""
    if gradient != YES:
        return ""
    first = sorted(k for k, order in unknown.items() if order == 2)
    limited = f", first by argument {', '.join(map(str, first))}" if first else ""
    return f"any{limited}" if lines else "not compared"


def of_function(name: str, function: Any) -> Facts:
    """The row of a function of a module."""
    if is_distribution(function):
        return of_distribution(name, function)
    own = isinstance(function, type) and has_rule(vars(function).get("__call__"))
    template = isinstance(function, np.ufunc) and function in OF_TEMPLATES
    if not (has_rule(function) or template or own or name in CALLED_OTHERWISE):
        return Facts(name)
    if always_raises(function):
        return Facts(name, CONSTANTS if lines_of(names_of(function)) else "", notes=notes_of(function))
    if own and not has_rule(function):
        return Facts(name, YES, "any", ("made of known data",))
    names = names_of(function) if has_rule(function) or template else [f"np.{name}"]
    lines = lines_of(names)
    if not lines and set(names) & set(ELSEWHERE):
        gradient, orders = (VALUE, "") if names[0] in WITHOUT_DERIVATIVES else (YES, "any")
        return Facts(name, gradient, orders, (f"tested in `{ELSEWHERE[names[0]]}`", *notes_of(function)))
    gradient, unknown = gradient_of(lines, names), unknown_arguments(function)
    return Facts(name, gradient, orders_of(lines, gradient, unknown), notes_of(function, lines, unknown))


def of_method(name: str) -> Facts:
    """The row of a method of arrays."""
    if name not in OF_ARRAYS:
        return Facts(name)
    lines = lines_of([f".{name}"])
    gradient = gradient_of(lines, [f".{name}"])
    return Facts(name, gradient, orders_of(lines, gradient, {}), notes_of(None, rule=METHODS.get(name)))


def of_ufunc_method(name: str) -> Facts:
    """The row of a method of universal functions."""
    if name not in UFUNC_METHODS and name != "at":
        return Facts(name)
    ufuncs = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}
    texts = [t for t in _calls() if t.endswith(f".{name}") and t.split(".")[1] in ufuncs]
    lines = lines_of(texts)
    gradient = gradient_of(lines, texts)
    of = ", ".join(sorted({t.split(".")[1] for t in texts}))
    return Facts(name, gradient, orders_of(lines, gradient, {}), (f"compared for {of}",))


def of_distribution(name: str, dist: Any) -> Facts:
    """The row of a distribution: its functions are the notes."""
    formulas = TABLE.get(name)
    if formulas is None:
        own = [n for n in dir(type(dist)) if not n.startswith("_") and has_rule(getattr(type(dist), n))]
        registered = [] if hasattr(dist, "_parse_args") else own
    else:
        whole = name in DISCRETE
        registered = [
            n.replace("pdf", "pmf") if whole else n
            for n in METHODS_OF_ALL
            if formulas.get(n) is not None and not (whole and n in ("ppf", "isf"))
        ]
    return Facts(name, YES, "any", (", ".join(f"`{n}`" for n in registered),)) if registered else Facts(name)


def rows(section: Section) -> list[Facts]:
    """The rows of a section."""
    if section.module == "numpy.ufunc":
        return [of_ufunc_method(name) for name in section.members]
    if section.module == "numpy.ndarray":
        return [of_method(name) for name in section.members]
    return [of_function(name, function) for name, function in section.members.items()]
