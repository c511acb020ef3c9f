"""Multiply sparse matrices by dense ones: calls of a library node, whose derivatives are calls of it again.

``y = A x`` has the cotangents ``A^H g`` of ``x``, and, of the data of A, the elements of ``g x^H`` at its places. Each
of these three is linear in both operands, and has the other two for derivatives. In the formulas, A has compressed rows
(``start``, ``at``), or lists of rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sdgrad.record.functions.matrix_calls import as_rule, with_rule
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.libraries.sparse import KINDS, SparseProduct


def _call(kind: str, vjp: Callable, shape: tuple, **operands: Any) -> Any:
    """Record a call of the node with a rule."""
    given = {n: array(x) for n, x in operands.items()}
    recorder: Any = next(iter(given.values())).recorder
    dtype, result = given["x"].dtype, KINDS[kind].result

    def make(own: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        takes, gives = ({f"_{n}": t for n, t in part.items()} for part in (own, made))
        recorder.call_into(SparseProduct(kind), takes, gives)

    tensors = {n: tensor_of(x) for n, x in given.items()}
    found = with_rule(f"sparse_{kind}", tensors, {result: (shape, dtype)}, vjp, make, {}, recorder)
    return recorder.array(found[0])


@as_rule
def _conj(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


# -- compressed
def _gather_vjp(data: Any, start: Any, at: Any, x: Any, grad_y: Any) -> Any:
    return sampled(start, at, grad_y, _conj(x), data.shape[0]), spread(_conj(data), start, at, grad_y, x.shape[0])


def _spread_vjp(data: Any, start: Any, at: Any, x: Any, grad_y: Any) -> Any:
    return sampled(start, at, _conj(x), grad_y, data.shape[0]), gather(_conj(data), start, at, grad_y)


def _sampled_vjp(start: Any, at: Any, g: Any, x: Any, grad_d: Any) -> Any:
    return gather(grad_d, start, at, _conj(x)), spread(grad_d, start, at, _conj(g), x.shape[0])


@as_rule
def gather(data: Any, start: Any, at: Any, x: Any) -> Any:
    """Return ``A x``."""
    rows = array(start).shape[0] - 1
    return _call("gather", _gather_vjp, (rows, *array(x).shape[1:]), data=data, start=start, at=at, x=x)


@as_rule
def spread(data: Any, start: Any, at: Any, x: Any, size: int) -> Any:
    """Return ``A^T x``, of as many rows as A has columns."""
    return _call("spread", _spread_vjp, (size, *array(x).shape[1:]), data=data, start=start, at=at, x=x)


@as_rule
def sampled(start: Any, at: Any, g: Any, x: Any, count: int) -> Any:
    """Return the elements of ``g x^T`` at the places of a matrix."""
    return _call("sampled", _sampled_vjp, (count,), start=start, at=at, g=g, x=x)


# -- lists
def _listed_vjp(data: Any, row: Any, column: Any, x: Any, grad_y: Any) -> Any:
    return sampled_listed(row, column, grad_y, _conj(x)), listed(_conj(data), column, row, grad_y, x.shape[0])


def _sampled_listed_vjp(row: Any, column: Any, g: Any, x: Any, grad_d: Any) -> Any:
    return listed(grad_d, row, column, _conj(x), g.shape[0]), listed(grad_d, column, row, _conj(g), x.shape[0])


@as_rule
def listed(data: Any, row: Any, column: Any, x: Any, size: int) -> Any:
    """Return ``A x``, of this many rows."""
    shape = (size, *array(x).shape[1:])
    return _call("listed", _listed_vjp, shape, data=data, row=row, column=column, x=x)


@as_rule
def sampled_listed(row: Any, column: Any, g: Any, x: Any) -> Any:
    """Return the elements of ``g x^T`` at places in lists."""
    return _call("sampled_listed", _sampled_listed_vjp, (array(row).shape[0],), row=row, column=column, g=g, x=x)
