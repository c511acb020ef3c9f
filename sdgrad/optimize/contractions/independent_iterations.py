"""Prove that the iterations of a loop are independent, sums aside: they may run in any order, and in strips."""

from __future__ import annotations

from collections.abc import Sequence

from sdgrad.analysis.access_relations import value_expr
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import Leaf, Load, Loop, Program, Store, SymbolAssign
from sdgrad.symbolic.expr import free_names, is_zero, sym


def symbols_first(loop: Loop, program: Program) -> bool:
    """True if a loop's body assigns each symbol once, before its use, from the loop's variable."""
    assigned: set[str] = set()
    seen: set[str] = set()
    for node in loop.body:
        if isinstance(node, SymbolAssign):
            expr = value_expr(node.value)
            if expr is None or free_names(expr) - assigned - {loop.symbol} or node.symbol in assigned | seen:
                return False
            assigned.add(node.symbol)
        else:
            seen |= used_symbols(node, program)
    return True


def independent_but_for_sums(name: str, leaves: Sequence[Leaf], symbol: str) -> bool:
    """True if no dependence through a container crosses iterations, sums aside.

    It is only read, only added to, or a dimension separates the iterations: all accesses have the same subscript in
    it, the loop's variable plus a number.
    """
    found = [x for leaf in leaves for x in leaf.accesses if x.container == name]
    stores = [x for x in found if isinstance(x, Store)]
    if not stores or len(stores) == len(found) and all(s.mode == "sum" and not s.fresh for s in stores):
        return True
    return any(_separates(dim, found, symbol) for dim in range(len(found[0].index)))


def _separates(dim: int, found: Sequence[Load | Store], symbol: str) -> bool:
    """True if all accesses have the same subscript in a dimension, the loop's variable plus a number."""
    first = found[0].index[dim]
    if not (first - sym(symbol)).is_number:
        return False
    return all(symbol in free_names(x.index[dim]) and is_zero(x.index[dim] - first) for x in found)
