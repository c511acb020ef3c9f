"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.record.complex_parts import apart
from sdgrad.record.elements import Element
from sdgrad.record.elementwise import apply, common, read
from sdgrad.record.functions.arguments import several, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.reductions import result, total
from sdgrad.record.functions.shapes import diagonal, moveaxis, ravel, reshape
from sdgrad.record.functions.table import array, fixed, operand, rule
from sdgrad.record.indexing import view
from sdgrad.record.values import RULES, Array

WHOLE = slice(None)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def kept_product(value: Any) -> Any:
    """Return a product, which a policy of checkpoints may keep."""
    kept = getattr(value, "recorder", None) and value.recorder.kept
    return kept.value(value) if kept else value


@rule(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any, /, *, dtype: Any = None) -> Any:
    a, b = array(x1), array(x2)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: operands need at least one axis; multiply by numbers with *")
    wanted = np.dtype(dtype) if dtype is not None else common([a, b])
    left, right = (tensor_of(astype(x, wanted, copy=False)) for x in (a, b))
    inner = (left.shape[-1], right.shape[-2] if right.rank > 1 else right.shape[0])
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit: {inner[0]} is not {inner[1]}")
    RULES.agree(a.recorder, inner[:1], inner[1:])
    return kept_product(result(a, a.recorder.matmul(left, right)))


