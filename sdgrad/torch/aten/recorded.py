"""Translate operations that are recorded as functions of NumPy and SciPy: matrices, special functions, selection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.onnx_ops.families.recorded import RECORDED
from sdgrad.onnx_ops.functions.special import SPECIAL
from sdgrad.torch.aten.elementwise import promoted
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Unsupported, Value


def several(g: Graph, function: str, count: int, *operands: Value, **options: Any) -> tuple[Value, ...]:
    """Return the first results of a function."""
    for x in operands:
        _ = x.numbers
    return g.ops(RECORDED, *operands, outputs=count, domain=OWN, function=function, options=json.dumps(options))


def one(g: Graph, function: str, *operands: Value, **options: Any) -> Value:
    """Return the result of a function."""
    return several(g, function, 1, *operands, **options)[0]


def _of_elements(name: str):
    def rule(g: Graph, out: Type, self: Any, other: Any = None) -> Value:
        given = (self,) if other is None else (self, other)
        return one(g, name, *(g.operand(x, out.dtype) for x in given))

    return rule


for _name in SPECIAL:
    for _overload in ("default", "Tensor", "Scalar", "other_scalar", "self_scalar"):
        RULES[f"{_name}.{_overload}"] = _of_elements(_name)


@aten("polygamma.default")
def _polygamma(g: Graph, out: Type, n: int, self: Value) -> Value:
    return one(g, "polygamma", g.cast(self, out.dtype), n=n)


@aten("ldexp.Tensor")
def _ldexp(g: Graph, out: Type, self: Value, other: Value) -> Value:
    return one(g, "ldexp", g.cast(self, out.dtype), g.cast(other, out.dtype))


# -- matrices
@aten("linalg_inv.default")
def _inv(g: Graph, out: Type, A: Value) -> Value:  # noqa: N803
    return one(g, "inv", A)


@aten("linalg_inv_ex.default")
def _inv_ex(g: Graph, out: Sequence[Type], A: Value, check_errors: bool = False) -> tuple[Value | None, ...]:  # noqa: N803
    return one(g, "inv", A), None


@aten("_linalg_det.default")
def _det(g: Graph, out: Sequence[Type], A: Value) -> tuple[Value | None, ...]:  # noqa: N803
    return one(g, "det", A), None, None


@aten("_linalg_slogdet.default")
def _slogdet(g: Graph, out: Sequence[Type], A: Value) -> tuple[Value | None, ...]:  # noqa: N803
    return *several(g, "slogdet", 2, A), None, None


@aten("linalg_matrix_exp.default")
def _matrix_exp(g: Graph, out: Type, self: Value) -> Value:
    return one(g, "matrix_exp", self)


@aten("linalg_cholesky.default")
def _cholesky(g: Graph, out: Type, self: Value, upper: bool = False) -> Value:
    return one(g, "cholesky", self, upper=upper)


@aten("linalg_cholesky_ex.default")
def _cholesky_ex(
    g: Graph, out: Sequence[Type], self: Value, upper: bool = False, check_errors: bool = False
) -> tuple[Value | None, ...]:
    return one(g, "cholesky", self, upper=upper), None


@aten("cholesky_inverse.default")
def _cholesky_inverse(g: Graph, out: Type, self: Value, upper: bool = False) -> Value:
    return one(g, "cholesky_inverse", self, upper=upper)


@aten("cholesky_solve.default")
def _cholesky_solve(g: Graph, out: Type, self: Value, input2: Value, upper: bool = False) -> Value:
    return one(g, "cholesky_solve", self, input2, upper=upper)


@aten("_linalg_eigh.default")
def _eigh(
    g: Graph,
    out: Sequence[Type],
    A: Value,  # noqa: N803
    UPLO: str = "L",  # noqa: N803
    compute_v: bool = True,
) -> tuple[Value | None, ...]:
    upper = UPLO.upper() == "U"
    return several(g, "eigh", 2, A, upper=upper) if compute_v else (one(g, "eigvalsh", A, upper=upper), None)


@aten("_linalg_svd.default")
def _svd(
    g: Graph,
    out: Sequence[Type],
    A: Value,  # noqa: N803
    full_matrices: bool = False,
    compute_uv: bool = True,
    driver: str | None = None,
) -> tuple[Value | None, ...]:
    if not compute_uv:
        return None, one(g, "svdvals", A), None
    return several(g, "svd", 3, A, full_matrices=full_matrices)


@aten("linalg_qr.default")
def _qr(g: Graph, out: Sequence[Type], A: Value, mode: str = "reduced") -> tuple[Value | None, ...]:  # noqa: N803
    if mode == "r":
        raise Unsupported("mode='r': use the second result of mode='reduced'")
    return several(g, "qr", 2, A, mode=mode)


@aten("linalg_lu.default")
def _lu(g: Graph, out: Sequence[Type], A: Value, pivot: bool = True) -> tuple[Value, ...]:  # noqa: N803
    if not pivot:
        raise Unsupported("pivot=False")
    return several(g, "lu", 3, A)


@aten("linalg_lu_factor.default")
def _lu_factor(g: Graph, out: Sequence[Type], A: Value, pivot: bool = True) -> tuple[Value, ...]:  # noqa: N803
    if not pivot:
        raise Unsupported("pivot=False")
    return several(g, "lu_factor", 2, A)


@aten("linalg_lu_solve.default")
def _lu_solve(
    g: Graph,
    out: Type,
    LU: Value,  # noqa: N803
    pivots: Value,
    B: Value,  # noqa: N803
    left: bool = True,
    adjoint: bool = False,
) -> Value:
    if LU.rank != 2 or B.rank != 2:
        raise Unsupported("factors or right sides of several matrices")
    return one(g, "lu_solve", LU, pivots, B, left=left, adjoint=adjoint)


@aten("linalg_solve.default")
def _solve(g: Graph, out: Type, A: Value, B: Value, left: bool = True) -> Value:  # noqa: N803
    return one(g, "solve", A, B, left=left)


@aten("_linalg_solve_ex.default")
def _solve_ex(
    g: Graph,
    out: Sequence[Type],
    A: Value,  # noqa: N803
    B: Value,  # noqa: N803
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Value | None, ...]:
    return one(g, "solve", A, B, left=left), None, None, None


@aten("linalg_solve_triangular.default")
def _solve_triangular(
    g: Graph,
    out: Type,
    self: Value,
    B: Value,  # noqa: N803
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Value:
    return one(g, "solve_triangular", self, B, upper=upper, left=left, unitriangular=unitriangular)


@aten("linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_tensor")
def _pinv(g: Graph, out: Type, self: Value, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Value:
    if atol or isinstance(rtol, Value):
        raise Unsupported("a tolerance of a pseudoinverse that is not rtol= and a number")
    return one(g, "pinv", self, rtol=rtol, hermitian=hermitian)


# -- selection
@aten("kthvalue.default")
def _kthvalue(
    g: Graph, out: Sequence[Type], self: Value, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Value, ...]:
    if not self.rank:
        return self, g.constant(0, torch.int64)
    return several(g, "kthvalue", 2, self, k=k, axis=self.axis(dim), keepdim=keepdim)


def _median(function: str):
    def rule(g: Graph, out: Sequence[Type], self: Value, dim: int, keepdim: bool = False) -> tuple[Value, ...]:
        if not self.rank:
            return self, g.constant(0, torch.int64)
        return several(g, function, 2, self, axis=self.axis(dim), keepdim=keepdim)

    return rule


def _running(function: str):
    def rule(g: Graph, out: Sequence[Type], self: Value, dim: int) -> tuple[Value, ...]:
        if not self.rank:
            return self, g.constant(0, torch.int64)
        return several(g, function, 2, self, axis=self.axis(dim))

    return rule


for _name in ("median", "nanmedian"):
    RULES[f"{_name}.dim"] = _median(_name)
    RULES[f"{_name}.default"] = lambda g, out, self, own=f"{_name}_of_all": one(g, own, self)
for _name in ("cummax", "cummin"):
    RULES[f"{_name}.default"] = _running(_name)


@aten("logcumsumexp.default")
def _logcumsumexp(g: Graph, out: Type, self: Value, dim: int) -> Value:
    return one(g, "logcumsumexp", self, axis=self.axis(dim)) if self.rank else self


@aten("sdgrad::ctc.default")
def _ctc(
    g: Graph, out: Type, scores: Value, labels: Value, widths: Value, counts: Value, blank: int, finite: bool
) -> Value:
    return one(g, "ctc", scores, labels, widths, counts, blank=blank, finite=finite)


@aten("signbit.default")
def _signbit(g: Graph, out: Type, self: Value) -> Value:
    return one(g, "signbit", self if self.dtype.is_floating_point else g.cast(self, torch.float64))


@aten("mode.default")
def _mode(g: Graph, out: Sequence[Type], self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    if not self.rank:
        return self, g.constant(0, torch.int64)
    return several(g, "mode", 2, self, axis=self.axis(dim), keepdim=keepdim)


@aten("histc.default")
def _histc(g: Graph, out: Type, self: Value, bins: int = 100, min: float = 0, max: float = 0) -> Value:  # noqa: A002
    return one(g, "histc", self, bins=bins, low=min, high=max)


@aten("masked_scatter.default")
def _masked_scatter(g: Graph, out: Type, self: Value, mask: Value, source: Value) -> Value:
    return one(g, "masked_scatter", self, mask, source)


@aten("searchsorted.Tensor", "searchsorted.Scalar")
def _searchsorted(
    g: Graph,
    out: Type,
    sorted_sequence: Value,
    self: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    edges = sorted_sequence
    if sorter is not None:
        edges = g.op("GatherElements", edges, sorter, axis=edges.rank - 1, like=edges)
    dtype = promoted(edges, self)
    edges, right = g.cast(edges, dtype), right or side == "right"
    if edges.rank == 1:
        return g.cast(one(g, "searchsorted", edges, g.operand(self, dtype), right=right), out.dtype)
    after = g.op("Less" if right else "LessOrEqual", g.unsqueeze(self, edges.rank), g.unsqueeze(edges, edges.rank - 1))
    before = Value(g.op("Not", after).name, (*out.shape, edges.shape[-1]), torch.bool)
    return g.cast(g.reduce("ReduceSum", g.cast(before, torch.int64), [-1], False), out.dtype)


@aten("bucketize.Tensor", "bucketize.Scalar")
def _bucketize(
    g: Graph, out: Type, self: Any, boundaries: Value, out_int32: bool = False, right: bool = False
) -> Value:
    return _searchsorted(g, out, boundaries, self, right=right)
