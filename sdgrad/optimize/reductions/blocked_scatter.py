"""Sums into elements that data choose, block by block: what is added is computed for many at once, then added in order.

A loop that adds to ``x[idx[i]]`` has to keep its order, and so what it adds would be computed one by one as well.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import dace
import sympy
from dace import data as dt

from sdgrad.program.leaves import live, rename_instr, same_values
from sdgrad.program.names import Names
from sdgrad.program.prelude import is_vectorized
from sdgrad.program.tree import Container, Leaf, Let, Load, Param, Program, Scope, Store
from sdgrad.symbolic.expr import free_names, sym

BLOCK = 256  # trips whose values stay in the first cache
LEAST_WORK = 4  # steps of a trip that are worth a second loop
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def in_blocks(leaf: Leaf, program: Program, names: Names) -> tuple[Scope, list[Container]] | None:
    """A leaf of such sums as two loops in a loop over blocks, and what the first hands to the second; else None."""
    along = leaf.params[-1]
    if along.step != 1 or not (along.count.is_number and along.count > BLOCK):
        return None
    if len(leaf.lets) < LEAST_WORK and not is_vectorized(leaf):
        return None
    if any(s.guard is not None or not free_names(*s.index) & leaf.defined for s in leaf.stores):
        return None
    if any(along.name in free_names(*s.index) for s in leaf.stores):
        return None  # rows are added up as they are
    stored = {program.root(s.container) for s in leaf.stores}
    if stored & {program.root(x.container) for x in leaf.loads}:
        return None
    block, trip = Param(names.fresh("block"), ZERO, (along.stop - along.start) // BLOCK, ONE), names.fresh("trip")
    left = along.stop - along.start - BLOCK * sym(block.name)
    trips = Param(trip, ZERO, sympy.Min(BLOCK - 1, left) if along.count % BLOCK else sympy.Integer(BLOCK - 1), ONE)
    if along.count % BLOCK == 0:
        block = replace(block, stop=along.count / BLOCK - 1)
    place = {along.name: along.start + BLOCK * sym(block.name) + sym(trip)}
    same = same_values(leaf.body)
    stores = [s for x in leaf.stores if isinstance(s := rename_instr(x, same, {}), Store)]
    own = {x.name: x for x in leaf.body if not isinstance(x, Store) and _is_cheap(x, leaf)}
    kinds = {n: dace.int64 for s in stores for n in free_names(*s.index) & leaf.defined}
    kinds |= {s.value: program.containers[s.container].dtype for s in stores if s.value not in kinds | own}
    on_stack = dace.StorageType.Register
    buffers = {
        n: Container(names.fresh("block"), dt.Array(t, [BLOCK], transient=True, storage=on_stack))
        for n, t in kinds.items()
    }
    body = [rename_instr(i, {}, place) for i in leaf.body if not isinstance(i, Store)]
    first = live((*body, *(Store(b.name, (sym(trip),), n) for n, b in buffers.items())), set())
    read = [Load(n, b.name, (sym(trip),)) for n, b in buffers.items()]
    again = (rename_instr(i, {}, place) for i in own.values())
    second = live((*again, *read, *(rename_instr(s, {}, place) for s in stores)), set())
    sequential = dace.ScheduleType.Sequential
    loops = (
        Leaf((trips,), first, leaf.source, schedule=sequential),
        Leaf((trips,), second, leaf.source, sequential=True),
    )
    params = (*leaf.params[:-1], block)
    return Scope(params, loops, tuple(buffers.values()), leaf.source, sequential=True), list(buffers.values())


def _is_cheap(value: Load | Let, leaf: Leaf) -> bool:
    """Whether a value is as soon read as kept: a constant, or an element."""
    if isinstance(value, Let):
        return isinstance(value.expr, ast.Constant)
    return value.guard is None and not free_names(*value.index) & leaf.defined
