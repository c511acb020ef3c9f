"""Count which containers each node uses, by the memory that they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sdgrad.program.tree import (
    Block,
    Leaf,
    Node,
    Program,
    children,
    local_names,
    own_reads,
    reads,
    walk,
    writes,
)


def users(block: Block, program: Program) -> Counter[str]:
    """Count for each container with memory of its own the nodes that use it themselves."""
    return Counter(name for node in walk(block) for name in used(node, program))


def used(node: Node, program: Program) -> set[str]:
    """Collect the containers with memory of their own that a node itself uses."""
    by_itself = own_reads(node) if children(node) else reads(node) | writes(node) | own_reads(node)
    return {program.root(name) for name in by_itself}


def only_in_leaves(program: Program, names: Iterable[str]) -> set[str]:
    """Return those of some arrays without views that only leaves access, by elements."""
    viewed = {c.view_of for c in program.containers.values()}
    found = {n for n in names if n not in viewed}
    for node in walk(program.body):
        if not isinstance(node, Leaf):
            found -= used(node, program) | local_names(node)
    return found
