"""Positions of nodes in the tree."""

from __future__ import annotations

from collections.abc import Iterator

from sdgrad.program.tree import Block, Node, children

Path = tuple[int, ...]


def nodes_with_paths(block: Block, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Every node with its path: its position, and for inner nodes the arm and position, and so on."""
    for k, node in enumerate(block):
        yield (*path, k), node
        for arm, inner in enumerate(children(node)):
            yield from nodes_with_paths(inner, (*path, k, arm))
