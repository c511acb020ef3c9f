"""Read ``Einsum`` nodes as leaves; DaCe's own lowering ignores the strides of their operands."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from dace import subsets, symbolic

from sdgrad.errors import UnsupportedNode
from sdgrad.program.names import Names
from sdgrad.program.tree import Expr, Instr, Leaf, Let, Load, Param, Source, Store
from sdgrad.program.window import Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

ONE, ZERO = sympy.Integer(1), sympy.Integer(0)
Operand = tuple[Window, subsets.Range]


def einsum_leaf(
    text: str, alpha: object, inputs: Mapping[str, Operand], output: Operand, names: Names, source: Source
) -> Leaf:
    """Sum products of operands: ``out[..] = alpha * sum(a[..] * b[..] * ..)``, as one fresh reduction.

    Operands come in the order of their connectors' names.

    :raises UnsupportedNode: the text has an ellipsis, or another number of operands.
    """
    terms, result = text.replace(" ", "").split("->")
    letters = terms.split(",")
    operands = [inputs[c] for c in sorted(inputs)]
    if "." in text or len(letters) != len(operands):
        raise UnsupportedNode(f"einsum '{text}' of {len(operands)} operands")
    sizes: dict[str, Expr] = {}
    for term, (_, subset) in zip(letters, operands, strict=False):
        sizes.update(zip(term, map(sympy.sympify, subset.size()), strict=False))
    order = [*dict.fromkeys(result), *(c for c in sizes if c not in result)]
    params = {c: Param(names.fresh(f"i_{c}"), ZERO, sizes[c] - 1, ONE) for c in order}
    body: list[Instr] = []
    factors = []
    for term, (window, subset) in zip(letters, operands, strict=False):
        name = names.fresh(f"v_{window.container}")
        body.append(Load(name, window.container, _element(window, subset, [sym(params[c].name) for c in term])))
        factors.append(name)
    if not symbolic.equal_valued(1, alpha):
        factors.insert(0, f"({alpha})")
    value = names.fresh("v")
    body.append(Let(value, code.parse(" * ".join(factors))))
    window, subset = output
    index = _element(window, subset, [sym(params[c].name) for c in result])
    body.append(Store(window.container, index, value, "sum", None, True))
    return Leaf(tuple(params[c] for c in order), tuple(body), source)


def _element(window: Window, subset: subsets.Range, index: list[Expr]) -> tuple[Expr, ...]:
    """Return the subscript of a container for a subscript of the operand.

    The latter may leave out dimensions of size one.
    """
    ranges = subset.ranges
    if len(index) != len(ranges):
        wide = [d for d, (b, e, _) in enumerate(ranges) if b != e]
        if len(wide) != len(index):
            index = index or [ZERO] * len(ranges)
        else:
            remaining = iter(index)
            index = [next(remaining) if d in wide else ZERO for d in range(len(ranges))]
    return window.index(tuple(b + k * s for (b, _, s), k in zip(ranges, index, strict=False)))
