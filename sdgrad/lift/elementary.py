"""Derivatives in the form that is differentiated: steps of one elementary function, one polynomial or one choice."""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.lift.tasklets import elementary_steps
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.leaves import live
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, rewritten


def elementary(program: Program) -> Program:
    """The program with the expressions of its leaves taken apart."""
    names = all_names(program)

    def apart(node: Node) -> Block:
        if isinstance(node, CustomCall):
            return (replace(node, block=rewritten(node.block, apart)),)
        if not isinstance(node, Leaf):
            return (node,)
        body: list[Instr] = []
        for instr in node.body:
            if isinstance(instr, Let) and not isinstance(instr.expr, (ast.Name, ast.Constant)):
                body += elementary_steps(instr, names)
            else:
                body.append(instr)
        return (replace(node, body=live(body, set())),)

    return replace(program, body=rewritten(program.body, apart))
