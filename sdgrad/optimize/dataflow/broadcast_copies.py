"""Describe arrays that are broadcast copies of smaller ones, wholly or in part, and let leaves read the originals.

The cotangent of a symmetric matrix's sum is one number in each element. That of the lower triangle is added to that of
the upper one and set to zero, so that the matrix as a whole is not uniform. The upper triangle is, before and after.
A set of integer points (isl; Verdoolaege 2010) says which elements are copies.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import (
    NotAffine,
    access_relation,
    all_elements,
    apart,
    domain_constraint,
    injective,
    isl_text,
)
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Expr, Instr, Leaf, Let, Load, Param, Store
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, substitute

ONE = sympy.Integer(1)


@dataclass(frozen=True)
class Copy:
    """A container whose elements are copies of those of a smaller one.

    :param window: the smaller container, by subscripts of the target.
    :param part: the elements that are copies; None for all.
    """

    target: str
    window: Window
    part: isl.Set | None = None


def copied_elements(store: Store, leaf: Leaf, rank: int, assigned: Set[str]) -> isl.Set | None:
    """Return the elements that a store writes; None if they are not known exactly, or depend on assigned symbols."""
    found = _relation(store, leaf, rank, assigned)
    return found.elements if found.exact and store.guard is None else None


def holds_for(copy: Copy, leaf: Leaf, assigned: Set[str]) -> bool:
    """True if all elements of the target that a leaf reads are copies."""
    loads = [x for x in leaf.loads if x.container == copy.target]
    return copy.part is None or all(
        bool(_relation(x, leaf, len(x.index), assigned).elements.is_subset(copy.part)) for x in loads
    )


def left_of(copy: Copy, leaf: Leaf, shape: Sequence[Expr], assigned: Set[str]) -> Copy | None:
    """Return the copies that remain when a leaf has written to some elements; None if none do."""
    part = copy.part if copy.part is not None else all_elements(shape)
    for store in leaf.stores:
        if store.container == copy.target and part is not None:
            part = part.subtract(_relation(store, leaf, len(shape), assigned).elements)
    return None if part is None or part.is_empty() else replace(copy, part=part.coalesce())


def sees_copies(copy: Copy, leaf: Leaf, assigned: Set[str]) -> bool:
    """True if a leaf that writes to the target reads only copies of it, before any instance overwrites them."""
    stores = [s for s in leaf.stores if s.container == copy.target]
    loads = [x for x in leaf.loads if x.container == copy.target]
    first = min(leaf.body.index(s) for s in stores)
    return (
        not leaf.sequential
        and holds_for(copy, leaf, assigned)
        and all(leaf.body.index(x) < first and apart(x, s, leaf) for x in loads for s in stores)
    )


def from_original(copy: Copy, leaf: Leaf) -> Leaf:
    """Let a leaf read the original instead of the copy."""
    window = copy.window

    def moved(i: Instr) -> Instr:
        if isinstance(i, Load) and i.container == copy.target:
            return replace(i, container=window.container, index=window.index(i.index))
        return i

    return replace(leaf, body=tuple(map(moved, leaf.body)))


def spelled_out(copy: Copy, leaf: Leaf, names: Names) -> Leaf:
    """Write an addition to the target as a load and an assignment.

    The leaf is unchanged if it does anything else with the elements that it adds to.
    """
    store = _only_addition(copy, leaf)
    if store is None:
        return leaf
    old, new = names.fresh("v"), names.fresh("v")
    let = Let(new, code.binary(ast.Add, code.name(old), code.name(store.value)))
    body: list[Instr] = [Load(old, store.container, store.index)]
    for instr in leaf.body:
        body += [let, replace(store, value=new, mode="set")] if instr is store else [instr]
    return replace(leaf, body=tuple(body))


def _only_addition(copy: Copy, leaf: Leaf) -> Store | None:
    """Return the one store to the target if it adds one term to each of its elements; None if there is another use."""
    (store, *others) = (s for s in leaf.stores if s.container == copy.target)
    if others or store.mode != "sum" or store.fresh or store.guard:
        return None
    if not injective(store, leaf, len(store.index)):
        return None
    return store if all(apart(x, store, leaf) for x in leaf.loads if x.container == copy.target) else None


def peeled(copy: Copy, leaf: Leaf, assigned: Set[str]) -> tuple[Leaf, Leaf] | None:
    """Peel the first or last iteration of a parameter off a leaf, so that the others read copies only (Wolfe 1989).

    None if no peeling achieves that.
    """
    for p in leaf.params if not leaf.sequential else ():
        if p.step != 1 or not _always_runs(p, leaf.params):
            continue
        for end, rest in ((p.start, replace(p, start=p.start + 1)), (p.stop, replace(p, stop=p.stop - 1))):
            others = replace(leaf, params=tuple(rest if q is p else q for q in leaf.params))
            if holds_for(copy, others, assigned):
                return _begun_once(_at(leaf, p, end), others)
    return None


def _begun_once(first: Leaf, second: Leaf) -> tuple[Leaf, Leaf] | None:
    """Let the second part of a leaf add to the fresh sums that the first part starts.

    None if it shares some of their elements only.
    """
    for k, store in enumerate(second.body):
        if not isinstance(store, Store) or not store.fresh:
            continue
        begun = first.body[k]
        assert isinstance(begun, Store)
        ours, theirs = (_relation(s, x, len(s.index), frozenset()) for s, x in ((begun, first), (store, second)))
        if not ours.exact or not theirs.exact:
            return None
        if theirs.elements.is_subset(ours.elements):
            body = (*second.body[:k], replace(store, fresh=False), *second.body[k + 1 :])
            second = replace(second, body=body)
        elif not theirs.elements.is_disjoint(ours.elements):
            return None
    return first, second


def _at(leaf: Leaf, param: Param, value: Expr) -> Leaf:
    """Return the instances of a leaf at one value of a parameter."""
    by = {param.name: value}
    params = [
        replace(q, start=substitute(q.start, by), stop=substitute(q.stop, by), step=substitute(q.step, by))
        for q in leaf.params
        if q is not param
    ]
    return replace(leaf, params=tuple(params), body=tuple(rename_instr(i, {}, by) for i in leaf.body))


def _always_runs(param: Param, params: Sequence[Param]) -> bool:
    """True if a parameter's range is nonempty for all values of those that it depends on; False if unknown."""
    others = [q for q in params if q is not param]
    if not _bounds_are_closed(param, others):
        return False
    names = ", ".join(f"v_{q.name}" for q in others)
    try:
        limits = [c for q in others if param.name not in free_names(q.start, q.stop) for c in domain_constraint(q)]
        is_empty = " and ".join([*limits, f"{isl_text(param.stop)} < {isl_text(param.start)}"])
    except NotAffine:
        return False
    return bool(isl.Set(f"{{ [{names}] : {is_empty} }}").is_empty())


