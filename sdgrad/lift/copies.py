"""Read copies and ``Reduce`` nodes as leaves."""

from __future__ import annotations

import ast
from itertools import accumulate
from operator import mul

import dace
import sympy
from dace import dtypes, subsets, symbolic
from dace.frontend.operations import detect_reduction_type

from sdgrad.errors import UnsupportedNode
from sdgrad.program.names import Names
from sdgrad.program.reductions import is_identity
from sdgrad.program.tree import Container, Leaf, Let, Load, Param, Source, Store
from sdgrad.program.window import Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, sym, total

ONE, ZERO = sympy.Integer(1), sympy.Integer(0)

MODES = {
    dtypes.ReductionType.Sum: "sum",
    dtypes.ReductionType.Product: "prod",
    dtypes.ReductionType.Min: "min",
    dtypes.ReductionType.Max: "max",
    dtypes.ReductionType.Logical_And: "and",
    dtypes.ReductionType.Logical_Or: "or",
    dtypes.ReductionType.Bitwise_And: "bitand",
    dtypes.ReductionType.Bitwise_Or: "bitor",
    dtypes.ReductionType.Bitwise_Xor: "bitxor",
    dtypes.ReductionType.Logical_Xor: "xor",
    dtypes.ReductionType.Sub: "sub",
    dtypes.ReductionType.Div: "div",
}


def mode_of(wcr: str | None) -> str:
    """Return the store mode of a write-conflict resolution; ``custom`` for an unknown function."""
    if wcr is None:
        return "set"
    known = MODES.get(detect_reduction_type(wcr))
    return known or _by_its_text(wcr)


def _by_its_text(wcr: str) -> str:
    """Return the mode of ``x - y``, ``x / y``, ``fmax(x, y)`` and ``fmin(x, y)``, which DaCe does not classify."""
    function = ast.parse(wcr.strip(), mode="eval").body
    while isinstance(function, ast.Expression):
        function = function.body
    if isinstance(function, ast.Lambda) and isinstance(function.body, ast.BinOp) and len(function.args.args) == 2:
        operands = [getattr(e, "id", None) for e in (function.body.left, function.body.right)]
        if operands == [a.arg for a in function.args.args]:
            return {ast.Sub: "sub", ast.Div: "div"}.get(type(function.body.op), "custom")
    if isinstance(function, ast.Lambda) and isinstance(function.body, ast.Call):
        return {"fmax": "max", "fmin": "min"}.get(getattr(function.body.func, "id", ""), "custom")
    return "custom"


def counts(subset: subsets.Range) -> list[Expr]:
    """Return the number of elements along each dimension of a subset, with one symbol for each name."""
    sizes = map(sympy.sympify, subset.size())  # DaCe's symbols of one name may differ in what they assume
    return [n.xreplace({s: sym(s.name) for s in n.free_symbols}) for n in sizes]


def copy_leaf(
    src: Container,
    src_subset: subsets.Range,
    dst: Container,
    dst_subset: subsets.Range,
    wcr: str | None,
    names: Names,
    source: Source,
) -> Leaf:
    """Copy ``dst[dst_subset] = src[src_subset]`` element by element, in row-major order of both.

    :raises UnsupportedNode: the subsets have different sizes.
    """
    src_n, dst_n = counts(src_subset), counts(dst_subset)
    wide = [n for n in dst_n if n != 1]
    if [n for n in src_n if n != 1] != wide and sympy.expand(total(src_n) - total(dst_n)) != 0:
        raise UnsupportedNode(f"a copy of {src.name}[{src_subset}] to {dst.name}[{dst_subset}], of another size")
    params = [Param(names.fresh(f"i{k}"), ZERO, n - 1, ONE) for k, n in enumerate(wide)]
    index = [sym(p.name) for p in params]
    read = _place(src_subset, index, wide)
    value = names.fresh(f"v_{src.name}")
    body = (Load(value, src.name, read), Store(dst.name, _place(dst_subset, index, wide), value, mode_of(wcr)))
    return Leaf(tuple(params), body, source)


