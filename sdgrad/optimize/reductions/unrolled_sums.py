"""Unroll sums of few terms into assignments.

::

    map i=0:n, j=0:n, k=0:2:       map i=0:n, j=0:n:
      a = A[i, k]                    a_0 = A[i, 0]
      b = B[k, j]                    b_0 = B[0, j]
      t = a * b                      t_0 = a_0 * b_0
      C[i, j] += t (fresh)           a_1 = A[i, 1]
                                     b_1 = B[1, j]
                                     t_1 = a_1 * b_1
                                     t_2 = t_0 + t_1
                                     C[i, j] = t_2

Such a matrix product moves more data than it computes, so that a BLAS call does not pay; as an assignment it can be
fused with its neighbours. Declined are long sums, large bodies, guarded stores, subscripts that depend on data, and
bounds that depend on each other. (Loop unrolling: Allen & Kennedy 2001.)
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import sympy

from sdgrad.analysis.access_relations import injective
from sdgrad.config import config
from sdgrad.program.leaves import live, params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Instr,
    Leaf,
    Let,
    Node,
    Param,
    Program,
    Scope,
    Store,
    map_blocks,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


def write_out_short_sums(program: Program) -> Program:
    """Unroll the sums of few terms in a program."""
    names = all_names(program)
    return replace(program, body=_block(program.body, names))


def _block(block: Block, names: Names) -> Block:
    """Unroll the short sums of a block."""
    return tuple(_node(n, names) for n in block)


def _node(node: Node, names: Names) -> Node:
    """Unroll the short sums of a node; unchanged if it is a parallel map."""
    if isinstance(node, Leaf):
        summed = _reduced_params(node) if _is_candidate(node) else []
        return _unrolled(node, summed, names) if summed and _is_short(summed) else node
    if isinstance(node, Scope):
        return node  # inside a map the loops stay
    return map_blocks(node, lambda b: _block(b, names))


def _is_candidate(leaf: Leaf) -> bool:
    """True if a leaf is a small parallel nest of one sum of two loads or more, into a container it does not read."""
    if leaf.sequential or len(leaf.stores) != 1 or len(leaf.loads) < 2:
        return False
    (store,) = leaf.stores
    if store.mode != "sum" or store.guard is not None or store.container in {x.container for x in leaf.loads}:
        return False
    return len(leaf.body) <= config.machine.unrolled_instructions


def _reduced_params(leaf: Leaf) -> list[Param]:
    """Return the parameters over which a leaf sums; empty if subscripts depend on data, or bounds on parameters."""
    (store,) = leaf.stores
    own = params_of(store, leaf)
    names = {p.name for p in leaf.params}
    if not own or store.index_names & leaf.defined:
        return []
    if any(free_names(p.start, p.stop) & names for p in leaf.params):
        return []
    return [p for p in leaf.params if p not in own]


def _is_short(summed: Sequence[Param]) -> bool:
    """True if a sum over some parameters has a known number of terms, more than one and few."""
    terms = sympy.prod([sympy.sympify(p.count) for p in summed])
    return bool(terms.is_number and 1 < terms <= config.machine.unrolled_terms)


def _unrolled(leaf: Leaf, summed: Sequence[Param], names: Names) -> Leaf:
    """Unroll a leaf's sum over some parameters; a fresh one becomes an assignment if each element has one iteration."""
    (store,) = leaf.stores
    body: list[Instr] = []
    terms: list[ast.expr] = []
    for places in itertools.product(*(range(int(p.count)) for p in summed)):
        by = {p.name: p.start + k * p.step for p, k in zip(summed, places, strict=True)}
        own = {n: names.fresh(n) for n in sorted(leaf.defined)}
        for i in leaf.body:
            if not isinstance(i, Store):
                renamed = rename_instr(i, own, by)
                assert not isinstance(renamed, Store)
                body.append(replace(renamed, name=own[i.name]))
        terms.append(code.name(own[store.value]))
    total = names.fresh(store.value)
    body.append(Let(total, reduce(lambda a, b: code.binary(ast.Add, a, b), terms)))
    params = tuple(p for p in leaf.params if p not in summed)
    if store.fresh and injective(store, leaf, len(store.index), params):
        store = replace(store, mode="set", fresh=False)  # the sum was all of it
    body.append(replace(store, value=total))
    return replace(leaf, params=params, body=live(body, set()))
