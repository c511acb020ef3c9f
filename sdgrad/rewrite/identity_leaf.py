"""Make the leaf that initializes the elements of a reduction."""

from __future__ import annotations

import ast

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import access_relation, injective, leaf_relation
from sdgrad.program.leaves import params_of
from sdgrad.program.tree import (
    Expr,
    Leaf,
    Let,
    Param,
    Store,
)
from sdgrad.symbolic.expr import sym


def begin(store: Store, leaf: Leaf, value: ast.expr, name: str) -> Leaf:
    """Make a leaf that sets the elements a reduction accumulates into to a value, under a local name."""
    params, index = params_of(store, leaf), store.index
    if not injective(store, leaf, len(index), params) and (box := _box(store, leaf, name)) is not None:
        params, index = box
    return Leaf(params, (Let(name, value), Store(store.container, index, name)), leaf.source)


def _box(store: Store, leaf: Leaf, name: str) -> tuple[tuple[Param, ...], tuple[Expr, ...]] | None:
    """Return parameters that visit the elements of a store once. None unless these form a box with numeric bounds."""
    rank = len(store.index)
    found = leaf_relation(store, leaf, rank)
    if not found.exact or found.map.dim(isl.dim_type.param) or found.elements.is_empty():
        return None
    ends = [
        [int(e.to_python()) for e in (found.elements.dim_min_val(d), found.elements.dim_max_val(d))]
        for d in range(rank)
    ]
    params = tuple(Param(f"{name}_{d}", *map(sympy.Integer, (*end, 1))) for d, end in enumerate(ends))
    index = tuple(sym(p.name) for p in params)
    box = access_relation(index, [(p.name, p) for p in params], frozenset(), rank).elements
    return (params, index) if box.is_subset(found.elements) else None
