"""Linear systems and factorisations: calls of library nodes, whose derivatives are in ``backward_impls/linalg.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from dace.libraries.linalg import Cholesky, Inv, Solve

from sdgrad.record.elementwise import apply, common
from sdgrad.record.functions.creation import astype, copy
from sdgrad.record.functions.table import array, rule
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array


def _inexact(values: list[Array]) -> list[Array]:
    """Return matrices in one type, which holds results of divisions."""
    dtype = common(values)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    return [v if v.dtype == dtype else astype(v, dtype) for v in values]


def _square(a: Any, name: str) -> Array:
    (matrix,) = _inexact([array(a)])
    if matrix.ndim != 2 or matrix.tensor.shape[0] != matrix.tensor.shape[1]:
        raise ValueError(f"{name}: a must be a square matrix, not of shape {matrix.shape}")
    return matrix


def _memory(a: Array) -> Tensor:
    """Return a tensor of an array's content, as library nodes read it."""
    return copy(a).tensor if a.known is not None else a.tensor


@rule(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    matrix, right = _inexact([array(a), array(b)])
    if matrix.ndim != 2 or right.ndim not in (1, 2):
        raise ValueError("solve: a must be a matrix, and b a vector or a matrix")
    if matrix.tensor.shape[0] == 1:
        return apply(np.true_divide, [right, matrix[0, 0]])
    recorder = matrix.recorder
    source = _memory(right)
    # the node refuses a single column, so it solves for two
    single = right.ndim == 1 or right.tensor.shape[1] == 1
    if single:
        column = source
        shape = (right.tensor.shape[0], 2)
        source = recorder.compute(shape, right.dtype, lambda i, j: column[(i, 0)[: column.rank]])
    operands = {"_ain": _memory(matrix), "_bin": source}
    found = recorder.call(Solve("solve"), operands, "_bout", source.shape, matrix.dtype)
    if not single:
        return recorder.array(found)
    return recorder.array(recorder.copy(found.select(1, 0) if right.ndim == 1 else found.slice(1, 0, 1)))


@rule(np.linalg.inv)
def inv(a: Any) -> Any:
    matrix = _square(a, "inv")
    if matrix.tensor.shape[0] == 1:
        return apply(np.true_divide, [1, matrix])
    node = Inv("inv", overwrite_a=False, use_getri=True)
    recorder = matrix.recorder
    return recorder.array(recorder.call(node, {"_ain": _memory(matrix)}, "_aout", matrix.tensor.shape, matrix.dtype))


@rule(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    matrix = _square(a, "cholesky")
    if matrix.tensor.shape[0] == 1:
        return apply(np.sqrt, [matrix])
    recorder = matrix.recorder
    operands = {"_a": _memory(matrix)}
    found = recorder.call(Cholesky("cholesky", lower=True), operands, "_b", matrix.tensor.shape, matrix.dtype)
    result = recorder.array(found)
    if not upper:
        return result
    upper_one = result.transpose()
    return apply(np.conjugate, [upper_one]) if result.dtype.kind == "c" else upper_one
