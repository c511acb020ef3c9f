"""Call the function of LAPACK that computes less where nobody reads the other results.

Programs take singular vectors for derivatives of singular values; a program of the values alone does not::

    svd(a) -> u, s, v             svdvals(a) -> s
    y = sum(s)                    y = sum(s)
"""

from __future__ import annotations

from dataclasses import replace

from sdgrad.program.tree import Block, NodeCall, Program, map_blocks, reads, walk
from sdgrad.runtime.libraries.lapack import KINDS, LapackCall


def compute_less(program: Program) -> Program:
    """Replace calls with results that the program does not read."""
    calls = [n for n in walk(program.body) if isinstance(n, NodeCall) and isinstance(n.node, LapackCall)]
    if not any(KINDS[n.node.kind].less for n in calls):
        return program
    read = {program.root(c) for n in walk(program.body) for c in reads(n)} | {
        program.root(c) for c in program.arguments
    }
    return replace(program, body=_block(program.body, program, read))


def _block(block: Block, program: Program, read: set[str]) -> Block:
    inner = (map_blocks(n, lambda b: _block(b, program, read)) for n in block)
    return tuple(_call(n, program, read) if isinstance(n, NodeCall) else n for n in inner)


def _call(node: NodeCall, program: Program, read: set[str]) -> NodeCall:
    """Return a call of the kind that gives what is read, or the call itself."""
    if not isinstance(node.node, LapackCall):
        return node
    found = {c: region for c, region in node.outputs.items() if program.root(region.container) in read}
    less = KINDS[node.node.kind].less.get("".join(sorted(c[1:] for c in found)))
    return node if less is None else replace(node, node=LapackCall(less, node.node.numbers), outputs=found)
