"""Split the row and column sums off a nest that also adds to the single elements of the same array.

If a nest adds both to single elements and to whole rows or columns of one array, give the row and column sums
temporaries and add them after the nest. ::

    map i=0:n, j=0:n:              map i=0:n, j=0:n:
      x[i, j] += t                   x[i, j] += t
      x[i, k] += u                   sum_x[i] += u (fresh)
                                   map i=0:n:
                                     v = sum_x[i]
                                     x[i, k] += v

Two of the original stores may reach one element, depending on ``k``, so that they could not share a parallel loop.
Declined are leaves that read the array, sums that are guarded or start from their identity, subscripts that depend on
data, and ranges of unknown length. (Scalar expansion: Allen & Kennedy 2001.)
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
    """Give the row and column sums of a program's nests temporaries if the nests add more to the same array."""
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
    """Yield the sums over some of a leaf's parameters into memory to which other stores of the leaf add too."""
    count = Counter(program.root(s.container) for s in leaf.stores)
    read = {program.root(x.container) for x in leaf.loads}
    if any(p.step != 1 or not p.count.is_number for p in leaf.params):
        return
    for store in leaf.stores:
        root = program.root(store.container)
        if count[root] > 1 and root not in read and _accumulates_only(leaf, root, program) and _is_partial(store, leaf):
            yield store


def _accumulates_only(leaf: Leaf, root: str, program: Program) -> bool:
    """True if all stores of a leaf into some memory are sums that update it."""
    return all(s.mode == "sum" and not s.fresh for s in leaf.stores if program.root(s.container) == root)


def _is_partial(store: Store, leaf: Leaf) -> bool:
    """True if an affine, unguarded store depends on some of the leaf's parameters, and not on all."""
    bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop, p.step)))
    if store.guard is not None or store.index_names & leaf.defined or bounds & {p.name for p in leaf.params}:
        return False
    return 0 < len(_own(store, leaf)) < len(leaf.params)


def _own(store: Store, leaf: Leaf) -> tuple[Param, ...]:
    """Return the parameters on which a store's subscript depends."""
    used = store.index_names
    return tuple(p for p in leaf.params if p.name in used)
