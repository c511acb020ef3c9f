"""Propagate copies of whole arrays: readers of a copy read its original.

An array is a copy if a leaf assigns each of its elements from the same element of another array. Two arrays are twins
if a leaf assigns one value to the same element of both; the second counts as a copy of the first::

    map i: y[i] = x[i]                    map i: z[i] = x[i] * x[i]
    map i: z[i] = y[i] * y[i]

This is copy propagation (Muchnick 1997) for arrays of one layout. The pass declines if the original changes before the
last reader of the copy, if the copy is written twice or read in another block, and for arguments and views.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from sdgrad.analysis.access_relations import covers
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    Block,
    Leaf,
    Load,
    Node,
    Program,
    Store,
    children,
    map_blocks,
    own_reads,
    reads,
    rewritten,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import same


def read_originals(program: Program) -> Program:
    """Let readers of a copy read its original, and drop assignments of an element to itself."""
    program = replace(program, body=rewritten(program.body, lambda n: _without_identities(n, program)))
    written = Counter(n for node in walk(program.body) for n in _stores(node))
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    copies = {n for n in whole - set(program.arguments) if written[n] == 1}
    readers = _readers(program.body)
    return replace(program, body=_block(program.body, program, copies, whole, readers)) if copies else program


def _without_identities(node: Node, program: Program) -> Block:
    """Drop a leaf's assignments of an element to itself, which are left of ``x += y`` backwards."""
    if not isinstance(node, Leaf):
        return (node,)
    loads = {i.name: i for i in node.body if isinstance(i, Load)}
    count = Counter(program.root(s.container) for s in node.stores)

    def is_identity(store: Store) -> bool:
        load = loads.get(store.value)
        if load is None or store.mode != "set" or count[program.root(store.container)] > 1:
            return False
        return load.container == store.container and load.guard == store.guard and same(load.index, store.index)

    if not any(map(is_identity, node.stores)):
        return (node,)
    rest = drop_stores(node, is_identity)
    return (rest,) if rest.stores else ()


@dataclass(frozen=True)
class Copy:
    """A container with the elements of another one.

    :param is_twin: True if one leaf sets both.
    """

    target: str
    original: str
    is_twin: bool


def _block(block: Block, program: Program, copies: set[str], whole: set[str], readers: Counter[str]) -> Block:
    """Propagate copies in a block and the blocks inside it.

    :param copies: temporaries that are written once.
    :param whole: containers with memory of their own and without views.
    :param readers: how many nodes of the whole program read each container.
    """
    nodes = [map_blocks(n, lambda b: _block(b, program, copies, whole, readers)) for n in block]
    inside = readers if block is program.body else _readers(block)
    for k, node in enumerate(nodes):
        found = [Copy(*pair, is_twin=False) for pair in _copied(node, program, copies, whole)]
        found += [Copy(*pair, is_twin=True) for pair in _twins(node, program, copies, whole)]
        for copy in found:
            if inside[copy.target] == readers[copy.target]:
                _propagate(copy, nodes, k)
    return tuple(nodes)


def _propagate(copy: Copy, nodes: list[Node], k: int) -> None:
    """Let the readers of a copy made in the k-th node read the original, unless it changes before."""
    readers = [j for j, n in enumerate(nodes) if copy.target in reads(n)]
    if not readers or readers[0] <= k:
        return
    first = k + 1 if copy.is_twin else k
    if any(copy.original in writes(n) for n in nodes[first : readers[-1] + 1]):
        return
    for j in readers:
        (nodes[j],) = renamed((nodes[j],), {copy.target: copy.original}, {})


def _copied(node: Node, program: Program, copies: set[str], whole: set[str]) -> list[tuple[str, str]]:
    """Return the containers that a leaf copies as a whole, element by element, with their originals."""
    if not isinstance(node, Leaf):
        return []
    loads = {i.name: i for i in node.body if isinstance(i, Load) and i.guard is None}
    return [
        (s.container, loads[s.value].container)
        for s in node.stores
        if s.container in copies
        and s.value in loads
        and s.mode == "set"
        and loads[s.value].container in whole
        and same_element(s, loads[s.value], node, program)
    ]


def _twins(node: Node, program: Program, copies: set[str], whole: set[str]) -> list[tuple[str, str]]:
    """Return the containers that a leaf sets to the values of an earlier store, with that store's container."""
    if not isinstance(node, Leaf):
        return []
    found: list[tuple[str, str]] = []
    count = Counter(program.root(s.container) for s in node.stores)
    first: dict[str, Store] = {}
    for s in node.stores:
        if s.mode != "set" or s.container not in whole or count[s.container] > 1:
            continue
        original = first.setdefault(s.value, s)
        if original.container != s.container and s.container in copies and original.guard is None:
            found += [(s.container, original.container)] if same_element(s, original, node, program) else []
    return found


def same_element(store: Store, load: Load | Store, leaf: Leaf, program: Program) -> bool:
    """True if a store writes all of a container, each element at the subscripts of another one of its layout."""
    own, original = program.containers[store.container].desc, program.containers[load.container].desc
    return (
        store.guard is None
        and own.dtype == original.dtype
        and same(own.shape, original.shape)
        and same(own.strides, original.strides)
        and same(store.index, load.index)
        and covers(store, leaf, own.shape)
    )


def _stores(node: Node) -> list[str]:
    """Return the containers that a node writes by itself, once for each store."""
    if isinstance(node, Leaf):
        return [s.container for s in node.stores]
    return [] if children(node) else list(writes(node))


def _readers(block: Block) -> Counter[str]:
    """Count the nodes of a block and of the blocks inside it that read each container by themselves."""
    return Counter(name for n in walk(block) for name in (own_reads(n) if children(n) else reads(n)))
