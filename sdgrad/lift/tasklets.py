"""Flatten tasklet code to straight-line scalar instructions, one elementary step each.

Function calls, divisions, powers and choices get a name of their own, so that each has one row of the rule table. Sums
and products stay together as polynomials, whose partials SymPy takes whole. ``if`` statements become guards and choices
(if-conversion, Allen et al. 1983), loops of constant bounds are unrolled. Other statements are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dace import subsets

from sdgrad.errors import UnsupportedNode
from sdgrad.program.names import Names
from sdgrad.program.tree import Instr, Let, Load, Store
from sdgrad.program.window import Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, to_expr
from sdgrad.symbolic.kinds import CASTS
from sdgrad.symbolic.scalar_rules import RULES

UNROLL_LIMIT = 256
# NumPy's names of functions, and those in C++
SPELLINGS = {"gamma": "tgamma", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}


@dataclass(frozen=True)
class ScalarOperand:
    """A connector that carries one value, already loaded under a name."""

    name: str


@dataclass(frozen=True)
class ArrayOperand:
    """A connector that carries (part of) a container, subscripted in the code."""

    window: Window
    subset: subsets.Range  # of the window

    @property
    def container(self) -> str:
        """Return the container that the connector leads to."""
        return self.window.container

    @property
    def first(self) -> tuple[Expr, ...]:
        """Return the container's subscript of the first element."""
        return self.window.index(tuple(b for b, _, _ in self.subset.ranges))

    def index(self, given: list[Expr]) -> tuple[Expr, ...]:
        """Return the container's subscript of the element ``connector[given]``.

        :raises UnsupportedNode: the subset is strided, or the number of subscripts does not fit.
        """
        ranges = self.subset.ranges
        if any(step != 1 for _, _, step in ranges):
            raise UnsupportedNode("a tasklet subscripts a connector with a strided subset")
        result = [b for b, _, _ in ranges]
        wide = [d for d, (b, e, _) in enumerate(ranges) if b != e]
        axes = list(range(len(ranges))) if len(given) == len(ranges) else wide
        if len(given) != len(axes) and not (len(given) == 1 and not axes and given[0] == 0):
            raise UnsupportedNode(f"a tasklet subscripts {self.container}[{self.subset}] with {len(given)} indices")
        for axis, k in zip(axes, given, strict=False):
            result[axis] = result[axis] + k
        return self.window.index(tuple(result))


Operand = ScalarOperand | ArrayOperand


def signed(op: ast.unaryop, value: ast.expr) -> ast.expr:
    """Apply a sign to an expression; a number stays a number."""
    number = value.value if isinstance(value, ast.Constant) else None
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return code.constant(-number if isinstance(op, ast.USub) else number)
    return ast.UnaryOp(op=op, operand=value)


def without_cast(exponent: ast.expr) -> ast.expr:
    """Return the integer of ``dace.float64(2)``, as the frontend writes exponents; others unchanged."""
    if isinstance(exponent, ast.Call) and CASTS.get(code.callee(exponent)) == "float" and len(exponent.args) == 1:
        number = exponent.args[0].value if isinstance(exponent.args[0], ast.Constant) else None
        return exponent.args[0] if type(number) is int else exponent
    return exponent


@dataclass(frozen=True)
class Output:
    """The target of an output connector: an element or part of a container, or a name that another tasklet reads."""

    operand: ArrayOperand | None
    mode: str = "set"
    fresh: bool = False


