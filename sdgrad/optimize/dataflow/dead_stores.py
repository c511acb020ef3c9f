"""Remove dead stores to temporaries of one block (backward liveness analysis; Aho et al. 2006).

Reversal sets temporaries again for the adjoints that need them. Once these adjoints read the original, or hold the
value in a register, the store is dead::

    map i:                        map i:
      v = sin(x[i])                 v = sin(x[i])
      t[i] = v                      y[i] = v
      y[i] = v

Only temporaries qualify that leaves use, and that each block sets before it reads them. Library calls go whose results
nobody reads anywhere, and with them what only they read.
"""

from __future__ import annotations

from dataclasses import replace

from dace import nodes as nd

from sdgrad.analysis.loop_private import within_blocks
from sdgrad.program.tree import Block, Leaf, Node, NodeCall, Program, children, map_blocks, reads, walk, writes
from sdgrad.rewrite.fusion import drop_stores


def drop_unread(program: Program) -> Program:
    """Remove stores to temporaries that their block does not read afterwards, and calls whose results nobody reads."""
    program = _without_unread_calls(program)
    temporary = frozenset(within_blocks(program))
    return replace(program, body=_block(program.body, temporary)) if temporary else program


def _without_unread_calls(program: Program) -> Program:
    """Remove library calls that only write temporaries which nobody reads, and what is unread then."""
    if not any(isinstance(n, NodeCall) for n in walk(program.body)):
        return program
    temporaries = {n for n, c in program.containers.items() if program.containers[program.root(n)].transient}
    while True:
        read = {program.root(name) for node in program.body for name in reads(node)}
        unread = {n for n in temporaries if program.root(n) not in read}
        body = _kept(program.body, unread)
        if body == program.body:
            return program
        program = replace(program, body=body)


def _kept(block: Block, unread: set[str]) -> Block:
    """Return a block without calls and leaves that write nothing but these containers."""
    kept: list[Node] = []
    for node in block:
        inner = map_blocks(node, lambda b: _kept(b, unread))
        is_empty = bool(children(node)) and inner != node and not any(children(inner))
        is_unread = isinstance(node, Leaf) or isinstance(node, NodeCall) and isinstance(node.node, nd.LibraryNode)
        if not is_empty and not (is_unread and writes(node) and writes(node) <= unread):
            kept.append(inner)
    return tuple(kept)


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
