"""Half precision is for memory: what is read is made single, computed with, and rounded when it is stored."""

from __future__ import annotations

import ast
from dataclasses import replace

import dace

from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Load, Node, Program, rewritten
from sdgrad.symbolic import code

SINGLE, HALF = "float32", "float16"


def compute_in_single(program: Program) -> Program:
    """The program with numbers of half precision as operands and results only: C++ does not mix them with others."""
    half = {n for n, c in program.containers.items() if c.dtype == dace.float16}
    if not half:
        return program
    names = all_names(program)

    def widened(node: Node) -> Block:
        if not isinstance(node, Leaf) or not any(isinstance(i, Let) for i in node.body):
            return (node,)
        return (replace(node, body=tuple(x for i in node.body for x in _widened(i, half, names))),)

    return replace(program, body=rewritten(program.body, widened))


def _widened(instr: Instr, half: set[str], names: Names) -> tuple[Instr, ...]:
    if isinstance(instr, Let):
        return (replace(instr, expr=code.bottom_up(instr.expr, _single)),)
    if instr.container not in half:
        return (instr,)
    if isinstance(instr, Load):
        read = names.fresh(instr.name)
        return replace(instr, name=read), Let(instr.name, _as(SINGLE, read))
    rounded = names.fresh(instr.value)
    return Let(rounded, _as(HALF, instr.value)), replace(instr, value=rounded)


def _single(expr: ast.expr) -> ast.expr:
    """What is rounded inside of an expression, as a single number."""
    rounds = isinstance(expr, ast.Call) and code.callee(expr) == HALF
    return code.call(f"dace.{SINGLE}", expr) if rounds else expr


def _as(dtype: str, name: str) -> ast.expr:
    return code.call(f"dace.{dtype}", code.name(name))
