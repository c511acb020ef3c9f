"""Arrays that are others, element by element, are not made: who reads them reads the original, or its twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

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
    own_reads,
    reads,
    rewritten,
    walk,
    with_children,
    writes,
)
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.symbolic.expr import same


def read_originals(program: Program) -> Program:
    """The program without copies of arrays that do not change while the copy is read."""
    program = replace(program, body=rewritten(program.body, lambda n: _without_identities(n, program)))
    written = Counter(n for node in walk(program.body) for n in _stores(node))
    viewed = {c.view_of for c in program.containers.values()}
    whole = {n for n, c in program.containers.items() if c.view_of is None and n not in viewed}
    copies = {n for n in whole - set(program.arguments) if written[n] == 1}
    return replace(program, body=_block(program.body, program, copies, whole)) if copies else program


def _without_identities(node: Node, program: Program) -> Block:
    """A leaf without stores of what the element holds already, which is what remains of ``x += y`` backwards."""
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


def _block(block: Block, program: Program, copies: set[str], whole: set[str]) -> Block:
    nodes = [with_children(n, tuple(_block(b, program, copies, whole) for b in children(n))) for n in block]
    for k, node in enumerate(nodes):
        pairs = [(False, p) for p in _copied(node, program, copies, whole)]
        pairs += [(True, p) for p in _twins(node, program, copies, whole)]
        for twin, (target, original) in pairs:
            users = [j for j, n in enumerate(nodes) if target in reads(n)]
            if not users or users[0] <= k or _elsewhere(target, block, program):
                continue
            if any(original in writes(n) for n in nodes[k + twin : users[-1] + 1]):
                continue
            for j in users:
                (nodes[j],) = renamed((nodes[j],), {target: original}, {})
    return tuple(nodes)


def _copied(node: Node, program: Program, copies: set[str], whole: set[str]) -> list[tuple[str, str]]:
    """Containers that a leaf sets to others, all of them and element by element."""
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
    """Containers that a leaf sets to what it sets others to, which come first."""
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
    """Whether a store writes all of a container, each element from the same one of another of its layout."""
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
    """What a node writes by itself, a container as often as there are stores to it."""
    if isinstance(node, Leaf):
        return [s.container for s in node.stores]
    return [] if children(node) else list(writes(node))


def _elsewhere(name: str, block: Block, program: Program) -> bool:
    """Whether nodes outside of a block read a container."""
    return _readers(name, block) != _readers(name, program.body)


def _readers(name: str, block: Block) -> int:
    return sum(name in (own_reads(n) if children(n) else reads(n)) for n in walk(block))