@dataclass
class _Lifting:
    """The instructions so far, and the current value of each local name."""

    names: Names
    inputs: Mapping[str, Operand]
    outputs: Mapping[str, Output]
    symbols: Mapping[str, ast.expr]
    instrs: list[Instr] = field(default_factory=list)
    env: dict[str, ast.expr] = field(default_factory=dict)
    partial: dict[str, ast.expr | None] = field(default_factory=dict)  # outputs set only under a condition

    # -- expressions
    def let(self, expr: ast.expr, stem: str = "v") -> ast.expr:
        """Define a fresh name for an expression."""
        target = self.names.fresh(stem)
        self.instrs.append(Let(target, expr))
        return code.name(target)

    def atom(self, expr: ast.expr, guard: ast.expr | None) -> ast.expr:
        """Reduce an expression to a name or a number."""
        value = self.value(expr, guard)
        return value if code.is_atom(value) else self.let(value)

    def value(self, expr: ast.expr, guard: ast.expr | None) -> ast.expr:
        """Reduce an expression to a polynomial over names; everything else is named."""
        if isinstance(expr, ast.Name):
            return self.lookup(expr.id)
        if isinstance(expr, ast.Constant):
            return expr
        if isinstance(expr, ast.Subscript):
            return self.subscript(expr, guard)
        if isinstance(expr, ast.IfExp):
            test = self.condition(expr.test, guard)
            then = self.atom(expr.body, self.narrow(guard, test))
            other = self.atom(expr.orelse, self.narrow(guard, self.negate(test)))
            return self.let(code.choose(test, then, other))
        if isinstance(expr, ast.Call):
            args = [self.atom(a, guard) for a in expr.args]
            spelling = SPELLINGS.get(code.callee(expr))
            return self.let(ast.Call(func=code.name(spelling) if spelling else expr.func, args=args, keywords=[]))
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, (ast.USub, ast.UAdd)):
            return signed(expr.op, self.value(expr.operand, guard))
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub, ast.Mult)):
            return code.binary(type(expr.op), self.value(expr.left, guard), self.value(expr.right, guard))
        if isinstance(expr, ast.BinOp):
            right = without_cast(expr.right) if isinstance(expr.op, ast.Pow) else expr.right
            return self.let(code.binary(type(expr.op), self.atom(expr.left, guard), self.atom(right, guard)))
        return self.condition(expr, guard)

    def condition(self, expr: ast.expr, guard: ast.expr | None) -> ast.expr:
        """Name a comparison or logical expression; no derivative passes through it."""
        if isinstance(expr, ast.Compare):
            parts = [self.atom(e, guard) for e in [expr.left, *expr.comparators]]
            return self.let(ast.Compare(left=parts[0], ops=expr.ops, comparators=parts[1:]), "c")
        if isinstance(expr, ast.BoolOp):
            return self.let(ast.BoolOp(op=expr.op, values=[self.condition(v, guard) for v in expr.values]), "c")
        if isinstance(expr, ast.UnaryOp):
            return self.let(ast.UnaryOp(op=expr.op, operand=self.atom(expr.operand, guard)), "c")
        if isinstance(expr, (ast.Name, ast.Constant, ast.Subscript, ast.Call, ast.BinOp, ast.IfExp)):
            return self.atom(expr, guard)
        raise UnsupportedNode(f"a tasklet uses '{ast.unparse(expr)}' ({type(expr).__name__})")

    def lookup(self, identifier: str) -> ast.expr:
        """Return the current value of an identifier: a local, an input, or a symbol."""
        if identifier in self.env:
            return self.env[identifier]
        operand = self.inputs.get(identifier)
        if isinstance(operand, ScalarOperand):
            return code.name(operand.name)
        if isinstance(operand, ArrayOperand):
            if operand.subset.num_elements() == 1:
                return self.load(operand, operand.first, None)
            raise UnsupportedNode(f"a tasklet uses the array connector '{identifier}' without a subscript")
        return self.symbols.get(identifier, code.name(identifier))

    def subscript(self, expr: ast.Subscript, guard: ast.expr | None) -> ast.expr:
        """Load ``connector[index]``."""
        if not isinstance(expr.value, ast.Name):
            raise UnsupportedNode(f"a tasklet subscripts '{ast.unparse(expr.value)}'")
        operand = self.inputs.get(expr.value.id)
        if isinstance(operand, ScalarOperand):
            return code.name(operand.name)
        if operand is None:
            raise UnsupportedNode(f"a tasklet reads back its output '{ast.unparse(expr)}'")
        return self.load(operand, operand.index(self.indices(expr, guard)), guard)

    def load(self, operand: ArrayOperand, index: tuple[Expr, ...], guard: ast.expr | None) -> ast.expr:
        """Load an element under a fresh name, where the guard holds."""
        target = self.names.fresh(f"v_{operand.container}")
        name = guard.id if isinstance(guard, ast.Name) else None
        self.instrs.append(Load(target, operand.container, index, name))
        return code.name(target)

    def indices(self, expr: ast.Subscript, guard: ast.expr | None) -> list[Expr]:
        """Return the subscripts of an expression."""
        parts = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
        return [to_expr(ast.unparse(self.atom(p, guard))) for p in parts]

    def narrow(self, guard: ast.expr | None, test: ast.expr) -> ast.expr:
        """Return the conjunction of a guard and a test."""
        if guard is None:
            return test
        return self.let(ast.BoolOp(op=ast.And(), values=[guard, test]), "c")

    def negate(self, test: ast.expr) -> ast.expr:
        """Return the negation of a test."""
        return self.let(ast.UnaryOp(op=ast.Not(), operand=test), "c")

    # -- statements
    def run(self, body: list[ast.stmt], guard: ast.expr | None = None) -> None:
        """Run statements under a guard."""
        for statement in body:
            self.statement(statement, guard)

    def statement(self, node: ast.stmt, guard: ast.expr | None) -> None:
        """Run one statement under a guard.

        :raises UnsupportedNode: the statement is no assignment, ``if`` or ``for``.
        """
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value, guard)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value, guard)
        elif isinstance(node, ast.AugAssign):
            left = _as_load(node.target)
            self.assign(node.target, ast.BinOp(left=left, op=node.op, right=node.value), guard)
        elif isinstance(node, ast.If):
            test = self.condition(node.test, guard)
            self.run(node.body, self.narrow(guard, test))
            if node.orelse:
                self.run(node.orelse, self.narrow(guard, self.negate(test)))
        elif isinstance(node, ast.For):
            self.unroll(node, guard)
        elif not (isinstance(node, ast.Pass) or isinstance(node, ast.Expr) and _has_no_effect(node.value)):
            raise UnsupportedNode(f"a tasklet holds the statement '{ast.unparse(node).splitlines()[0]}'")

    def assign(self, target: ast.expr, value: ast.expr, guard: ast.expr | None) -> None:
        """Assign a value, or the elements of a tuple in parallel."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            parts = [self.atom(v, guard) for v in value.elts]
            for t, v in zip(target.elts, parts, strict=False):
                self.bind(t, v, guard)
            return
        self.bind(target, self.atom(value, guard), guard)

    def bind(self, target: ast.expr, value: ast.expr, guard: ast.expr | None) -> None:
        """Bind a name to a value. Under a guard, choose between the new and the old value."""
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return self.store_at(target.value.id, self.indices(target, guard), value, guard)
        if not isinstance(target, ast.Name):
            raise UnsupportedNode(f"a tasklet assigns to '{ast.unparse(target)}'")
        if guard is None:
            self.env[target.id] = value
            self.partial.pop(target.id, None)
            return
        known = target.id in self.env or (target.id in self.inputs and target.id not in self.outputs)
        if known and target.id not in self.partial:
            self.env[target.id] = self.let(code.choose(guard, value, self.lookup(target.id)))
        elif target.id in self.env:
            self.env[target.id] = self.let(code.choose(guard, value, self.env[target.id]))
            either = self.partial[target.id]
            self.partial[target.id] = self.let(ast.BoolOp(op=ast.Or(), values=[either, guard]), "c")  # type: ignore
        else:
            self.env[target.id], self.partial[target.id] = value, guard

    def store_at(self, connector: str, index: list[Expr], value: ast.expr, guard: ast.expr | None) -> None:
        """Store to ``connector[index]`` where the guard holds."""
        output = self.outputs.get(connector)
        if output is None or output.operand is None:
            raise UnsupportedNode(f"a tasklet writes elements of '{connector}'")
        self.instrs.append(
            Store(
                output.operand.container,
                output.operand.index(index),
                self.named(value),
                output.mode,
                guard.id if isinstance(guard, ast.Name) else None,
                output.fresh,
            )
        )

    def named(self, value: ast.expr) -> str:
        """Return the name of a value."""
        atom = value if isinstance(value, ast.Name) else self.let(value)
        assert isinstance(atom, ast.Name)
        return atom.id

    def unroll(self, node: ast.For, guard: ast.expr | None) -> None:
        """Unroll a loop with constant bounds.

        :raises UnsupportedNode: the bounds are not constant, or the loop is too long.
        """
        text = ast.unparse(node.iter)
        bounds = node.iter.args if isinstance(node.iter, ast.Call) and code.callee(node.iter) == "range" else None
        if bounds is None or not isinstance(node.target, ast.Name) or node.orelse:
            raise UnsupportedNode(f"a tasklet loops over '{text}'")
        try:
            steps = list(range(*(int(ast.literal_eval(b)) for b in bounds)))
        except (ValueError, TypeError) as error:
            raise UnsupportedNode(f"a tasklet loops over '{text}', whose bounds are not constant") from error
        if len(steps) > UNROLL_LIMIT:
            raise UnsupportedNode(f"a tasklet loops {len(steps)} times; write the loop outside the tasklet")
        for k in steps:
            self.env[node.target.id] = code.constant(k)
            self.run(node.body, guard)


def elementary_steps(let: Let, names: Names) -> list[Instr]:
    """Split a definition into several, each of one function, polynomial or choice."""
    lifting = _Lifting(names, {}, {}, {})
    value = lifting.value(let.expr, None)
    last = lifting.instrs[-1] if lifting.instrs else None
    if isinstance(value, ast.Name) and isinstance(last, Let) and last.name == value.id:
        return [*lifting.instrs[:-1], Let(let.name, last.expr)]
    return [*lifting.instrs, Let(let.name, value)]


INVERSE = {"sub": ("sum", ast.UnaryOp(op=ast.USub(), operand=code.name("v"))), "div": ("prod", code.parse("1 / v"))}


def as_sums_and_products(instrs: list[Instr], names: Names) -> list[Instr]:
    """Replace ``x -= v`` by ``x += -v``, and ``x /= v`` by ``x *= 1 / v``."""
    out: list[Instr] = []
    for instr in instrs:
        if isinstance(instr, Store) and instr.mode in INVERSE:
            mode, expr = INVERSE[instr.mode]
            inverse = names.fresh("v")
            out.append(Let(inverse, code.rename_names(expr, {"v": instr.value})))
            instr = replace(instr, value=inverse, mode=mode)
        out.append(instr)
    return out


def _as_load(target: ast.expr) -> ast.expr:
    """Return a store target as an expression to read."""
    return ast.parse(ast.unparse(target), mode="eval").body


def lift_code(
    body: list[ast.stmt],
    inputs: Mapping[str, Operand],
    outputs: Mapping[str, Output],
    symbols: Mapping[str, ast.expr],
    names: Names,
) -> tuple[list[Instr], dict[str, str]]:
    """Flatten the code of a tasklet to instructions.

    Returns these, and the name of the value on each output connector.
    """
    lifting = _Lifting(names, inputs, outputs, symbols)
    lifting.run(body)
    values: dict[str, str] = {}
    for connector, output in outputs.items():
        if connector not in lifting.env:
            continue
        value, guard = lifting.named(lifting.env[connector]), lifting.partial.get(connector)
        values[connector] = value
        if output.operand is not None:
            start = output.operand.first
            lifting.instrs.append(
                Store(
                    output.operand.container,
                    start,
                    value,
                    output.mode,
                    guard.id if isinstance(guard, ast.Name) else None,
                    output.fresh,
                )
            )
    return as_sums_and_products(lifting.instrs, names), values


def _has_no_effect(expr: ast.expr) -> bool:
    """True of a value that is computed for nothing, by functions that change nothing."""
    calls = [n for n in ast.walk(expr) if isinstance(n, ast.Call)]
    return not any(isinstance(n, ast.NamedExpr) for n in ast.walk(expr)) and all(code.callee(n) in RULES for n in calls)
