"""Loops that may stop early remember their last trip, so that they can run backwards from it."""

from __future__ import annotations

import ast
from dataclasses import replace

import dace
import sympy
from dace import data as dt

from sdgrad.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Container, Leaf, Let, Loop, Program, Store, children, with_children
from sdgrad.symbolic import code

ZERO = (sympy.Integer(0),)


def remember_trips(program: Program) -> Program:
    """The program where every loop with a condition of its own stores the symbol of its last trip."""
    names, made = all_names(program), dict(program.containers)
    body = _block(program.body, names, made)
    return replace(program, body=body, containers=made)


def _block(block: Block, names: Names, made: dict[str, Container]) -> Block:
    out: list = []
    for node in block:
        node = with_children(node, tuple(_block(b, names, made) for b in children(node)))
        if isinstance(node, Loop) and node.also is not None and node.last is None:
            last = Container(names.fresh(f"last_{node.symbol}"), dt.Scalar(dace.int64, transient=True))
            made[last.name] = last
            none = ast.BinOp(left=node.start.expr, op=ast.Sub(), right=node.step.expr)
            v, w = names.fresh("v"), names.fresh("v")
            out.append(
                Leaf((), (*node.start.loads, *node.step.loads, Let(v, none), Store(last.name, ZERO, v)), node.source)
            )
            first = Leaf((), (Let(w, code.name(node.symbol)), Store(last.name, ZERO, w)), node.source)
            node = replace(node, body=(first, *node.body), last=last.name)
        out.append(node)
    return tuple(out)
