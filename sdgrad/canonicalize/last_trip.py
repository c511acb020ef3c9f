"""Record the last iteration of loops that may stop early, so that their reversal can start from it.

``while c`` becomes a loop with a container ``last``, set to the loop variable in each iteration.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import dace
from dace import data as dt

from sdgrad.program.leaves import set_scalar
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Container, Loop, Program, Value, map_blocks
from sdgrad.symbolic import code


def remember_trips(program: Program) -> Program:
    """Give every loop with a condition a container for the variable of its last iteration."""
    names, made = all_names(program), dict(program.containers)
    body = _block(program.body, names, made)
    return replace(program, body=body, containers=made)


def _block(block: Block, names: Names, made: dict[str, Container]) -> Block:
    """Record the last iterations of the loops in a block."""
    out: list = []
    for node in block:
        node = map_blocks(node, lambda b: _block(b, names, made))
        if isinstance(node, Loop) and node.also is not None and node.last is None:
            last = Container(names.fresh(f"last_{node.symbol}"), dt.Scalar(dace.int64, transient=True))
            made[last.name] = last
            none = ast.BinOp(left=node.start.expr, op=ast.Sub(), right=node.step.expr)
            before = Value((*node.start.loads, *node.step.loads), none)
            out.append(set_scalar(last.name, before, names.fresh("v"), node.source))
            first = set_scalar(last.name, Value((), code.name(node.symbol)), names.fresh("v"), node.source)
            node = replace(node, body=(first, *node.body), last=last.name)
        out.append(node)
    return tuple(out)
