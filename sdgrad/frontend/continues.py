"""``continue`` in a ``while`` loop as a flag and conditions.

DaCe's frontend computes a loop's condition at the end of its body, and ``continue`` would jump past that.
"""

from __future__ import annotations

import ast

from sdgrad.frontend.syntax import blocks, change_blocks, statement


def flag_continues(function: ast.FunctionDef) -> None:
    """Rewrite a function so that no ``while`` loop has a ``continue`` of its own."""
    loops = [n for n in ast.walk(function) if isinstance(n, ast.While)]
    for k, loop in enumerate(loops):
        if any(_own(s) for s in loop.body):
            flag = f"skip_rest_{k}"
            loop.body = [statement(f"{flag} = 0", loop), *_block(loop.body, flag)]


def _own(node: ast.stmt) -> bool:
    """Whether a statement has a ``continue`` of the loop it is in."""
    if isinstance(node, ast.Continue):
        return True
    if isinstance(node, (ast.For, ast.While, ast.FunctionDef)):
        return False
    return any(_own(s) for block in blocks(node) for s in block)


def _block(block: list[ast.stmt], flag: str) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for k, node in enumerate(block):
        if isinstance(node, ast.Continue):
            return [*out, statement(f"{flag} = 1", node)]
        out.append(node)
        if _own(node):
            change_blocks(node, lambda inner: _block(inner, flag))
            rest = _block(block[k + 1 :], flag)
            if rest:
                test = ast.parse(f"{flag} == 0", mode="eval").body
                out.append(ast.copy_location(ast.If(test=test, body=rest, orelse=[]), node))
            return out
    return out
