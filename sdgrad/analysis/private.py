"""Containers that live within one trip of a loop: no trip sees what another one, or anybody else, left in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sdgrad.analysis.relations import covers, partition
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Store,
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
    return defined_first(block, program, own)


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
