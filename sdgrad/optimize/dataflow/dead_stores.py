"""Stores that nobody reads: to temporaries that each block sets before it reads them, and does not read any more.

Reversal sets temporaries again for the adjoints that need them; once these read where the values come from, or have
them in a register, nothing is left to set them for.
"""

from __future__ import annotations

from dataclasses import replace

from sdgrad.analysis.loop_private import within_blocks
from sdgrad.program.tree import Block, Leaf, Node, Program, children, reads, with_children
from sdgrad.rewrite.fusion import drop_stores


def drop_unread(program: Program) -> Program:
    """The program without stores to temporaries that their block does not read afterwards."""
    temporary = frozenset(within_blocks(program))
    return replace(program, body=_block(program.body, temporary)) if temporary else program


def _block(block: Block, temporary: frozenset[str]) -> Block:
    out: list[Node] = []
    later: set[str] = set()  # temporaries that are read after the node
    for node in reversed(block):
        node = with_children(node, tuple(_block(b, temporary) for b in children(node)))
        if isinstance(node, Leaf) and (unread := _unread(node, temporary - later)):
            node = drop_stores(node, lambda s, unread=unread: s.container in unread)
            if not node.stores:
                continue
        later |= reads(node)
        out.append(node)
    return tuple(reversed(out))


def _unread(leaf: Leaf, temporary: frozenset[str]) -> frozenset[str]:
    """Of some temporaries, those that a leaf writes and does not read itself."""
    return temporary & {s.container for s in leaf.stores} - reads(leaf)
