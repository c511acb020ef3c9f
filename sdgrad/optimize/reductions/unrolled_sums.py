"""Sums of few terms are written out: ``C[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j]`` is no product for BLAS.

It reads and writes more than it computes. As an assignment it is fused with what is around it.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import sympy

from sdgrad.analysis.access_relations import injective
from sdgrad.program.leaves import live, params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Param, Program, Scope, Store, children, with_children
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names

MOST_TERMS = 4
MOST_INSTRUCTIONS = 12


def write_out_short_sums(program: Program) -> Program:
    """The program with leaves that add up a few terms for each element as assignments."""
    names = all_names(program)
    return replace(program, body=_block(program.body, names))


def _block(block: Block, names: Names) -> Block:
    return tuple(_node(n, names) for n in block)


def _node(node: Node, names: Names) -> Node:
    if isinstance(node, Leaf):
        summed = _few(node)
        return _written_out(node, summed, names) if summed else node
    if isinstance(node, Scope):
        return node  # inside a map the loops stay
    return with_children(node, tuple(_block(b, names) for b in children(node)))


def _few(leaf: Leaf) -> list[Param]:
    """The parameters that a leaf sums over, where that is a matter of few terms; empty otherwise."""
    if leaf.sequential or len(leaf.stores) != 1 or len(leaf.body) > MOST_INSTRUCTIONS or len(leaf.loads) < 2:
        return []
    (store,) = leaf.stores
    if store.mode != "sum" or store.guard is not None or store.container in {x.container for x in leaf.loads}:
        return []
    own = params_of(store, leaf)
    summed = [p for p in leaf.params if p not in own]
    names = {p.name for p in leaf.params}
    if free_names(*store.index) & leaf.defined:  # data choose the element
        return []
    if not own or not summed or any(free_names(p.start, p.stop) & names for p in leaf.params):
        return []
    terms = sympy.prod([sympy.sympify(p.count) for p in summed])
    return summed if terms.is_number and 1 < terms <= MOST_TERMS else []


def _written_out(leaf: Leaf, summed: Sequence[Param], names: Names) -> Leaf:
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