@rule(np.dot, method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = operand(a), operand(b)
    if not np.ndim(x) or not np.ndim(y):
        return apply(np.multiply, [x, y])
    return matmul(x, y) if y.ndim <= 2 else tensordot(x, y, ([-1], [-2]))


@rule(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    x, y = operand(a), operand(b)
    if not np.ndim(x) or not np.ndim(y):
        return apply(np.multiply, [x, y])
    return tensordot(x, y, ([-1], [-1]))


@rule(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    return matmul(conjugate(ravel(a)), ravel(b))


def conjugate(value: Any) -> Array:
    """Return the conjugates of complex elements; real ones as they are."""
    a = array(value)
    return apply(np.conjugate, [a]) if a.dtype.kind == "c" else a


@rule(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    a, b = (moveaxis(x, axis, -1) for x in (x1, x2))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"vecdot: the summed dimensions have {a.shape[-1]} and {b.shape[-1]} elements")
    return total(apply(np.multiply, [conjugate(a), b]), -1, common([a, b]))


@rule(np.matvec)
def matvec(x1: Any, x2: Any, /) -> Any:
    return matmul(x1, array(x2)[..., None])[..., 0]


@rule(np.vecmat)
def vecmat(x1: Any, x2: Any, /) -> Any:
    return matmul(conjugate(array(x1))[..., None, :], x2)[..., 0, :]


@rule(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    first, second = (x if x.ndim == 1 else ravel(x) for x in map(array, (a, b)))
    return apply(np.multiply, [view(first, [WHOLE, None]), view(second, [None, WHOLE])])


@rule(np.linalg.outer)
def outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError("Input arrays must be one-dimensional")
    return outer(x1, x2)


@rule(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = array(a), array(b)
    if np.ndim(axes) == 0:
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([static_axis(k, x.ndim) for k in several(part)] for part, x in zip(axes, (a, b), strict=True))
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum: axes must name as many dimensions of a as of b")
    first = LETTERS[: a.ndim]
    second = list(LETTERS[a.ndim : a.ndim + b.ndim])
    for m, n in zip(left, right, strict=True):
        if a.tensor.shape[m] != b.tensor.shape[n]:
            raise ValueError("shape-mismatch for sum")
        second[n] = first[m]
    kept = [c for k, c in enumerate(first) if k not in left] + [c for k, c in enumerate(second) if k not in right]
    return einsum(f"{first},{''.join(second)}->{''.join(kept)}", a, b)


@rule(np.linalg.tensordot)
def tensordot_(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@rule(np.trace, method="trace")
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    return total(diagonal(a, offset, axis1, axis2), -1, dtype)


@rule(np.linalg.trace)
def trace_of_matrices(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@rule(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = array(a), array(b)
    rank = max(x.ndim, y.ndim)
    x, y = (view(v, [*[None] * (rank - v.ndim), *[WHOLE] * v.ndim]) for v in (x, y))
    first, second = ([p for _ in range(rank) for p in order] for order in ((WHOLE, None), (None, WHOLE)))
    found = apply(np.multiply, [view(x, first), view(y, second)])
    return reshape(found, [m * n for m, n in zip(x.shape, y.shape, strict=True)])


@rule(np.cross)
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError("cross: both arrays must have three elements along the axis of their vectors")
    pairs = [(x[..., k - 2], y[..., k - 1], x[..., k - 1], y[..., k - 2]) for k in range(3)]
    found = np.stack([p * q - r * s for p, q, r, s in pairs], axis=-1)
    return moveaxis(found, -1, axisc) if found.ndim > 1 else found


@rule(np.linalg.cross)
def cross_(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    return cross(x1, x2, axis=axis)


@rule(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """Multiply from the right if the last factor is a vector, else from the left."""
    factors = [array(a) for a in arrays]
    if len(factors) < 2:
        raise ValueError("Expecting at least two arrays.")
    if factors[-1].ndim == 1:
        return functools.reduce(lambda right, left: matmul(left, right), reversed(factors))
    return functools.reduce(matmul, factors)


# -- Einstein's sums
@rule(np.einsum)
def einsum(subscripts: Any, *operands: Any, dtype: Any = None) -> Any:
    if not isinstance(subscripts, str):
        subscripts, operands = _spelled((subscripts, *operands))
    arrays = [array(x) for x in operands]
    terms, wanted = _terms(subscripts.replace(" ", ""), arrays)
    own = np.dtype(dtype) if dtype is not None else common(arrays)
    extents = _extents(terms, arrays)
    while len(terms) > 2:  # two at a time: the letters that nothing else needs are summed early
        letters = {*wanted, *"".join(terms[2:])}
        between = "".join(c for c in dict.fromkeys(terms[0] + terms[1]) if c in letters)
        arrays[:2] = [array(_contracted(terms[:2], arrays[:2], between, extents, own))]
        terms[:2] = [between]
    return _contracted(terms, arrays, wanted, extents, own)


def _spelled(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return subscripts and operands of a call with lists of axes after the operands."""
    lists = [*given[1::2], given[-1]] if len(given) % 2 else given[1::2]
    terms = ["".join("..." if n is Ellipsis else LETTERS[fixed(n)] for n in axes) for axes in lists]
    arrow = f"->{terms.pop()}" if len(given) % 2 else ""
    return ",".join(terms) + arrow, given[: len(given) // 2 * 2 : 2]


@rule(np.einsum_path)
def einsum_path(subscripts: Any, *operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    if not isinstance(subscripts, str):
        subscripts, operands = _spelled((subscripts, *operands))
    shapes = [np.broadcast_to(0.0, array(x).shape) for x in operands]
    return np.einsum_path(subscripts, *shapes, optimize=optimize)


def _terms(text: str, arrays: Sequence[Array]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result; '...' stands for letters of its own."""
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {len(terms)} terms in {text!r}, and {len(arrays)} operands")
    spare = [c for c in LETTERS if c not in text]
    counts = [a.ndim - len(t.replace("...", "")) for t, a in zip(terms, arrays, strict=True)]
    most = max((n for t, n in zip(terms, counts, strict=True) if "..." in t), default=0)
    terms = [t.replace("...", "".join(spare[most - n : most])) for t, n in zip(terms, counts, strict=True)]
    if not arrow:
        letters = "".join(terms)
        wanted = "..." * ("..." in given) + "".join(sorted(c for c in set(given) - set(",.") if letters.count(c) == 1))
    wanted = wanted.replace("...", "".join(spare[:most]))
    known = set("".join(terms))
    if not all(c in LETTERS for c in (*known, *wanted)) or len(set(wanted)) < len(wanted) or not set(wanted) <= known:
        raise ValueError(f"einsum: invalid subscripts {text!r}")
    return terms, wanted


def _extents(terms: Sequence[str], arrays: Sequence[Array]) -> dict[str, Any]:
    """Return the extent of each letter."""
    extents: dict[str, Any] = {}
    for term, a in zip(terms, arrays, strict=True):
        if len(term) != a.ndim:
            raise ValueError(f"einsum: subscripts {term!r} for an operand of {a.ndim} dimensions")
        for c, n in zip(term, a.tensor.shape, strict=True):
            other = extents.get(c, 1)
            if isinstance(n, int) and isinstance(other, int) and n != other and 1 not in (n, other):
                raise ValueError(f"einsum: subscript {c!r} has the sizes {other} and {n}")
            extents[c] = n if other == 1 else other
    return extents


def _contracted(
    terms: Sequence[str], arrays: Sequence[Array], wanted: str, extents: dict[str, Any], dtype: np.dtype
) -> Any:
    """Return the sum of products over the letters that the result does not have."""
    recorder = arrays[0].recorder
    summed = [c for c in dict.fromkeys("".join(terms)) if c not in wanted]
    sources = [apart(recorder.content(a)) for a in arrays]
    shapes = [a.tensor.shape for a in arrays]

    def product(out: tuple, inner: tuple) -> Element:
        index = dict(zip(wanted, out, strict=True)) | dict(zip(summed, inner, strict=True))
        values = [
            read(recorder, source, tuple(0 if n == 1 else index[c] for c, n in zip(term, shape, strict=True)), dtype)
            for term, shape, source in zip(terms, shapes, sources, strict=True)
        ]
        return functools.reduce(lambda a, b: a * b, values)

    shape = [extents[c] for c in wanted]
    if summed:
        tensor = recorder.reduction(shape, [extents[c] for c in summed], product, "sum", dtype)
        return kept_product(result(arrays[0], tensor))
    return result(arrays[0], recorder.compute(shape, dtype, lambda *i: product(i, ())))