def _place(subset: subsets.Range, index: list[Expr], wide: list[Expr]) -> tuple[Expr, ...]:
    """Return the subscript of a subset at a position of the iteration space ``wide``."""
    sizes = counts(subset)
    if [n for n in sizes if n != 1] == wide:
        remaining = iter(index)
        offsets = [next(remaining) if n != 1 else ZERO for n in sizes]
    else:
        offsets = _unflatten(_flatten(index, wide), sizes)
    return tuple(b + k * s for (b, _, s), k in zip(subset.ranges, offsets, strict=False))


def _flatten(index: list[Expr], sizes: list[Expr]) -> Expr:
    """Return the row-major position of a subscript."""
    linear: Expr = ZERO
    for k, n in zip(index, sizes, strict=False):
        linear = linear * n + k
    return linear


def _unflatten(linear: Expr, sizes: list[Expr]) -> list[Expr]:
    """Return the subscript at a row-major position."""
    strides = list(accumulate(reversed(sizes[1:]), mul, initial=ONE))[::-1]
    return [
        (symbolic.int_floor(linear, s) if s != 1 else linear) % n if n != 1 else ZERO
        for n, s in zip(sizes, strides, strict=False)
    ]


def reduce_leaves(
    src: Window,
    src_subset: subsets.Range,
    dst: Window,
    dst_subset: subsets.Range,
    dtype: dace.typeclass,
    axes: tuple[int, ...] | None,
    wcr: str,
    identity: object,
    names: Names,
    source: Source,
) -> list[Leaf]:
    """Read a ``Reduce`` node as an accumulating leaf.

    The leaf is fresh if the node starts from the identity of its operation. Another start value gets a leaf before it.
    """
    sizes = counts(src_subset)
    reduced = set(range(len(sizes))) if axes is None else {a % len(sizes) for a in axes}
    params = [Param(names.fresh(f"i{k}"), ZERO, n - 1, ONE) for k, n in enumerate(sizes)]
    outer = [p for k, p in enumerate(params) if k not in reduced]
    read = src.index(tuple(b + sym(p.name) * s for (b, _, s), p in zip(src_subset.ranges, params, strict=False)))
    kept = [n for k, n in enumerate(sizes) if k not in reduced]
    write = dst.index(_reduced_index(dst_subset, [sym(p.name) for p in outer], kept))
    value, mode = names.fresh(f"v_{src.container}"), mode_of(wcr)
    fresh = identity is not None and is_identity(mode, identity, dtype)
    leaves = []
    if identity is not None and not fresh:
        init = names.fresh("v_init")
        start = (Let(init, code.parse(str(identity))), Store(dst.container, write, init))
        leaves.append(Leaf(tuple(outer), start, source))
    body = (Load(value, src.container, read), Store(dst.container, write, value, mode, None, fresh))
    return [*leaves, Leaf(tuple(params), body, source)]


def _reduced_index(subset: subsets.Range, kept: list[Expr], sizes: list[Expr]) -> tuple[Expr, ...]:
    """Return the subscript of a reduction's output for the subscript ``kept`` of its input.

    :raises UnsupportedNode: their ranks differ by more than dimensions of size one.
    """
    ranges = subset.ranges
    if len(ranges) == len(kept):
        return tuple(b + k * s for (b, _, s), k in zip(ranges, kept, strict=False))
    wide = [d for d, n in enumerate(counts(subset)) if n != 1]
    moving = [k for k, n in zip(kept, sizes, strict=False) if n != 1]
    if len(wide) != len(moving):
        raise UnsupportedNode(f"a reduction whose output subset [{subset}] has another rank than what it keeps")
    index = [b for b, _, _ in ranges]
    for d, k in zip(wide, moving, strict=False):
        index[d] = index[d] + k * ranges[d][2]
    return tuple(index)
