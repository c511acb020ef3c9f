"""Loop variables that are more than counters: read after their loop, or assigned in it.

In Python ``i`` keeps its last value after ``for i in range(n)``, and giving it another one does not change the trips. A
graph's loop variable has the first value that ends the loop. Such loops count with a name of their own.
"""

from __future__ import annotations

import ast

from sdgrad.frontend.syntax import statement


def separate_counters(function: ast.FunctionDef) -> None:
    """Rewrite a function so that a loop variable is read in its loop only, and never assigned."""
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    for name in sorted({_variable(loop) for loop in loops}):
        own = [loop for loop in loops if _variable(loop) == name]
        if _assigned(own, name) or _read_outside(function, own, name):
            for k, loop in enumerate(own):
                if not isinstance(loop.iter, ast.Call):
                    continue  # a map, whose parameters are its own
                counter = f"{name}_trip_{k}"
                loop.body.insert(0, statement(f"{name} = {counter}", loop.body[0]))
                loop.target = ast.copy_location(ast.Name(counter, ast.Store()), loop.target)


def _variable(loop: ast.For) -> str:
    assert isinstance(loop.target, ast.Name)
    return loop.target.id


def _assigned(loops: list[ast.For], name: str) -> bool:
    stored = (n for loop in loops for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name))
    inner = {id(n.target) for loop in loops for s in loop.body for n in ast.walk(s) if isinstance(n, ast.For)}
    return any(n.id == name and isinstance(n.ctx, ast.Store) and id(n) not in inner for n in stored)


def _read_outside(function: ast.FunctionDef, loops: list[ast.For], name: str) -> bool:
    inside = {id(n) for loop in loops for s in loop.body for n in ast.walk(s)}
    names = (n for n in ast.walk(function) if isinstance(n, ast.Name))
    return any(n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside for n in names)
