"""Operands by letters, in each type, layout and size; and the points where functions are special."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

SIZES = {"normal": (3, 4, 2), "one": (1, 1, 1), "none": (0, 0, 0)}
"""What ``m``, ``n`` and ``k`` are."""
LAYOUTS = ("C", "Fortran", "strided", "reversed", "broadcast", "0-d", "one", "none")
POINTS = 6


@dataclass(frozen=True)
class Form:
    """A type of the floating-point operands, how they lie in memory, and how large they are."""

    dtype: str = "float64"
    layout: str = "C"
    seed: int = 1

    @property
    def sizes(self) -> tuple[int, int, int]:
        return SIZES.get(self.layout, SIZES["normal"])

    @property
    def kind(self) -> str:
        return np.dtype(self.dtype).kind


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], form: Form) -> np.ndarray:
    if form.kind == "b":
        return rng.random(shape) > 0.4
    if form.kind in "iu":
        return rng.integers(1 if form.kind == "u" else -5, 6, shape)
    found = rng.uniform(0.1, 2.0, shape) * rng.choice([-1, 1], shape)
    return found + 1j * rng.standard_normal(shape) if form.kind == "c" else found


def _definite(rng: np.random.Generator, shape: tuple[int, ...], form: Form) -> np.ndarray:
    square = _drawn(rng, shape, form)
    return square @ np.conj(np.swapaxes(square, -1, -2)) + 3 * np.eye(shape[-1], dtype=square.dtype)


def _regular(rng: np.random.Generator, shape: tuple[int, ...], form: Form) -> np.ndarray:
    return _drawn(rng, shape, form) + 5 * np.eye(shape[-1], dtype=int)


def _positive(rng: np.random.Generator, shape: tuple[int, ...], form: Form) -> np.ndarray:
    if form.kind in "iub":
        return rng.integers(1, 6, shape)
    return rng.uniform(0.2, 0.9, shape) + (1j * rng.uniform(0.2, 0.9, shape) if form.kind == "c" else 0)


def _ascending(rng: np.random.Generator, shape: tuple[int, ...], form: Form) -> np.ndarray:
    return np.cumsum(np.abs(_positive(rng, shape, form)), -1)


Draw = Callable[[np.random.Generator, tuple[int, ...], Form], np.ndarray]

FLOATS: dict[str, tuple[Callable[[int, int, int], tuple[int, ...]], Draw]] = {
    "A": (lambda m, n, k: (m, n), _drawn), "B": (lambda m, n, k: (m, n), _positive),
    "P": (lambda m, n, k: (n, k), _drawn), "S": (lambda m, n, k: (m, m), _definite),
    "M": (lambda m, n, k: (m, m), _regular), "T": (lambda m, n, k: (k, m, n), _drawn),
    "D": (lambda m, n, k: (k, m, m), _regular), "v": (lambda m, n, k: (n,), _drawn),
    "p": (lambda m, n, k: (n,), _positive), "w": (lambda m, n, k: (m,), _drawn), "u": (lambda m, n, k: (3,), _drawn),
    "x": (lambda m, n, k: (3,), _drawn), "c": (lambda m, n, k: (m, 1), _drawn), "r": (lambda m, n, k: (1, n), _drawn),
    "Y": (lambda m, n, k: (6,), _drawn), "O": (lambda m, n, k: (6,), _ascending),
    "Q": (lambda m, n, k: (6, 6), _regular), "s": (lambda m, n, k: (), _positive), "t": (lambda m, n, k: (), _positive),
}  # fmt: skip
"""Letters of floating-point operands: shapes and how they are drawn."""

WHOLES = {
    "I": (lambda m, n, k: (m, n), lambda rng, shape: rng.integers(-9, 9, shape)),
    "J": (lambda m, n, k: (m, n), lambda rng, shape: rng.integers(1, 9, shape).astype("i4")),
    "K": (lambda m, n, k: (m, n), lambda rng, shape: rng.random(shape) > 0.5),
    "o": (lambda m, n, k: (4,), lambda rng, shape: np.array([2, 0, 1, 2])),
    "H": (lambda m, n, k: (4,), lambda rng, shape: np.array([0, 1, 3, -2])),
    "i": (lambda m, n, k: (), lambda rng, shape: np.array(3)),
}  # fmt: skip
LETTERS = {*FLOATS, *WHOLES, *"abde"}


def letters_of(text: str) -> list[str]:
    """The operands that a text names."""
    names = {node.id for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)}
    return sorted(names & LETTERS)


@cache
def _tree(text: str) -> ast.Expression:
    return ast.parse(text, mode="eval")


def renamed(text: str, places: dict[str, str]) -> str:
    """The text with other names for its operands."""

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802
            return ast.Name(places.get(node.id, node.id), node.ctx)

    return ast.unparse(Rename().visit(ast.parse(text, mode="eval")))


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same content (but for ``broadcast``) with another layout in memory."""
    if not array.ndim:
        return array
    if layout == "Fortran":
        return np.asfortranarray(array)
    if layout == "strided":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "reversed":
        turned = (slice(None, None, -1),) * array.ndim
        return array[turned].copy()[turned]
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape)
    return array


