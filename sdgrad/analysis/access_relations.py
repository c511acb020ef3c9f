"""Represent accesses as integer relations from instances of a node to elements of a container (isl, Verdoolaege 2010).

The load ``A[2 * i, j]`` in a nest ``i = 0 .. n - 1, j = 0 .. i`` has the relation ::

    [n] -> { [i, j] -> [e0, e1] : 0 <= i <= n - 1 and 0 <= j <= i and e0 = 2 i and e1 = j }

Affine subscripts and bounds are exact, with floor and modulus by constants. Any other subscript or bound is
over-approximated: it may have any value. ``Relation.exact`` is True if nothing was over-approximated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl
import sympy
from dace import symbolic

from sdgrad.program.tree import Expr, Leaf, Load, Loop, Param, Store, Value
from sdgrad.symbolic.expr import free_names, sym, to_expr


class NotAffine(Exception):
    """Report an expression that is not quasi-affine."""


@lru_cache(maxsize=65536)
def isl_text(expr: Expr) -> str:
    """Write an integer expression in isl's notation.

    :raises NotAffine: it is not affine, up to floor and modulus by positive constants.
    """
    if isinstance(expr, sympy.Integer):
        return str(int(expr))
    if isinstance(expr, sympy.Symbol):
        return f"v_{expr.name}"
    if isinstance(expr, sympy.Add):
        return "(" + " + ".join(isl_text(a) for a in expr.args) + ")"
    if isinstance(expr, sympy.Mul):
        return _scaled_text(expr)
    if isinstance(expr, (symbolic.int_floor, sympy.Mod)):
        return _divided_text(expr)
    raise NotAffine(expr)


def _scaled_text(expr: sympy.Mul) -> str:
    """Write the product of a constant and one other factor."""
    numbers = [a for a in expr.args if isinstance(a, sympy.Integer)]
    others = [a for a in expr.args if not isinstance(a, sympy.Integer)]
    if len(others) != 1:
        raise NotAffine(expr)
    return f"({int(sympy.prod(numbers))} * {isl_text(others[0])})"


def _divided_text(expr: Expr) -> str:
    """Write a floor division or a modulus by a positive constant."""
    numerator, denominator = expr.args
    if not isinstance(denominator, sympy.Integer) or denominator <= 0:
        raise NotAffine(expr)
    if isinstance(expr, sympy.Mod):
        return f"(({isl_text(numerator)}) mod {int(denominator)})"
    return f"floor(({isl_text(numerator)}) / {int(denominator)})"


@dataclass(frozen=True)
class Relation:
    """Hold the map ``{ instance -> element }`` of one access; ``exact`` if nothing was over-approximated."""

    map: isl.Map
    exact: bool

    @property
    def elements(self) -> isl.Set:
        """The elements that the instances touch."""
        return self.map.range()

    def __str__(self) -> str:
        return str(self.map)


def domain_constraint(p: Param) -> list[str]:
    """List the constraints on a parameter's values, given the parameters before it.

    :raises NotAffine: a bound is not affine, or the step is no number.
    """
    if not isinstance(p.step, sympy.Integer):
        raise NotAffine(p.step)
    step = int(p.step)
    lower, upper = (p.start, p.stop) if step > 0 else (p.stop, p.start)
    found = [f"{bound} <= v_{p.name}" for bound in _lower_bounds(lower)]
    found += [f"v_{p.name} <= {bound}" for bound in _upper_bounds(upper)]
    if abs(step) != 1:
        found.append(f"(v_{p.name} - {isl_text(p.start)}) mod {abs(step)} = 0")
    return found


def _lower_bounds(expr: Expr) -> list[str]:
    """Write the operands of a maximum as bounds of their own."""
    return [isl_text(e) for e in (expr.args if isinstance(expr, sympy.Max) else (expr,))]


def _upper_bounds(expr: Expr) -> list[str]:
    """Write the operands of a minimum as bounds of their own."""
    return [isl_text(e) for e in (expr.args if isinstance(expr, sympy.Min) else (expr,))]


def access_relation(
    index: Sequence[Expr], dims: Sequence[tuple[str, Param | None]], unknown: Set[str], rank: int, given: int = 0
) -> Relation:
    """Return ``{ [dims] -> [element] }`` of an index.

    A dimension without a parameter may have any value. So may a subscript that is not affine.

    :param unknown: names with values from data; a subscript or range that mentions one is not affine.
    :param given: the number of outer dimensions with ranges that may be inexact in an exact relation.
    """
    exact, constraints = True, []
    for k, (name, p) in enumerate(dims):
        try:
            if p is None or free_names(p.start, p.stop, p.step) & unknown:
                raise NotAffine(name)
            constraints += domain_constraint(p)
        except NotAffine:
            exact = exact and k < given
    for k in range(rank):
        try:
            if free_names(index[k]) & unknown:
                raise NotAffine(index[k])
            constraints.append(f"e{k} = {isl_text(index[k])}")
        except NotAffine:
            exact = False
    text = f"{{ [{', '.join(f'v_{n}' for n, _ in dims)}] -> [{', '.join(f'e{k}' for k in range(rank))}]"
    text += (" : " + " and ".join(constraints) if constraints else "") + " }"
    symbols = sorted(_names_in(constraints) - {f"v_{n}" for n, _ in dims})
    return Relation(_map_of(f"[{', '.join(symbols)}] -> {text}"), exact)


@lru_cache(maxsize=16384)
def _map_of(text: str) -> isl.Map:
    """Parse a map, once: nine of ten accesses are written as one before, and isl's maps do not change."""
    return isl.Map(text)


