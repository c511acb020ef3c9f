"""Remove dead stores to temporaries of one block (backward liveness analysis; Aho et al. 2006).

Reversal sets temporaries again for the adjoints that need them. Once these adjoints read the original, or hold the
value in a register, the store is dead::

    map i:                        map i:
      v = sin(x[i])                 v = sin(x[i])
      t[i] = v                      y[i] = v
      y[i] = v

Only temporaries qualify that leaves use, and that each block sets before it reads them.
"""

from __future__ import annotations

from dataclasses import replace

from sdgrad.analysis.loop_private import within_blocks
from sdgrad.program.tree import Block, Leaf, Node, Program, map_blocks, reads
from sdgrad.rewrite.dead_code import drop_stores


def drop_unread(program: Program) -> Program:
    """Remove stores to temporaries that their block does not read afterwards."""
    temporary = frozenset(within_blocks(program))
    return replace(program, body=_block(program.body, temporary)) if temporary else program


def _block(block: Block, temporary: frozenset[str]) -> Block:
    """Remove dead stores of a block and the blocks inside it, from its last node to its first."""
    out: list[Node] = []
    later: set[str] = set()  # live after the node
    for node in reversed(block):
        node = map_blocks(node, lambda b: _block(b, temporary))
        if isinstance(node, Leaf) and (unread := _unread(node, temporary - later)):
            node = drop_stores(node, lambda s, unread=unread: s.container in unread)
            if not node.stores:
                continue
        later |= reads(node)
        out.append(node)
    return tuple(reversed(out))


def _unread(leaf: Leaf, temporary: frozenset[str]) -> frozenset[str]:
    """Return the temporaries that a leaf writes and does not read itself."""
    return temporary & {s.container for s in leaf.stores} - reads(leaf)