def drawn(letter: str, form: Form, domain: tuple[float, float] | None = None) -> np.ndarray:
    """An operand; ``domain`` is that of an element-wise function."""
    rng = np.random.default_rng([form.seed, ord(letter)])
    if letter == "e":
        return rng.integers(-3, 3, _pointwise(form.layout))
    if letter in WHOLES:
        shape, draw = WHOLES[letter]
        return laid_out(draw(rng, shape(*form.sizes)), form.layout)
    if letter in "abd":
        return laid_out(_in_domain(rng, domain, form), form.layout)
    shape, draw = FLOATS[letter]
    return laid_out(draw(rng, shape(*form.sizes), form).astype(form.dtype), form.layout)


def _pointwise(layout: str) -> tuple[int, ...]:
    return {"0-d": (), "one": (1,), "none": (0,), "C": (POINTS,)}.get(layout, (2, 3))


def _in_domain(rng: np.random.Generator, domain: tuple[float, float], form: Form) -> np.ndarray:
    low, high = domain
    shape = _pointwise(form.layout)
    if form.kind == "b":
        return np.asarray(rng.random(shape) > 0.4) | np.asarray(low > 0)  # no division by zero
    if form.kind in "iu":
        low = max(low, 0) if form.kind == "u" else low
        return np.asarray(rng.integers(int(np.ceil(low)), max(int(high), int(np.ceil(low))) + 1, shape), form.dtype)
    found = rng.uniform(low, high, shape)
    return np.asarray(found + 1j * rng.uniform(-0.8, 0.8, shape) if form.kind == "c" else found, form.dtype)


TINY = {8: (1e-300, 1e-160, 1e-9), 4: (1e-37, 1e-20, 1e-5), 2: (1e-4, 1e-3)}
HUGE = {8: (1e160, 1e300), 4: (1e20, 1e37), 2: (3e3,)}


MODERATE = (0.5, 1.0, 2.0, 40.0)


def special(dtype: str, edges: tuple[float, ...] = (), nan: bool = True) -> np.ndarray:
    """Zeros, infinities, NaN, tiny and huge numbers, ones, and the edges of a domain."""
    width = np.dtype(dtype).itemsize
    positive = (*TINY[width], *MODERATE, *HUGE[width], np.inf)
    found = [0.0, *positive, *(-p for p in positive), *edges, *([np.nan] if nan else []), -0.0]
    return np.array(found, dtype)


def special_few(dtype: str, edges: tuple[float, ...] = (), nan: bool = True) -> np.ndarray:
    """As :func:`special`, for operands of several."""
    width = np.dtype(dtype).itemsize
    positive = (TINY[width][0], 0.5, 2.0, HUGE[width][-1], np.inf)
    found = [0.0, *positive, *(-p for p in positive), *edges, *([np.nan] if nan else [])]
    return np.array(found, dtype)


def moderate(dtype: str, edges: tuple[float, ...] = (), nan: bool = False) -> np.ndarray:
    """As :func:`special`, where second derivatives can be told apart from rounding."""
    return np.array([0.0, *MODERATE, *(-p for p in MODERATE), *edges], dtype)