def relation(access: Load | Store, params: Sequence[Param], local: frozenset[str], rank: int) -> Relation:
    """Return the relation of one access in a nest; ``local`` are names with values from data."""
    found = access_relation(access.index, [(p.name, p) for p in params], local, rank)
    return Relation(found.map, found.exact and access.guard is None)


def _names_in(constraints: Iterable[str]) -> set[str]:
    """Collect the variables that constraints mention."""
    return {t for c in constraints for t in re.findall(r"v_\w+", c)}


def leaf_relation(access: Load | Store, leaf: Leaf, rank: int, outer: Sequence[Param] = ()) -> Relation:
    """Return the relation of an access of a leaf, over the parameters of the enclosing loops and its own."""
    local = leaf.defined
    return relation(access, (*outer, *leaf.params), local, rank)


def value_expr(value: Value | None) -> Expr | None:
    """Return a control value as an index expression; None if it is read from data."""
    return None if value is None or value.loads else to_expr(ast.unparse(value.expr))


def loop_param(loop: Loop) -> Param | None:
    """Return a loop's variable as a parameter; None if a bound or the step is read from data."""
    start, stop, step = (value_expr(v) for v in (loop.start, loop.stop, loop.step))
    return None if start is None or stop is None or step is None else Param(loop.symbol, start, stop, step)


def injective(access: Load | Store, leaf: Leaf, rank: int, params: Sequence[Param] | None = None) -> bool:
    """True if no two instances of a leaf touch the same element through one access; False if unknown."""
    params = leaf.params if params is None else params
    if _alone(access, params):
        return True
    if access.index_names & leaf.defined:
        return not params
    if not params:
        return True
    rel = relation(Load("x", access.container, access.index), params, frozenset(), rank)
    # an empty relation is injective, too, but callers conclude that the access writes
    return rel.exact and bool(rel.map.is_injective()) and not rel.map.is_empty()


def apart(first: Load | Store, second: Load | Store, leaf: Leaf) -> bool:
    """True if no two different instances of a leaf touch one element, one by each access; False if unknown."""
    if free_names(*first.index, *second.index) & leaf.defined:
        return False
    return apart_over(Inside(first), Inside(second), leaf.params)


@dataclass(frozen=True)
class Inside:
    """Place an access inside of a nest: with inner dimensions, and with names that may have any value.

    A dimension without a parameter may have any value, too.
    """

    access: Load | Store
    dims: tuple[tuple[str, Param | None], ...] = ()
    unknown: Set[str] = frozenset()

    def elements(self, params: Sequence[Param]) -> isl.Map:
        """Return ``{ [params] -> [element] }``, or a superset of it."""
        own = [(p.name, p) for p in params]
        found = access_relation(self.access.index, [*own, *self.dims], self.unknown, len(self.access.index)).map
        return found.project_out(isl.dim_type.in_, len(own), len(self.dims))


