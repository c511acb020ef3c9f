"""Early returns as DaCe's frontend has none: one ``return`` at the end, of variables that the others assign.

``if c: return x`` followed by more becomes ``if c: result = x`` and ``else: more``; a return in a loop leaves the
loop and says so in a flag.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from sdgrad.frontend.syntax import blocks, statement

RESULT, FLAG = "returned_value_", "has_returned_"


def single_return(function: ast.FunctionDef) -> None:
    """Rewrite a function so that it returns at its end only."""
    early = [r for s in function.body[:-1] for r in _returns(s)]
    last = function.body[-1]
    early += [] if isinstance(last, ast.Return) else _returns(last)
    valued = [r for r in _all_returns(function) if r.value is not None]
    if not early or not valued:
        return
    names = _names(valued[0].value)
    rewriting = _Rewriting(names, len(names) == 1 and not isinstance(valued[0].value, ast.Tuple))
    body = rewriting.block(function.body, False)
    first = function.body[0]
    start = [statement(f"{FLAG} = 0", first)] if rewriting.flag_used else []
    text = names[0] if rewriting.single else f"({', '.join(names)},)"
    function.body = [*start, *body, statement(f"return {text}", first)]


def _names(value: ast.expr | None) -> list[str]:
    count = len(value.elts) if isinstance(value, ast.Tuple) else 1
    return [RESULT] if count == 1 else [f"{RESULT}_{k}" for k in range(count)]


def _returns(node: ast.stmt) -> list[ast.Return]:
    """The returns inside a statement, those of functions it defines aside."""
    if isinstance(node, ast.Return):
        return [node]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return []
    return [r for block in blocks(node) for s in block for r in _returns(s)]


def _all_returns(function: ast.FunctionDef) -> list[ast.Return]:
    return [r for s in function.body for r in _returns(s)]


def _ends(block: list[ast.stmt]) -> bool:
    """Whether every way through a block returns."""
    last = block[-1] if block else None
    return isinstance(last, ast.Return) or isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse)


@dataclass
class _Rewriting:
    names: list[str]
    single: bool
    flag_used: bool = False

    def block(self, block: list[ast.stmt], in_loop: bool) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, node in enumerate(block):
            rest = block[k + 1 :]
            if isinstance(node, ast.Return):
                return out + self.leave(node, in_loop)
            if not _returns(node):
                out.append(node)
            elif isinstance(node, ast.If):
                return out + self.branch(node, rest, in_loop)
            else:
                node.body = self.block(node.body, True)  # type: ignore[attr-defined]
                out.append(node)
                return out + self.unless_returned(self.block(rest, in_loop), in_loop, node)
        return out

    def branch(self, node: ast.If, rest: list[ast.stmt], in_loop: bool) -> list[ast.stmt]:
        """A branch of which some arm returns, and what follows it."""
        arms = [node.body, node.orelse]
        going = [k for k, arm in enumerate(arms) if not _ends(arm)]
        if not in_loop and len(going) <= 1:
            for k in going:
                arms[k] = arms[k] + rest
            node.body, node.orelse = (self.block(arm, False) for arm in arms)
            return [node]
        node.body, node.orelse = (self.block(arm, in_loop) for arm in arms)
        after = self.block(rest, in_loop)
        # in a loop the returning arm has left it, so that what follows runs only where it did not
        return [node, *after] if in_loop else [node, *self.unless_returned(after, False, node)]

    def leave(self, node: ast.Return, in_loop: bool) -> list[ast.stmt]:
        values = [node.value] if self.single else list(getattr(node.value, "elts", []))
        out: list[ast.stmt] = []
        for name, value in zip(self.names, values, strict=True):
            assert value is not None
            fresh = ast.UnaryOp(op=ast.UAdd(), operand=value) if isinstance(value, ast.Name) else value
            out.append(ast.Assign(targets=[ast.Name(name, ast.Store())], value=fresh))
        out.append(statement(f"{FLAG} = 1", node))
        self.flag_used = True
        if in_loop:
            out.append(ast.Break())
        return [ast.copy_location(s, node) for s in out]

    def unless_returned(self, rest: list[ast.stmt], in_loop: bool, node: ast.stmt) -> list[ast.stmt]:
        self.flag_used = True
        if in_loop:
            leave = ast.If(test=ast.parse(f"{FLAG} == 1", mode="eval").body, body=[ast.Break()], orelse=[])
            return [ast.copy_location(leave, node), *rest]
        if not rest:
            return []
        test = ast.parse(f"{FLAG} == 0", mode="eval").body
        return [ast.copy_location(ast.If(test=test, body=rest, orelse=[]), node)]
