"""Sizes by name: ``n = A.shape[0] - 3 + 1`` is put in place where ``n`` is used.

DaCe's frontend makes a scalar in memory of ``n``, and then has no size for ``np.zeros(n)``. A name that is bound once,
to arithmetic on integers and extents of arrays, means that expression everywhere. Integer arguments that sizes are
made of (``np.zeros(n)``, ``A[:n]``) are constants of the compiled program.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections import Counter
from collections.abc import Mapping

from sdgrad.frontend.syntax import is_numpy
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, to_ast

ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
SHAPED = {  # functions whose arguments make a shape, and how many of these do
    "zeros": 1, "ones": 1, "empty": 1, "full": 1, "eye": 2, "identity": 1, "arange": 3, "linspace": 3, "ndarray": 1,
    "reshape": 9, "tile": 2, "repeat": 2, "broadcast_to": 2, "zeros_like": 0,
}  # fmt: skip
OF_ARRAYS = ("reshape", "tile", "repeat", "broadcast_to")  # NumPy's take the array first, methods do not


def inline_sizes(function: ast.FunctionDef) -> None:
    """Rewrite a function so that names of sizes are the expressions they were bound to."""
    bound = Counter(n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    bound.update(a.arg for a in function.args.args)
    sizes: dict[str, ast.expr] = {}
    for statement in function.body:  # in order: a size may be named by an earlier one
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            pairs = _pairs(statement.targets[0], statement.value)
            for target, value in pairs:
                if bound[target] == 1 and _is_size(value, bound, sizes):
                    sizes[target] = Inline(sizes).visit(copy.deepcopy(value))
    if sizes:
        function.body = [Inline(sizes).visit(s) for s in function.body if not _is_named_size(s, sizes)] or [ast.Pass()]


def sizing_arguments(function: ast.FunctionDef) -> set[str]:
    """Parameters of a function that it makes shapes or bounds of slices of, directly or through names."""
    bounds = {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Slice)
        for bound in (node.lower, node.upper, node.step)
        if bound is not None
        for name in _names(bound)
    }
    sliced = _closure(bounds, _made(function, ranges=False))
    return (shaping_names(function) | sliced) & {a.arg for a in function.args.args}


def shaping_names(function: ast.FunctionDef) -> set[str]:
    """Names that shapes are made of, directly or through others; with a loop's variable, the loop's range too."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = code.callee(node)
            of_array = name in OF_ARRAYS and isinstance(node.func, ast.Attribute) and is_numpy(node.func.value)
            for argument in node.args[1 if of_array else 0 : SHAPED.get(name, 0)]:
                found |= _names(argument)
    return _closure(found, _made(function, ranges=True))


def _made(function: ast.FunctionDef, ranges: bool) -> dict[str, set[str]]:
    """Names, and the names their values are made of."""
    made: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target, value in (p for t in node.targets for p in _pairs(t, node.value)):
                made.setdefault(target, set()).update(_names(value))
        elif ranges and isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            made.setdefault(node.target.id, set()).update(_names(node.iter))
    return made


def _closure(names: set[str], made: Mapping[str, set[str]]) -> set[str]:
    found = set(names)
    while more := {n for name in found for n in made.get(name, ())} - found:
        found |= more
    return found


def fix_arguments(function: ast.FunctionDef, values: Mapping[str, int | Expr]) -> None:
    """Put the values of some arguments in place where the function reads them."""
    constants = {n: ast.Constant(v) if isinstance(v, int) else to_ast(v) for n, v in values.items()}
    function.body = [Inline(constants).visit(s) for s in function.body]


def _names(node: ast.expr) -> set[str]:
    """Names whose value an expression is made of; of an array only the extents are."""
    if isinstance(node, ast.Attribute):
        return set()
    own = {node.id} if isinstance(node, ast.Name) else set()
    return own.union(*(_names(c) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Names and what they are bound to; ``n, m = A.shape`` binds its extents."""
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if not isinstance(target, ast.Tuple) or not all(isinstance(t, ast.Name) for t in target.elts):
        return []
    names = [t.id for t in target.elts if isinstance(t, ast.Name)]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
        return list(zip(names, value.elts, strict=True))
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return [
            (n, ast.Subscript(value=copy.deepcopy(value), slice=ast.Constant(k), ctx=ast.Load()))
            for k, n in enumerate(names)
        ]
    return []


def _is_size(value: ast.expr, bound: Counter[str], sizes: dict[str, ast.expr]) -> bool:
    """Whether an expression is integer arithmetic with extents and other sizes."""

    def integer(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return type(node.op) in ARITHMETIC and integer(node.left) and integer(node.right)
        if isinstance(node, ast.Name):
            return node.id in sizes
        return isinstance(node, ast.Constant) and type(node.value) is int or _is_extent(node, bound)

    return integer(value)


def _is_extent(node: ast.expr, bound: Counter[str]) -> bool:
    """``name.shape[0]`` (or ``len(name)``) of a name that is bound once."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return False
    array = node.value.value
    plain = isinstance(node.slice, ast.Constant) and node.value.attr == "shape"
    return plain and isinstance(array, ast.Name) and bound[array.id] <= 1


def _is_named_size(statement: ast.stmt, sizes: dict[str, ast.expr]) -> bool:
    """Whether a statement binds nothing but sizes."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    pairs = _pairs(statement.targets[0], statement.value)
    return bool(pairs) and all(name in sizes for name, _ in pairs)


class Inline(ast.NodeTransformer):
    """Puts expressions in place of names, and folds arithmetic on integers."""

    def __init__(self, sizes: dict[str, ast.expr]) -> None:
        self.sizes = sizes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.sizes:
            return ast.copy_location(copy.deepcopy(self.sizes[node.id]), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        sides = (node.left, node.right)
        numbers = [s.value for s in sides if isinstance(s, ast.Constant) and type(s.value) is int]
        fine = {ast.Pow: lambda n: n >= 0, ast.FloorDiv: lambda n: n != 0}.get(type(node.op), lambda n: True)
        if len(numbers) == 2 and type(node.op) in ARITHMETIC and fine(numbers[1]):
            return ast.copy_location(ast.Constant(ARITHMETIC[type(node.op)](*numbers)), node)
        return node
