"""Remove stores that nobody reads, with what only they use, and nodes that are left without any."""

from __future__ import annotations

from dataclasses import replace

from dace import nodes as nd

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.leaves import live
from sdgrad.program.tree import (
    Leaf,
    Node,
    NodeCall,
    Program,
    Scope,
    Store,
    children,
    own_reads,
    reads,
    walk,
    with_children,
    writes,
)
from sdgrad.runtime.libraries.communication import is_communication


def drop_stores(leaf: Leaf, dead) -> Leaf:
    """Remove the stores of a leaf that satisfy a predicate, and what only they use."""
    body = tuple(i for i in leaf.body if not (isinstance(i, Store) and dead(i)))
    return replace(leaf, body=live(body, set()))


def drop_dead(program: Program, keep: frozenset[str] = frozenset()) -> Program:
    """Eliminate dead stores, nodes without stores, and library calls whose results nobody reads, to a fixpoint."""
    while True:
        alive = {program.root(n) for n in set(program.arguments) | keep}
        alive |= {program.root(r) for n in walk(program.body) for r in _own_reads(n)}
        body = tuple(x for n in program.body if (x := _without_dead(n, alive, program)) is not None)
        if body == program.body:
            return program
        program = replace(program, body=body)


def inputs_that_matter(program: Program) -> set[str]:
    """Return the arguments that results may depend on: not those that only what nobody reads is computed of."""
    written = {program.root(w) for n in program.body for w in writes(n)}
    nodes = [n for n in walk(program.body) if not children(n)]
    needed = {program.root(n) for n in program.arguments if program.root(n) in written}
    needed |= {program.root(r) for n in walk(program.body) if children(n) or not writes(n) for r in own_reads(n)}
    while True:
        more = {program.root(r) for n in nodes for r in _reads_for(n, needed, program)} - needed
        if not more:
            return {n for n in program.arguments if program.root(n) in needed}
        needed |= more


def _reads_for(node: Node, needed: set[str], program: Program) -> set[str]:
    """Return what a node without blocks reads for what is needed."""
    if isinstance(node, Leaf):
        return reads(drop_stores(node, lambda s: program.root(s.container) not in needed))
    is_needed = not isinstance(node, NodeCall) or not _is_pure(node) or {program.root(c) for c in writes(node)} & needed
    return reads(node) if is_needed else set()


def _is_pure(node: NodeCall) -> bool:
    """True of calls that do nothing but write their results."""
    alone = not is_communication(node)
    return alone and bool(node.outputs) and (isinstance(node, CustomCall) or isinstance(node.node, nd.LibraryNode))


def _own_reads(node: Node) -> set[str]:
    """Return the containers that a node reads directly."""
    return reads(node) if not children(node) else own_reads(node)


def _without_dead(node: Node, alive: set[str], program: Program) -> Node | None:
    """Remove the dead stores in a node. None if nothing is left of it."""
    if isinstance(node, Leaf):
        dead = [s for s in node.stores if program.root(s.container) not in alive]
        if not dead:
            return node
        kept = drop_stores(node, lambda s: program.root(s.container) not in alive)
        return kept if kept.stores else None
    if isinstance(node, NodeCall):
        return None if _is_pure(node) and not {program.root(c) for c in writes(node)} & alive else node
    blocks = tuple(tuple(x for n in b if (x := _without_dead(n, alive, program)) is not None) for b in children(node))
    if not any(blocks) and (isinstance(node, Scope) or any(children(node))):
        return None
    return with_children(node, blocks) if blocks and blocks != children(node) else node
