"""Tell DaCe that powers in sizes and subscripts are integers.

DaCe writes ``R ** i`` as a floating-point power, which C++ does not take for a subscript, unless it proves that the
exponent is not negative. What counts elements is an integer, so here no proof is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dace
import sympy
from dace import data as dt
from dace import nodes as nd
from dace import subsets, symbolic

from sdgrad.program.tree import Program


def has_powers(program: Program) -> bool:
    """True if sizes have powers with symbols in the exponent; then subscripts may have them as well."""
    extents = (n for c in program.containers.values() for n in c.shape if isinstance(n, sympy.Basic))
    return any(not p.exp.is_number for n in extents for p in n.atoms(sympy.Pow))


def integer_powers(expr: sympy.Expr) -> sympy.Expr:
    """Return an integer expression with powers of integers."""
    return expr.replace(sympy.Pow, _integer_power) if expr.has(sympy.Pow) else expr


def with_integer_powers(sdfg: dace.SDFG) -> None:
    """Write powers in sizes and subscripts as those of integers, in place."""
    _rewrite(sdfg, sympy.Pow, _integer_power)


def _integer_power(base: sympy.Expr, power: sympy.Expr) -> sympy.Expr:
    return base**power if power.is_number else symbolic.ipow(base, power)


def with_plain_powers(sdfg: dace.SDFG) -> None:
    """Write such powers as SymPy does, whose laws then hold, in place."""
    _rewrite(sdfg, symbolic.ipow, lambda base, power: base**power)


def _rewrite(sdfg: dace.SDFG, kind: type, new: Callable[[Any, Any], Any]) -> None:
    """Replace functions of one kind in what counts the elements of a graph's arrays."""

    def changed(value: Any) -> Any:
        return value.replace(kind, new) if isinstance(value, sympy.Basic) and value.has(kind) else value

    for graph in sdfg.all_sdfgs_recursive():
        for desc in graph.arrays.values():
            if isinstance(desc, dt.Array):
                desc.shape, desc.strides = tuple(map(changed, desc.shape)), tuple(map(changed, desc.strides))
                desc.offset, desc.total_size = tuple(map(changed, desc.offset)), changed(desc.total_size)
        for state in graph.states():
            for found in _ranges(state):
                found.ranges = [tuple(map(changed, dim)) for dim in found.ranges]
            for node in state.nodes():
                if isinstance(node, nd.NestedSDFG):
                    node.symbol_mapping = {n: changed(v) for n, v in node.symbol_mapping.items()}


def _ranges(state: dace.SDFGState) -> Iterator[subsets.Range]:
    """Yield the ranges of maps and memlets."""
    found = [s for e in state.edges() if e.data is not None for s in (e.data.subset, e.data.other_subset)]
    found += [n.map.range for n in state.nodes() if isinstance(n, nd.MapEntry)]
    yield from (s for s in found if isinstance(s, subsets.Range))
