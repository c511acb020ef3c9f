"""Sums for a GPU: as many threads as there are elements, or where these are few, partial sums by many threads.

No atomics: partial sums have memory of their own, and one thread for each element adds them up, in a fixed order.
"""

from __future__ import annotations

from dataclasses import replace

import sympy
from dace import data as dt
from dace.symbolic import int_floor

from sdgrad.config import config
from sdgrad.optimize.locality.loop_interchange import reduced_last
from sdgrad.program.leaves import live, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Leaf, Load, Node, Param, Program, Source, Store, rewritten
from sdgrad.symbolic.expr import free_names, sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def share_sums(program: Program, names: Names) -> Program:
    """The program with reduced parameters innermost, and large sums of few elements in two steps."""
    made: dict[str, Container] = {}

    def change(node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Leaf) or node.sequential or not any(s.mode != "set" for s in node.stores):
            return (node,)
        written, read = ({program.root(x.container) for x in xs} for xs in (node.stores, node.loads))
        out: list[Node] = []
        for store in node.stores if not written & read else ():
            body = live((i for i in node.body if not isinstance(i, Store) or i is store), set())
            alone = reduced_last(replace(node, body=body))
            if store.mode != "set" and (parts := in_parts(alone, program, names, made)) is not None:
                out += parts
                node = replace(node, body=live((i for i in node.body if i is not store), set()))
        return (*out, reduced_last(node)) if node.stores else tuple(out)

    body = rewritten(program.body, change)
    return replace(program, body=body, containers={**program.containers, **made})


def in_parts(leaf: Leaf, program: Program, names: Names, made: dict[str, Container]) -> tuple[Leaf, ...] | None:
    """A large sum of few elements as partial sums, and a sum of these; None where it is none.

    :param leaf: with one store, to what it does not read.
    """
    (store,) = leaf.stores
    used = free_names(*store.index)
    kept = [p for p in leaf.params if p.name in used]
    reduced = [p for p in leaf.params if p.name not in used]
    if store.guard is not None or used & leaf.defined:
        return None
    if any(p.step != 1 or not (p.start.is_number and p.stop.is_number) for p in leaf.params) or not reduced:
        return None
    elements, terms = (int(sympy.prod([p.count for p in ps])) for ps in (kept, reduced))
    longest = max(reduced, key=lambda p: int(p.count))
    lanes = min(config.machine.gpu_partial_sums, int(longest.count) // 4)
    if elements > config.machine.gpu_busy_elements or terms < config.machine.gpu_split_terms or lanes < 32:
        return None
    lane, turn = Param(names.fresh("lane"), ZERO, sympy.Integer(lanes - 1), ONE), names.fresh("turn")
    turns = Param(turn, ZERO, int_floor(longest.stop - longest.start - sym(lane.name), sympy.Integer(lanes)), ONE)
    place = {longest.name: longest.start + sym(lane.name) + lanes * sym(turn)}
    dtype = program.containers[store.container].dtype
    shape = [*(int(p.count) for p in kept), lanes]
    part = Container(names.fresh(f"part_{store.container}"), dt.Array(dtype, shape, transient=True))
    made[part.name] = part
    index = (*(sym(p.name) - p.start for p in kept), sym(lane.name))
    into = Store(part.name, index, store.value, store.mode, None, True)
    body = tuple(rename_instr(i, {}, place) for i in leaf.body if not isinstance(i, Store))
    others = [p for p in reduced if p is not longest]
    first = replace(leaf, params=(*kept, lane, *others, turns), body=(*body, into))
    value = names.fresh("v")
    second = (Load(value, part.name, index), replace(store, value=value))
    return first, Leaf((*kept, lane), second, Source(leaf.source.file, leaf.source.line, leaf.source.label))
