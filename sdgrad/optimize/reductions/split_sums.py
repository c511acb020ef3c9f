"""Sums over rows or columns that a nest adds to an array, beside what it adds to the array's elements.

``x[i, k] += t`` and ``x[k, j] += t`` for all i and j, beside ``x[i, j] += t``: whether an element is reached by two of
them is a question of k, so that they cannot share a loop. Rows and columns of sums that are added afterwards can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from dace import data as dt

from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Leaf, Load, Node, Param, Program, Store, rewritten
from sdgrad.symbolic.expr import free_names, sym


def sum_beside(program: Program, names: Names) -> Program:
    """The program with arrays for the sums over rows and columns that nests add to an array they add more to."""
    made: dict[str, Container] = {}

    def change(node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Leaf) or node.sequential:
            return (node,)
        later: list[Node] = []
        for store in list(_sums(node, program)):
            params = _own(store, node)
            container = program.containers[store.container]
            name = names.fresh(f"sum_{store.container}")
            made[name] = Container(name, dt.Array(container.dtype, [p.count for p in params], transient=True))
            index = tuple(sym(p.name) - p.start for p in params)
            own = Store(name, index, store.value, store.mode, None, fresh=True)
            node = replace(node, body=tuple(own if i is store else i for i in node.body))
            v = names.fresh("v")
            later.append(Leaf(params, (Load(v, name, index), replace(store, value=v)), node.source))
        return (node, *later)

    body = rewritten(program.body, change)
    return replace(program, body=body, containers={**program.containers, **made})


def _sums(leaf: Leaf, program: Program) -> Iterator[Store]:
    """Sums over some of a leaf's parameters into what another store adds to as well."""
    count = Counter(program.root(s.container) for s in leaf.stores)
    read = {program.root(x.container) for x in leaf.loads}
    for store in leaf.stores:
        root = program.root(store.container)
        mine = [s for s in leaf.stores if program.root(s.container) == root]
        if count[root] < 2 or root in read or any(s.mode != "sum" or s.fresh for s in mine):
            continue
        params, used = _own(store, leaf), free_names(*store.index)
        bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop, p.step)))
        if store.guard is not None or used & leaf.defined or bounds & {p.name for p in leaf.params}:
            continue
        if 0 < len(params) < len(leaf.params) and all(p.step == 1 and p.count.is_number for p in leaf.params):
            yield store


def _own(store: Store, leaf: Leaf) -> tuple[Param, ...]:
    used = free_names(*store.index)
    return tuple(p for p in leaf.params if p.name in used)
