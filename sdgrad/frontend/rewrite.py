"""Source rewrites before DaCe parses: constructs its frontend refuses or gets wrong, as ones it has.

- ``x = a if c else b`` becomes an ``if`` statement;
- ``A[1:9:3] *= B`` and ``A *= row`` outside of maps become assignments of the whole expression (DaCe takes the operand
  of an augmented assignment to have the target's shape, and ignores its step);
- ``A[idx] += B`` becomes ``A[idx] = A[idx] + B``: with an index twice the last one counts, as NumPy has it;
- ``A[mask] = f(B[mask])`` becomes ``A[mask] = f(B)``, which is the same where the mask holds;
- ``A[::2, 1:] = B`` in several dimensions broadcasts ``B`` to the target's shape first (DaCe steps through it wrongly);
- ``return a, a`` returns a copy the second time;
- ``f(x, 0.1 * i)`` and ``f(x, np.tanh(0.5))`` give the argument a name first (DaCe takes it for an integer, or a list);
- ``A[:] = A`` is nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from sdgrad.errors import ParseError
from sdgrad.frontend.bindings import VIEWS, shared_with
from sdgrad.frontend.ranks import rank
from sdgrad.program.names import Names
from sdgrad.symbolic import code

SAME_TYPE = {"abs", "absolute", "square", "negative", "positive", "sign", "conj", "conjugate"}
"""Functions of NumPy whose result has the type of the argument."""


class Rewriter:
    """Rewrites the statements of one function, outside of maps and tasklets."""

    def __init__(self, arrays: set[str], masks: set[str], indices: set[str], known: Mapping[str, int]) -> None:
        self.arrays, self.masks, self.indices = set(arrays), set(masks), set(indices)
        self.own: set[str] = set()  # locals that are arrays (or numbers) of their own, not views
        self.views: set[str] = set()  # locals that show parts of other arrays
        self.ranks = known  # of names, where it is known
        self.names = Names()

    def function(self, node: ast.FunctionDef) -> None:
        _Extremes().visit(node)
        self.names.add(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        refuse_values_of_and(node)
        node.body = self.block(node.body, False)

    def block(self, body: list[ast.stmt], in_map: bool) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            if not in_map and isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
                out += self.named_arguments(statement)
            out += self.statement(statement, in_map)
        return out

    def named_arguments(self, statement: ast.stmt) -> list[ast.stmt]:
        """Arithmetic on numbers among a function's arguments gets a name first: DaCe takes it for an integer."""
        out: list[ast.stmt] = []
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
        for call in [c for c in calls if isinstance(c.func, ast.Name) or code.callee(c) in SAME_TYPE]:
            for k, argument in enumerate(call.args):
                if _is_arithmetic(argument) or _is_constant_call(argument):
                    name = self.names.fresh("argument")
                    out.append(
                        ast.copy_location(ast.Assign(targets=[ast.Name(name, ast.Store())], value=argument), call)
                    )
                    call.args[k] = ast.copy_location(ast.Name(name, ast.Load()), argument)
        return out

    def refuse_points(self, target: ast.expr) -> None:
        """``B[i, j] = x`` with arrays of indices writes single points, which DaCe takes for a grid.

        :raises ParseError: it is written.
        """
        if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Tuple):
            return
        found = [None if isinstance(e, ast.Slice) else rank(e, self.ranks) for e in target.slice.elts]
        arrays = [k for k, r in enumerate(found) if r is not None and r > 0]
        if len(arrays) > 1 or arrays and 0 in found[: arrays[0]]:
            raise ParseError(
                f"line {target.lineno}: '{ast.unparse(target)}' writes single elements at places from several indices, "
                "of which some are arrays. Write a loop over them"
            )

    def statement(self, node: ast.stmt, in_map: bool) -> list[ast.stmt]:
        for target in getattr(node, "targets", [getattr(node, "target", None)]) if not in_map else ():
            self.refuse_points(target)
        if isinstance(node, (ast.For, ast.While)):
            node.body = self.block(node.body, in_map or _is_map(node))
        elif isinstance(node, ast.With):
            node.body = self.block(node.body, in_map)
        elif isinstance(node, ast.If):
            node.body, node.orelse = self.block(node.body, in_map), self.block(node.orelse, in_map)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assign(node, in_map)
        elif isinstance(node, ast.AugAssign) and not in_map:
            return [self.augmented(node)]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            node.value = self.distinct(node.value)
        return [node]

    def assign(self, node: ast.Assign, in_map: bool) -> list[ast.stmt]:
        target = node.targets[0]
        if _is_itself(target, node.value):
            return [ast.copy_location(ast.Pass(), node)]
        self.remember(target, node.value)
        if isinstance(node.value, ast.IfExp):
            choice = node.value
            then, other = (
                ast.copy_location(ast.Assign(targets=[target], value=v), node) for v in (choice.body, choice.orelse)
            )
            return [
                ast.copy_location(
                    ast.If(test=choice.test, body=self.assign(then, in_map), orelse=self.assign(other, in_map)), node
                )
            ]
        if isinstance(target, ast.Subscript) and not in_map and self.may_overlap(target, node.value):
            node.value = ast.copy_location(ast.UnaryOp(op=ast.UAdd(), operand=node.value), node.value)
        if (
            isinstance(target, ast.Subscript)
            and not in_map
            and _strided(target.slice)
            and not isinstance(node.value, ast.Constant)
        ):
            node.value = _broadcast(node.value, target)
        if isinstance(target, ast.Subscript) and self.is_mask(target.slice):
            node.value = _without_mask(node.value, ast.dump(target.slice))
        return [node]

    def remember(self, target: ast.expr, value: ast.expr) -> None:
        """Note what kind of value a name has from here on."""
        if not isinstance(target, ast.Name):
            return
        self.masks.discard(target.id)
        self.own.discard(target.id)
        self.views.discard(target.id)
        if not isinstance(value, ast.Name) and shared_with(value, self.ranks) is not None:
            self.views.add(target.id)
        if isinstance(value, ast.Compare):
            self.masks.add(target.id)
        fresh_call = isinstance(value, ast.Call) and code.callee(value) not in VIEWS
        if isinstance(value, ast.BinOp) or fresh_call:
            self.own.add(target.id)

    def may_overlap(self, target: ast.Subscript, value: ast.expr) -> bool:
        """Whether a value may show what an assignment changes; NumPy reads all of it before it writes."""
        if isinstance(value, ast.Name):
            base = target.value.id if isinstance(target.value, ast.Name) else None
            return base == value.id or bool({base, value.id} & self.views)
        return self.scatters(target.slice) and shared_with(value, self.ranks) is not None

    def scatters(self, index: ast.expr) -> bool:
        """Whether arrays are among some indices: the places of what is written may be any."""
        entries = index.elts if isinstance(index, ast.Tuple) else [index]
        return any(not isinstance(e, ast.Slice) and rank(e, self.ranks) != 0 for e in entries)

    def is_mask(self, index: ast.expr) -> bool:
        return isinstance(index, ast.Compare) or isinstance(index, ast.Name) and index.id in self.masks

    def augmented(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        whole = isinstance(target, ast.Name) and target.id in self.arrays
        if whole:
            assert isinstance(target, ast.Name)
            store: ast.expr = ast.Subscript(value=ast.Name(target.id, ast.Load()), slice=ast.Slice(), ctx=ast.Store())
        elif isinstance(target, ast.Name) and target.id in self.own:
            store = ast.Name(target.id, ast.Store())
        elif isinstance(target, ast.Name) and self.ranks.get(target.id, 0) > 0:  # a view, which the value may overlap
            store = ast.Subscript(value=ast.Name(target.id, ast.Load()), slice=ast.Slice(), ctx=ast.Store())
        elif isinstance(target, ast.Subscript) and any(
            isinstance(n, ast.Slice) or isinstance(n, ast.Name) and n.id in self.indices for n in ast.walk(target.slice)
        ):
            store = target
        else:
            return node
        load = ast.parse(ast.unparse(target), mode="eval").body
        value = ast.BinOp(left=load, op=node.op, right=node.value)
        return ast.copy_location(ast.Assign(targets=[store], value=value), node)

    def distinct(self, value: ast.Tuple) -> ast.Tuple:
        seen: set[str] = set()
        elements: list[ast.expr] = []
        for e in value.elts:
            again = isinstance(e, ast.Name) and e.id in seen
            elements.append(ast.UnaryOp(op=ast.UAdd(), operand=e) if again else e)
            seen |= {e.id} if isinstance(e, ast.Name) else set()
        return ast.copy_location(ast.Tuple(elts=elements, ctx=ast.Load()), value)


def refuse_values_of_and(function: ast.FunctionDef) -> None:
    """``x or y`` is one of both in Python, and true or false in a graph: fine as a condition, and of conditions.

    :raises ParseError: it is neither.
    """
    tests = {id(n.test) for n in ast.walk(function) if isinstance(n, (ast.If, ast.While, ast.IfExp, ast.Assert))}
    logic = [n for n in ast.walk(function) if isinstance(n, ast.BoolOp)]
    tests |= {id(v) for n in logic for v in n.values if id(n) in tests}
    tests |= {id(n.operand) for n in ast.walk(function) if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not)}
    for node in logic:
        sure = (ast.Compare, ast.BoolOp, ast.Name)
        if id(node) not in tests and not all(isinstance(v, sure) or _is_not(v) for v in node.values):
            raise ParseError(
                f"line {node.lineno}: '{ast.unparse(node)}' is the value of one of its parts. Write it with if and else"
            )


