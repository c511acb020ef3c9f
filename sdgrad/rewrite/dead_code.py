"""Remove what computes nothing that anybody reads: leaves, library calls, and the loops around them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dace import nodes as nd

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Node,
    NodeCall,
    Program,
    children,
    map_blocks,
    reads,
    walk,
    writes,
)


def only_results(program: Program, unwanted: Collection[str]) -> Program:
    """Return a program without some of its results, and without what only they need."""
    made = {n: Container(n, program.containers[n].local(n).desc) for n in unwanted}
    return without_unread(replace(program, containers={**program.containers, **made}))


def without_unread(program: Program) -> Program:
    """Remove leaves and library calls that only write temporaries which nobody reads, and what is unread then."""
    temporaries = {n for n, c in program.containers.items() if program.containers[program.root(n)].transient}
    while True:
        read = {program.root(name) for node in program.body for name in reads(node)}
        unread = {n for n in temporaries if program.root(n) not in read}
        body = _kept(program.body, unread)
        if body == program.body:
            return program
        program = replace(program, body=body)


def has_calls(program: Program) -> bool:
    """True if a program calls libraries."""
    return any(isinstance(n, NodeCall) for n in walk(program.body))


def _kept(block: Block, unread: set[str]) -> Block:
    """Return a block without calls and leaves that write nothing but these containers."""
    kept: list[Node] = []
    for node in block:
        inner = map_blocks(node, lambda b: _kept(b, unread))
        is_empty = bool(children(node)) and inner != node and not any(children(inner))
        if not is_empty and not (_is_pure(node) and writes(node) and writes(node) <= unread):
            kept.append(inner)
    return tuple(kept)


def _is_pure(node: Node) -> bool:
    """True of nodes that do nothing but write their results."""
    if isinstance(node, NodeCall):
        return isinstance(node, CustomCall) or isinstance(node.node, nd.LibraryNode)
    return isinstance(node, Leaf)