def apart_over(first: Inside, second: Inside, params: Sequence[Param]) -> bool:
    """True if instances that differ in ``params`` touch different elements, one by each access; False if unknown."""
    if first.access.container != second.access.container:
        return False
    pairs = first.elements(params).apply_range(second.elements(params).reverse())
    return bool(pairs.is_subset(isl.Map.identity(pairs.get_space())))


def distinct_over(access: Load | Store, params: Sequence[Param], inner: Sequence[Param], local: frozenset[str]) -> bool:
    """True if instances that differ in ``params`` touch different elements by one access; False if unknown.

    :param inner: parameters of inner nests.
    :param local: names with values from data.
    """
    if _alone(access, params, local.union(p.name for p in inner)):
        return True
    plain = Load("x", access.container, access.index)
    rel = relation(plain, (*params, *inner), local, len(access.index))
    if not rel.exact:
        return False
    return bool(rel.map.project_out(isl.dim_type.in_, len(params), len(inner)).is_injective())


def _alone(access: Load | Store, params: Sequence[Param], others: Set[str] = frozenset()) -> bool:
    """True if every parameter is the only one in some subscript, with coefficient 1: a cheap test for injectivity.

    :param others: other names with values that differ between instances.
    """
    names = {p.name for p in params}
    alone = set()
    for expr in access.index:
        found = free_names(expr) & (names | others)
        if len(found) == 1 and found <= names:
            (name,) = found
            if expr == sym(name) or not free_names(expr - sym(name)) & names:
                alone.add(name)
    return alone == names


def covers(access: Store, leaf: Leaf, shape: Sequence[Expr]) -> bool:
    """True if a store writes every element of its container; False if unknown."""
    if access.guard is not None:
        return False
    if _covers_by_position(access, leaf, shape):
        return True
    rel = leaf_relation(access, leaf, len(shape))
    whole = all_elements(shape) if rel.exact else None
    return whole is not None and bool(whole.is_subset(rel.elements))


def partition(stores: Sequence[Store], leaf: Leaf, shape: Sequence[Expr]) -> bool:
    """True if stores write every element of a container exactly once; False if unknown."""
    if any(s.guard is not None or not injective(s, leaf, len(shape)) for s in stores):
        return False
    if len(stores) == 1:
        return covers(stores[0], leaf, shape)
    found, whole = [leaf_relation(s, leaf, len(shape)) for s in stores], all_elements(shape)
    if whole is None or not all(rel.exact for rel in found):
        return False
    together = found[0].elements
    for rel in found[1:]:
        if not together.intersect(rel.elements).is_empty():
            return False
        together = together.union(rel.elements)
    return bool(whole.is_subset(together))


def all_elements(shape: Sequence[Expr]) -> isl.Set | None:
    """Return the set of all indices of a container; None if an extent is not affine."""
    return _all_elements(tuple(shape))


@lru_cache(maxsize=4096)
def _all_elements(shape: tuple[Expr, ...]) -> isl.Set | None:
    try:
        box = " and ".join(f"0 <= e{k} < {isl_text(n)}" for k, n in enumerate(shape))
    except NotAffine:
        return None
    names = ", ".join(f"e{k}" for k in range(len(shape)))
    return isl.Set(f"[{', '.join(sorted(_names_in([box])))}] -> {{ [{names}] : {box} }}")


def _covers_by_position(access: Store, leaf: Leaf, shape: Sequence[Expr]) -> bool:
    """True if each subscript is a parameter of its own that runs over the whole extent: a cheap test for coverage."""
    params = {p.name: p for p in leaf.params}
    used = set()
    for expr, n in zip(access.index, shape, strict=False):
        if n == 1 and expr == 0:
            continue
        p = params.get(getattr(expr, "name", ""))
        if p is None or p.name in used or p.step != 1 or p.start != 0 or p.stop != n - 1:
            return False
        used.add(p.name)
    return all(not free_names(p.start, p.stop) & params.keys() for p in leaf.params)
