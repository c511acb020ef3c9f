"""Compute with half precision numbers in single precision: promote loads, round stores.

Half precision saves memory, not arithmetic, and C++ does not mix its type with others::

    v = x[i]                 v_0 = x[i]; v = float32(v_0)
    w = v * v          ->    w = v * v
    y[i] = w                 w_0 = float16(w); y[i] = w_0
"""

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
    """Promote half precision operands and round results, so that all arithmetic is in single precision.

    A program without such containers stays unchanged, and so do leaves that only copy.
    """
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
    """Return an instruction with its conversions.

    :param half: containers of half precision.
    """
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
    """Return an expression that is rounded to half precision as a single precision number; others unchanged."""
    rounds = isinstance(expr, ast.Call) and code.callee(expr) == HALF
    return code.call(f"dace.{SINGLE}", expr) if rounds else expr


def _as(dtype: str, name: str) -> ast.expr:
    """Return the conversion of a value."""
    return code.call(f"dace.{dtype}", code.name(name))
