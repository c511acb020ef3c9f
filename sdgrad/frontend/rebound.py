"""Slices whose name, or whose array's name, is bound to something else elsewhere: ``row = A[0]``, later ``row = A[i]``.

Bindings that stand for themselves have got names of their own (:mod:`~sdgrad.frontend.bindings`). Where loops and
branches decide which one holds, the slice is copied: DaCe refuses to bind the name of a view again, and writes what is
bound to the name of an array over what views of it show. A copy differs from a view where one of them is written in
place while the other is still read; that is refused.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from sdgrad.frontend.aliases import events, refuse_shared_writes
from sdgrad.frontend.bindings import name_of, root, shared_with
from sdgrad.frontend.ranks import rank, ranks


def copy_slices(function: ast.FunctionDef, dimensions: Mapping[str, int]) -> None:
    """Rewrite a function so that no slice has a name, or is of a name, that is bound again.

    :param dimensions: of arguments, where they are known: ``A[0]`` of a matrix is a view, of a vector it is a number.
    """
    known = ranks(function, dimensions)
    bound = Counter([a.arg for a in function.args.args])
    bound.update(e.name for e in events(function.body) if e.kind == "bind")
    for node in [n for n in ast.walk(function) if isinstance(n, ast.Assign)]:
        name, of = name_of(node), shared_with(node.value, known)
        if name is None or of is None or isinstance(node.value, ast.Name):
            continue
        if bound[of] > 1 or bound[name] > 1 and is_view(node.value, known):
            refuse_shared_writes(function, node, (name, of), f"Call it something else than '{name}'")
            node.value = ast.copy_location(ast.UnaryOp(op=ast.UAdd(), operand=node.value), node.value)


def is_view(value: ast.expr, dimensions: Mapping[str, int]) -> bool:
    """Whether a value certainly is a part of an array that a name has, and no single number."""
    base = root(value)
    if base is None or not isinstance(base.value, ast.Name):
        return False
    index = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
    slices = any(isinstance(e, ast.Slice) for e in index)
    return slices or len(index) < dimensions.get(base.value.id, 0) and all(rank(e, dimensions) == 0 for e in index)
