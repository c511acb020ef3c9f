"""Count which containers each node uses, by the memory that they are."""

from __future__ import annotations

from collections import Counter

from sdgrad.program.tree import (
    Block,
    Node,
    Program,
    children,
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
