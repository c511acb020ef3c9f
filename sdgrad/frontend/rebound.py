"""Names bound to a slice, and to something else elsewhere: ``row = A[0]``, and later ``row = np.sin(row)``.

DaCe refuses to bind the name of a view again. Where one binding simply follows another, each gets a name of its own;
where loops and branches decide which one holds, the slice is copied. A copy differs from a view where one of them is
written in place while the other is still read; that is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from sdgrad.frontend.aliases import events, refuse_shared_writes
from sdgrad.frontend.syntax import blocks
from sdgrad.frontend.views import root


def separate_slices(function: ast.FunctionDef, dimensions: Mapping[str, int]) -> None:
    """Rewrite a function so that no name of a view is bound again.

    :param dimensions: of arguments that are arrays: ``A[0]`` of a matrix is a view, of a vector it is a number.
    """
    assignments = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and name_of(n) is not None]
    bound = [e.name for e in events(function.body) if e.kind == "bind"] + [a.arg for a in function.args.args]
    for name in sorted({str(name_of(n)) for n in assignments if is_view(n.value, dimensions)}):
        own = [n for n in assignments if name_of(n) == name]
        if bound.count(name) < 2:
            continue
        block = next((b for b in all_blocks(function) if all(any(n is s for s in b) for n in own)), None)
        if block is not None and bound.count(name) == len(own) and is_local(function, block, own[0], name):
            number(block, name)
            continue
        for node in own:
            if is_view(node.value, dimensions):
                base = root(node.value)
                assert base is not None and isinstance(base.value, ast.Name)
                refuse_shared_writes(function, node, (name, base.value.id), f"Call it something else than '{name}'")
                node.value = ast.copy_location(ast.UnaryOp(op=ast.UAdd(), operand=node.value), node.value)


def name_of(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if len(node.targets) == 1 and isinstance(target, ast.Name) else None


def is_view(value: ast.expr, dimensions: Mapping[str, int]) -> bool:
    """Whether a value certainly is a part of an array that a name has, and no single number."""
    base = root(value)
    if base is None or not isinstance(base.value, ast.Name):
        return False
    index = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
    slices = any(isinstance(e, ast.Slice) for e in index)
    return slices or len(index) < dimensions.get(base.value.id, 0)


def all_blocks(node: ast.AST) -> list[list[ast.stmt]]:
    return [b for n in ast.walk(node) for b in blocks(n)]  # type: ignore[arg-type]


def is_local(function: ast.FunctionDef, block: list[ast.stmt], first: ast.Assign, name: str) -> bool:
    """Whether a name is read only in a block, after its first binding there."""
    start = next(k for k, s in enumerate(block) if s is first)
    inside = {id(n) for s in block[start + 1 :] for n in ast.walk(s)}
    reads = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and n is not first.targets[0])
    return all(id(n) in inside for n in reads)


def number(block: list[ast.stmt], name: str) -> None:
    """A name of its own for each binding in a block."""
    current, count = name, 0
    for node in block:
        target = node.targets[0] if isinstance(node, ast.Assign) and name_of(node) == name else None
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id == name and n is not target:
                n.id = current
        if target is not None:
            assert isinstance(target, ast.Name)
            count += 1
            current = target.id = name if count == 1 else f"{name}_binding_{count}"
