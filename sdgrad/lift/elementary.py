"""Split expressions that differentiation made into elementary steps, so that they can be differentiated again.

Each step is one elementary function, one polynomial or one choice: ``g = cos(x) * sin(y)`` becomes ``v = cos(x); w =
sin(y); g = v * w``.
"""

from __future__ import annotations

from dataclasses import replace

from sdgrad.lift.tasklets import elementary_steps
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.leaves import live
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code


def elementary(program: Program) -> Program:
    """Split the expressions of all leaves of a program into elementary steps."""
    names = all_names(program)

    def apart(node: Node) -> Block:
        """Split the expressions of a leaf; any other node unchanged."""
        if isinstance(node, CustomCall):
            return (replace(node, block=rewritten(node.block, apart)),)
        if not isinstance(node, Leaf):
            return (node,)
        body: list[Instr] = []
        for instr in node.body:
            if isinstance(instr, Let) and not code.is_atom(instr.expr):
                body += elementary_steps(instr, names)
            else:
                body.append(instr)
        return (replace(node, body=live(body, set())),)

    return replace(program, body=rewritten(program.body, apart))
