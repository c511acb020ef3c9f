"""Address the nodes of a program tree by paths."""

from __future__ import annotations

from collections.abc import Iterator

from sdgrad.program.tree import Block, Node, children

Path = tuple[int, ...]
"""Position of a node in its block, preceded by the path of the block: that of its node, and the number of the arm."""


def nodes_with_paths(block: Block, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Yield every node with its path, in program order, parents first."""
    for k, node in enumerate(block):
        yield (*path, k), node
        for arm, inner in enumerate(children(node)):
            yield from nodes_with_paths(inner, (*path, k, arm))