def _bounds_are_closed(param: Param, others: Sequence[Param]) -> bool:
    """True if bounds mention parameters of the leaf only: those of the parameter no other than the others."""
    names = {q.name for q in others}
    if free_names(param.start, param.stop) - names:
        return False
    return not free_names(*(e for q in others for e in (q.start, q.stop))) - names - {param.name}


def _relation(access: Load | Store, leaf: Leaf, rank: int, assigned: Set[str]):
    """Return the relation from a leaf's instances to elements; assigned symbols have unknown values."""
    return access_relation(access.index, [(p.name, p) for p in leaf.params], leaf.defined | assigned, rank)


def _plain(index: Sequence[sympy.Expr]) -> list[str]:
    """Return the names that an index consists of; none if it is anything but names, each once."""
    names = [str(e) for e in index if isinstance(e, sympy.Symbol)]
    return names if len(set(names)) == len(index) else []


def shifted(index: Sequence[sympy.Expr]) -> list[str]:
    """Return the names that an index consists of up to constant offsets; none if it is anything else."""
    return _plain([next(iter(e.free_symbols)) if len(e.free_symbols) == 1 and _is_shift(e) else e for e in index])


def _is_shift(e: sympy.Expr) -> bool:
    """True for the one symbol of an expression plus a constant."""
    (symbol,) = e.free_symbols
    return bool((e - symbol).is_Integer)


def window_of(load: Load, index: Sequence[Expr], params: set[str]) -> Window | None:
    """Return a loaded container by subscripts of the larger one that it is stored to.

    None if a subscript is neither a constant nor one of the larger container's, or if none of those is left out.
    """
    names = shifted(index)
    axes: list[Axis | None] = [None] * len(index)
    base = list(load.index)
    for d, e in enumerate(load.index):
        if isinstance(e, sympy.Symbol) and str(e) in names:
            j = names.index(str(e))
            if axes[j] is not None:
                return None
            axes[j], base[d] = Axis(d, ONE), e - index[j]
        elif not e.is_Integer:
            return None
    if all(a is not None for a in axes) or not set(names) <= params:
        return None
    return Window(load.container, tuple(base), tuple(axes))
