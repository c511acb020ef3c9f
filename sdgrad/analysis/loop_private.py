"""Containers that live within one trip of a loop: no trip sees what another one, or anybody else, left in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import islpy as isl

from sdgrad.analysis.access_relations import covers, leaf_relation, partition
from sdgrad.program.leaves import params_of
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Let,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Store,
    SymbolAssign,
    children,
    own_reads,
    reads,
    walk,
    whole_region,
    writes,
)


def users(block: Block, program: Program) -> Counter[str]:
    """For each container that has memory of its own: how many nodes use it by themselves."""
    return Counter(name for node in walk(block) for name in used(node, program))


def used(node: Node, program: Program) -> set[str]:
    """The containers with memory of their own that a node uses by itself."""
    by_itself = own_reads(node) if children(node) else reads(node) | writes(node) | own_reads(node)
    return {program.root(name) for name in by_itself}


def region_locals(node: Loop | Branch, everywhere: Counter[str], program: Program) -> frozenset[str]:
    """Temporaries of a loop's body, or of an arm of a branch: nothing else uses them, and each run defines them first.

    :param everywhere: users in the whole program.
    """
    return frozenset[str]().union(*(_locals(b, everywhere, program) for b in children(node)))


def _locals(block: Block, everywhere: Counter[str], program: Program) -> frozenset[str]:
    inside = users(block, program)
    own = {n for n, count in inside.items() if count == everywhere[n] and program.containers[n].transient}
    whole = defined_first(block, program, own)
    return whole | defined_before_read(block, program, own - whole)


def defined_first(block: Block, program: Program, names: Iterable[str]) -> frozenset[str]:
    """Those of some containers that a block defines as a whole before it does anything else with them."""
    asked, found, seen = frozenset(names), set[str](), set[str]()
    for node in block:
        if isinstance(node, Leaf):
            begun = asked - seen - {program.root(x.container) for x in node.loads}
            for name in begun & {s.container for s in node.stores}:
                stores = [s for s in node.stores if s.container == name]
                if all(s.mode == "set" or s.fresh for s in stores) and _fill(stores, node, program.containers[name]):
                    found.add(name)
        elif isinstance(node, NodeCall):
            found |= (asked - seen) & _made_whole(node, program)
        seen |= users((node,), program).keys()
    return frozenset(found)


def _made_whole(call: NodeCall, program: Program) -> set[str]:
    """Containers that a call sets, all of them, and does not read."""
    wholes = {r.container for r in call.outputs.values() if _is_whole(r, program.containers.get(r.container))}
    return wholes - {program.root(name) for name in reads(call)}


def _is_whole(region: Region, container: Container | None) -> bool:
    return container is not None and region.subset == whole_region(container.name, container.shape).subset


def _fill(stores: Sequence[Store], leaf: Leaf, container: Container) -> bool:
    """Whether stores write every element of their container."""
    return any(covers(s, leaf, container.shape) for s in stores) or partition(stores, leaf, container.shape)


def defined_before_read(block: Sequence[Node], program: Program, names: Iterable[str]) -> set[str]:
    """Those of some containers of which a block reads only elements that it has set before, in leaves of its own."""
    wanted = {n for n in names if program.containers[n].view_of is None} - _viewed(program)
    inner = {x for node in block if not isinstance(node, Leaf) for x in used(node, program)}
    inner |= {x for node in block for b in children(node) for x in users(b, program)}
    return {n for n in wanted - inner if _defined_before_read(block, program, n)}


def within_blocks(program: Program) -> set[str]:
    """Temporaries that leave nothing behind: leaves use them, and each block of these sets what it reads.

    Such blocks lie beside each other, and not one in another one.
    """
    asked = {n for n, c in program.containers.items() if c.transient and c.view_of is None} - _viewed(program)
    seen: set[str] = set()

    def visit(block: Block) -> set[str]:
        """Those that a block uses, or one inside it."""
        own = {x for n in block if isinstance(n, Leaf) for x in used(n, program)}
        inner = {x for n in block for b in children(n) for x in visit(b)}
        asked.difference_update(inner & own, *(used(n, program) for n in block if not isinstance(n, Leaf)))
        asked.difference_update({n for n in own & asked if not _defined_before_read(block, program, n)})
        seen.update(own)
        return own | inner

    visit(program.body)
    return seen & asked


def _viewed(program: Program) -> set[str]:
    return {program.root(c.name) for c in program.containers.values() if c.view_of is not None}


def _defined_before_read(block: Sequence[Node], program: Program, name: str) -> bool:
    rank = len(program.containers[name].shape)
    known: isl.Set | None = None
    begun = False
    changed: set[str] = set()  # symbols that have got another value since the container was touched first
    for node in block:
        if not isinstance(node, Leaf):
            changed |= {n.symbol for n in walk((node,)) if isinstance(n, (SymbolAssign, Loop))} if begun else set()
            continue
        made: isl.Set | None = None
        for i in node.body:
            if isinstance(i, Let) or i.container != name:
                continue
            begun = True
            # a reduction that starts anew defines its elements also where it has nothing to add
            over = replace(node, params=params_of(i, node)) if isinstance(i, Store) and i.fresh else node
            found = leaf_relation(i, over, rank)
            if {f"v_{s}" for s in changed} & set(found.map.get_var_names(isl.dim_type.param)):
                return False
            if isinstance(i, Store) and (i.mode == "set" or i.fresh):
                if found.exact and i.guard is None:
                    made = found.elements if made is None else made.union(found.elements)
            elif known is None or not found.elements.is_subset(known):
                return False
        if made is not None:
            known = made if known is None else known.union(made)
    return known is not None