def _is_not(value: ast.expr) -> bool:
    truth = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    return truth or isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)


def _is_itself(target: ast.expr, value: ast.expr) -> bool:
    """``A[:] = A``: DaCe makes a view of it that has no memory."""
    whole = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)
    if not whole or not isinstance(value, ast.Name):
        return False
    assert isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)
    every = target.slice.lower is target.slice.upper is target.slice.step is None
    return every and isinstance(target.value, ast.Name) and target.value.id == value.id


def _is_arithmetic(node: ast.expr) -> bool:
    """An operation on names and a real number, without any array element in it."""
    parts = list(ast.walk(node))
    plain = all(
        isinstance(n, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context))
        for n in parts
    )
    return (
        isinstance(node, ast.BinOp)
        and plain
        and any(isinstance(n, ast.Constant) and type(n.value) is float for n in parts)
    )


def _is_constant_call(node: ast.expr) -> bool:
    """``np.tanh(-0.7)``, of which DaCe makes a list."""
    return isinstance(node, ast.Call) and not any(
        isinstance(n, ast.Name) for a in (*node.args, *(k.value for k in node.keywords)) for n in ast.walk(a)
    )


class _Extremes(ast.NodeTransformer):
    """``np.maximum(1.5, -0.7)`` is a number: DaCe makes a list of it. ``2 ** -n`` is real, ``round`` is NumPy's."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        base = node.left.value if isinstance(node.left, ast.Constant) else None
        below = isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub)
        if isinstance(node.op, ast.Pow) and isinstance(base, int) and below:
            node.left = ast.copy_location(ast.Constant(float(base)), node.left)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "round" and len(node.args) == 1:  # halves to even
            rounded = ast.Attribute(value=ast.Name("numpy", ast.Load()), attr="round", ctx=ast.Load())
            node.func = ast.copy_location(rounded, node.func)
        function = {"maximum": max, "minimum": min}.get(code.callee(node))
        if function is None or len(node.args) != 2 or node.keywords:
            return node
        try:
            values = [ast.literal_eval(a) for a in node.args]
        except ValueError:
            return node
        fine = all(type(v) in (int, float) for v in values)
        return ast.copy_location(ast.Constant(function(values)), node) if fine else node


def _is_map(node: ast.stmt) -> bool:
    """``for i in dace.map[...]``: its body is left as it is."""
    return isinstance(node, ast.For) and isinstance(node.iter, ast.Subscript)


def _strided(index: ast.expr) -> bool:
    """Whether a subscript in several dimensions has a step above one."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    return any(
        isinstance(p, ast.Slice) and isinstance(p.step, ast.Constant) and p.step.value not in (None, 1) for p in parts
    )


def _broadcast(value: ast.expr, target: ast.Subscript) -> ast.expr:
    """The value in the target's shape: DaCe broadcasts into strided targets with the target's own step."""
    shape = ast.Attribute(value=ast.parse(ast.unparse(target), mode="eval").body, attr="shape", ctx=ast.Load())
    function = ast.Attribute(value=ast.Name("numpy", ast.Load()), attr="broadcast_to", ctx=ast.Load())
    return ast.copy_location(ast.Call(func=function, args=[value, shape], keywords=[]), value)


def _without_mask(value: ast.expr, mask: str) -> ast.expr:
    class Unmask(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            self.generic_visit(node)
            return node.value if ast.dump(node.slice) == mask else node

    return Unmask().visit(value)
