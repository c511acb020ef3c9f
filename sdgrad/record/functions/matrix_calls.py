"""Call library nodes of matrices, of one or of each of a stack, with rules in NumPy's terms.

Derivatives of every order follow from the rules. Cotangents of complex numbers are as everywhere here:
``df = Re(conj(g) dx)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sdgrad.config import config
from sdgrad.program.custom_rule import CustomRule
from sdgrad.record.custom import Variables
from sdgrad.record.elements import Element, call, element, where
from sdgrad.record.functions.linalg import adjoint
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import broadcast_to, reshape
from sdgrad.record.functions.table import rule
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import Array
from sdgrad.runtime.libraries.lapack import LapackCall
from sdgrad.runtime.libraries.triangular_solve import TriangularSolve

Parts = Mapping[str, tuple[Sequence[Any], Any]]  # results by name: shape and type
Some = Mapping[frozenset[str], Callable]  # rules by the results that a program reads


OVER_DIFFERENCES = ("eigh", "svd", "svd_full", "eig")  # kinds whose rules divide by differences of values
OF_RULES: set[Callable] = set()
"""Functions that only rules call."""


def as_rule(f: Callable) -> Callable:
    """Register a function that rules call as its own rule."""
    OF_RULES.add(f)
    return rule(f)(f)


def real_type(dtype: Any) -> np.dtype:
    """Return the type of moduli."""
    return np.empty(0, dtype).real.dtype


def complex_type(dtype: Any) -> np.dtype:
    """Return the complex type of the same precision."""
    return np.result_type(dtype, np.complex64)


# -- calls
def with_rule(
    name: str, operands: Mapping[str, Tensor], parts: Parts, vjp: Callable, make: Callable, some: Some, recorder: Any
) -> list[Tensor]:
    """Record a function of matrices with a rule.

    :param vjp: the rule; None for values without a derivative.
    :param make: records what computes the results, from operands and results by name.
    """
    made = {n: recorder.declare(n, shape, dtype) for n, (shape, dtype) in parts.items()}
    block: list[Any] = []
    variables = Variables(recorder)
    own = {n: recorder.copy(x) for n, x in operands.items()}
    with recorder.inside(block):
        make(own, made)
    for n, tensor in {**own, **made}.items():
        variables.operands[n] = variables.operand(tensor, False)
    custom = CustomRule(name, (*own,), vjp=vjp, results=(*made,), of_some=some)
    recorder.append(variables.call(custom, block))
    return [*made.values()]


def _without_rule(given: Mapping[str, Tensor], parts: Parts, compute: Callable, recorder: Any) -> list[Tensor]:
    """Return results that have no derivative."""
    made = {n: recorder.declare(n, shape, dtype) for n, (shape, dtype) in parts.items()}
    compute(given, made)
    return list(made.values())


def of_each(
    kind: str,
    operands: Mapping[str, Array],
    parts: Parts,
    vjp: Callable | None,
    some: Some | None = None,
    make: Callable | None = None,
    numbers: Sequence[int] = (),
    told: str = "",
) -> list[Array]:
    """Return the results of a function of matrices, of each of stacks of them; the stacks are broadcast.

    :param make: records what computes the results, in place of a call of LAPACK.
    :param told: why it has no derivative.
    """
    recorder: Any = next(iter(operands.values())).recorder
    if kind in OVER_DIFFERENCES:  # a program is another one where the setting is
        recorder.reads.add(config, "eigenvalue_broadening", "attribute", config.eigenvalue_broadening)

    def compute(*parts: Mapping[str, Tensor]) -> None:
        own = ({f"_{n}": x for n, x in part.items()} for part in parts)
        recorder.call_into(LapackCall(kind, numbers), *own, told)

    def one(given: Mapping[str, Tensor]) -> list[Tensor]:
        if vjp is None:
            return _without_rule(given, parts, compute, recorder)
        return with_rule(kind, given, parts, vjp, make or compute, some or {}, recorder)

    if all(x.ndim == 2 for x in operands.values()):
        return [recorder.array(x) for x in one({n: tensor_of(x) for n, x in operands.items()})]
    return _of_stacks(operands, parts, one, recorder)


def _of_stacks(operands: Mapping[str, Array], parts: Parts, one: Callable, recorder: Any) -> list[Array]:
    """Record a loop over stacks of matrices."""
    batch = broadcast_shape(*(x.tensor.shape[:-2] for x in operands.values()))
    count = math.prod(batch)
    wide = {
        n: tensor_of(reshape(broadcast_to(x, (*batch, *x.shape[-2:])), (count, *x.shape[-2:])))
        for n, x in operands.items()
    }
    found = [recorder.declare("t", (count, *shape), dtype) for shape, dtype in parts.values()]
    with recorder.loop(count) as k:
        for into, x in zip(found, one({n: x.select(0, k) for n, x in wide.items()}), strict=True):
            recorder.copy(x, into.select(0, k))
    return [reshape(recorder.array(x), (*batch, *x.shape[1:])) for x in found]


@as_rule
def over_adjoint(b: Any, r: Any) -> Any:
    """Return ``b r^-H`` for an upper triangular matrix."""
    if r.tensor.shape[-1] == 1:
        return b / adjoint(r)
    operands = {"_a": tensor_of(adjoint(r)), "_b": tensor_of(b)}
    found = b.recorder.call(TriangularSolve("solve_triangular", side="right"), operands, "_x", b.tensor.shape, b.dtype)
    return b.recorder.array(found)


# -- parts of matrices. What rules call is computed by element: a constant matrix, as a mask, would be an argument of
# theirs.
conjugate_transpose = as_rule(adjoint)


def _by_element(g: Any, at: Callable) -> Any:
    """Return matrices by element: from whether it is on the diagonal, or above, itself, its mirror image, its place."""
    matrix, recorder = tensor_of(g), g.recorder

    def value(*place: Any) -> Element:
        *stack, i, j = place
        row, column = element(i, np.int64), element(j, np.int64)
        return at(row.equals(column), row < column, matrix[place], lambda: matrix[(*stack, j, i)], i, j)

    return recorder.array(recorder.compute(matrix.shape, matrix.dtype, value))


def _conj(x: Element) -> Element:
    return call("conj", x) if x.dtype.kind == "c" else x


def _real(x: Element) -> Element:
    return call("real", x, dtype=real_type(x.dtype)).astype(x.dtype) if x.dtype.kind == "c" else x


def _over(x: Element, d: Element, here: Element) -> Element:
    """Return a quotient off the diagonal; ``config.eigenvalue_broadening`` keeps it finite (Liao et al. 2019)."""
    if config.eigenvalue_broadening == 0.0:
        return x / where(here, 1, d)
    square = d * d if d.dtype.kind == "f" else call("abs", d, dtype=real_type(d.dtype)) ** 2
    return x * _conj(d) / (square + config.eigenvalue_broadening)


@as_rule
def over_differences(w: Any, inner: Any) -> Any:
    """Return ``(inner - inner^H)[i, j] / (w[j] - w[i])``, zero on the diagonal; where values are equal, no number."""
    values = tensor_of(w)
    return _by_element(
        inner,
        lambda here, above, own, mirrored, i, j: where(
            here, 0, _over(own - _conj(mirrored()), values[j] - values[i], here)
        ),
    )


@as_rule
def over_values(w: Any, inner: Any, diagonal: Any) -> Any:
    """Return ``inner[i, j] / conj(w[j] - w[i])``, with this diagonal; where values are equal, no number."""
    values, d = tensor_of(w), tensor_of(diagonal)
    return _by_element(
        inner,
        lambda here, above, own, mirrored, i, j: where(
            here, d[i], _over(own, _conj(values[j]) - _conj(values[i]), here)
        ),
    )


@as_rule
def over_sums(s: Any, inner: Any) -> Any:
    """Return ``(inner - inner^H)[i, j] / (s[i] + s[j])``; the diagonal of a real matrix is zero."""
    values = tensor_of(s)
    is_real = inner.dtype.kind == "f"

    def value(here: Element, above: Element, own: Element, mirrored: Callable, i: Any, j: Any) -> Element:
        found = own - _conj(mirrored())
        if not is_real:
            return found / (values[i] + values[j])
        return where(here, 0, found / where(here, 1, values[i] + values[j]))

    return _by_element(inner, value)


@as_rule
def with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """Return a matrix with more on its diagonal."""
    d = tensor_of(diagonal)
    return _by_element(matrix, lambda here, above, own, mirrored, i, j: where(here, own + d[i], own))


@as_rule
def of_lower(g: Any) -> Any:
    """Return the gradient of a function that reads the lower triangle of a Hermitian matrix."""
    return _by_element(
        g,
        lambda here, above, own, mirrored, i, j: where(here, _real(own), where(above, 0, own + _conj(mirrored()))),
    )


@as_rule
def copied_below(g: Any) -> Any:
    """Return the Hermitian matrix with this lower triangle."""
    return _by_element(
        g, lambda here, above, own, mirrored, i, j: where(here, _real(own), where(above, _conj(mirrored()), own))
    )


@as_rule
def symmetric_below(g: Any) -> Any:
    """Return the symmetric matrix with this lower triangle."""
    return _by_element(g, lambda here, above, own, mirrored, i, j: where(above, mirrored(), own))


@as_rule
def lower_part(m: Any) -> Any:
    """Return what is below the diagonal."""
    return _by_element(m, lambda here, above, own, mirrored, i, j: where(here | above, 0, own))


@as_rule
def upper_part(m: Any) -> Any:
    """Return what is on the diagonal and above."""
    return _by_element(m, lambda here, above, own, mirrored, i, j: where(here | above, own, 0))


@as_rule
def ones_below(m: Any) -> Any:
    """Return what is above the diagonal, and ones elsewhere."""
    return _by_element(m, lambda here, above, own, mirrored, i, j: where(above, own, 1))


@as_rule
def plus_one(m: Any) -> Any:
    """Return ``1 + m``."""
    return _by_element(m, lambda here, above, own, mirrored, i, j: where(here, own + 1, own))


@as_rule
def with_ones(m: Any) -> Any:
    """Return a matrix with ones on its diagonal."""
    return _by_element(m, lambda here, above, own, mirrored, i, j: where(here, 1, own))
