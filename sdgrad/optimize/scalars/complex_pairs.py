"""Complex numbers as pairs of real ones inside of nests, which compilers compute in lanes.

``z * z + c if abs(z) < r else z`` on ``std::complex`` copies objects and calls functions. Here sums, products, choices,
conjugates and comparisons are spelled out for real and imaginary parts; everything else keeps complex operands.
Temporaries hold the parts apart (:mod:`sdgrad.optimize.scalars.complex_planes`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sdgrad.optimize.scalars.complex_planes import Planes, loaded, planes_of, stored
from sdgrad.program.kinds import complex_type, infer, kind_of
from sdgrad.program.leaves import live
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Load, Node, Program, rewritten
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import STRONG
from sdgrad.symbolic.kinds import CASTS, expression

Pair = tuple[ast.expr, ast.expr]
ZERO = code.constant(0)


def complex_as_pairs(program: Program) -> Program:
    """The program with the complex numbers of its nests in two parts."""
    if not any(kind_of(c.dtype) == "complex" for c in program.containers.values()):
        return program
    names = all_names(program)
    planes, containers = planes_of(program, names)

    def changed(node: Node) -> Block:
        if not isinstance(node, Leaf):
            return (node,)
        kinds = infer(node.body, program.containers)
        apart = any(not isinstance(i, Let) and i.container in planes for i in node.body)
        if not apart and not (node.params and "complex" in kinds.values()):
            return (node,)
        writer = Writer(names, kinds, complex_type(node.body, program.containers), planes)
        for instr in node.body:
            writer.write(instr)
        return (replace(node, body=live(writer.body, set())),)

    return replace(program, body=rewritten(program.body, changed), containers=containers)


class Whole(Exception):
    """An expression that needs complex operands."""


@dataclass
class Writer:
    """The body of one nest. ``parts`` of each complex name; ``wholes`` are those that exist as one number as well."""

    names: Names
    kinds: Mapping[str, str]
    dtype: str
    planes: Planes
    body: list[Instr] = field(default_factory=list)
    parts: dict[str, Pair] = field(default_factory=dict)
    wholes: set[str] = field(default_factory=set)

    def write(self, instr: Instr) -> None:
        if isinstance(instr, Load) and instr.container in self.planes:
            both = loaded(instr, self.planes, self.names)
            self.body += both
            self.parts[instr.name] = code.name(both[0].name), code.name(both[1].name)
        elif isinstance(instr, Load):
            self.body.append(instr)
            self.keep(instr.name)
        elif isinstance(instr, Let):
            self.let(instr)
        elif instr.container in self.planes:
            re, im = self.parts.get(instr.value, (code.name(instr.value), ZERO))
            self.body += stored(instr, self.planes, (self.name(re), self.name(im)))
        else:
            if self.kinds.get(instr.value) == "complex":
                self.joined(instr.value)
            self.body.append(instr)

    def name(self, part: ast.expr) -> str:
        """A part as a name."""
        if isinstance(part, ast.Name):
            return part.id
        name = self.names.fresh("v")
        self.body.append(Let(name, part))
        return name

    def let(self, let: Let) -> None:
        try:
            if self.kinds[let.name] == "complex":
                self.parts[let.name] = self.named(let.name, self.pair(let.expr))
            else:
                self.body.append(replace(let, expr=self.real(let.expr)))
        except Whole:
            for name in sorted(code.names_in(let.expr)):
                self.joined(name)
            self.body.append(let)
            self.keep(let.name)

    def keep(self, name: str) -> None:
        """Take the parts of a number that exists as a whole."""
        if self.kinds[name] == "complex":
            self.wholes.add(name)
            re, im = (code.call(part, code.name(name)) for part in ("real", "imag"))
            self.parts[name] = self.named(name, (re, im))

    def joined(self, name: str) -> None:
        """Make a number a whole one."""
        if name in self.parts and name not in self.wholes:
            self.wholes.add(name)
            self.body.append(Let(name, code.call(self.dtype, *self.parts[name])))

    def named(self, stem: str, pair: Pair) -> Pair:
        return self.atom(pair[0], f"{stem}_re"), self.atom(pair[1], f"{stem}_im")

    def atom(self, value: ast.expr, stem: str = "v") -> ast.expr:
        if isinstance(value, (ast.Name, ast.Constant)):
            return value
        name = self.names.fresh(stem)
        self.body.append(Let(name, value))
        return code.name(name)

    def is_complex(self, expr: ast.expr) -> bool:
        return expression(expr, self.kinds) == "complex"

    # -- expressions
    def pair(self, expr: ast.expr) -> Pair:
        """Real and imaginary part."""
        if not self.is_complex(expr):
            return self.real(expr), ZERO
        if isinstance(expr, ast.Name):
            return self.parts[expr.id]
        if isinstance(expr, ast.Constant) and isinstance(expr.value, complex):
            return code.constant(expr.value.real), code.constant(expr.value.imag)
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, (ast.USub, ast.UAdd)):
            re, im = self.pair(expr.operand)
            return (re, im) if isinstance(expr.op, ast.UAdd) else (_negative(re), _negative(im))
        if isinstance(expr, ast.IfExp):
            test = self.atom(self.real(expr.test), "c")
            then, other = self.pair(expr.body), self.pair(expr.orelse)
            return code.choose(test, then[0], other[0]), code.choose(test, then[1], other[1])
        if isinstance(expr, ast.BinOp):
            return self.binary(expr)
        if isinstance(expr, ast.Call):
            return self.call(expr)
        raise Whole

    def binary(self, expr: ast.BinOp) -> Pair:
        op = type(expr.op)
        if op in (ast.Add, ast.Sub):
            (a, b), (c, d) = self.pair(expr.left), self.pair(expr.right)
            return _sum(op, a, c), _sum(op, b, d)
        if op not in (ast.Mult, ast.Div):
            raise Whole
        (a, b), (c, d) = (tuple(map(self.atom, self.pair(x))) for x in (expr.left, expr.right))
        if _is_zero(d):
            return code.binary(op, a, c), code.binary(op, b, c)
        if op is ast.Div:
            raise Whole
        if _is_zero(b):
            return code.binary(op, a, c), code.binary(op, a, d)
        re = code.binary(ast.Sub, code.binary(op, a, c), code.binary(op, b, d))
        return re, code.binary(ast.Add, code.binary(op, a, d), code.binary(op, b, c))

    def call(self, expr: ast.Call) -> Pair:
        function = code.callee(expr)
        if function == "conj":
            re, im = self.pair(expr.args[0])
            return re, _negative(im)
        if CASTS.get(function) == "complex" and not any(map(self.is_complex, expr.args)):
            parts = [self.floating(a) for a in expr.args]
            return parts[0], parts[1] if len(parts) > 1 else ZERO
        if function == "exp":
            return self.exponential(*map(self.atom, self.pair(expr.args[0])))
        if function == STRONG:
            (a, b), g = (tuple(map(self.atom, self.pair(x))) for x in expr.args)
            moves: list[ast.expr] = [ast.Compare(left=x, ops=[ast.NotEq()], comparators=[ZERO]) for x in g]
            finite: list[ast.expr] = [code.call("sdgrad_is_finite", x) for x in (a, b)]
            kept = self.atom(ast.BoolOp(op=ast.Or(), values=[*moves, ast.BoolOp(op=ast.And(), values=finite)]), "c")
            return code.choose(kept, a, ZERO), code.choose(kept, b, ZERO)
        raise Whole

    def exponential(self, a: ast.expr, b: ast.expr) -> Pair:
        """exp(a) (cos(b) + i sin(b)), in functions that there are lanes of; zero where exp(a) or sin(b) is, as in C.

        What is chosen is what they are called with: calls that are chosen themselves the compiler makes one by one.
        """
        size = self.atom(code.call("exp", a))
        if _is_zero(b):
            return size, ZERO
        turn = self.atom(code.choose(_equal(size, 0), ZERO, b))
        scale = self.atom(code.choose(_equal(turn, 0), code.constant(1), size))
        cosine, sine = (code.call(f, turn) for f in ("sdgrad_cos", "sdgrad_sin"))
        return code.binary(ast.Mult, size, cosine), code.binary(ast.Mult, scale, sine)

    def floating(self, expr: ast.expr) -> ast.expr:
        """A part that was an integer would be divided as one."""
        if isinstance(expr, ast.Constant):
            return code.constant(float(expr.value))  # type: ignore[arg-type]
        real = self.real(expr)
        return real if expression(expr, self.kinds) == "float" else code.call("dace.float64", real)

    def real(self, expr: ast.expr) -> ast.expr:
        """An expression that is not complex; what it takes from complex numbers are their parts."""
        if not any(self.kinds.get(n) == "complex" for n in code.names_in(expr)):
            return expr
        if isinstance(expr, ast.Call) and len(expr.args) == 1 and self.is_complex(expr.args[0]):
            function = code.callee(expr)
            if function in ("real", "imag"):
                return self.pair(expr.args[0])[function == "imag"]
            if function == "abs":
                return code.call("sdgrad_modulus", *map(self.atom, self.pair(expr.args[0])))
        if isinstance(expr, ast.Compare) and len(expr.ops) == 1 and isinstance(expr.ops[0], (ast.Eq, ast.NotEq)):
            (a, b), (c, d) = self.pair(expr.left), self.pair(expr.comparators[0])
            tests: list[ast.expr] = [ast.Compare(left=x, ops=expr.ops, comparators=[y]) for x, y in ((a, c), (b, d))]
            return ast.BoolOp(op=ast.And() if isinstance(expr.ops[0], ast.Eq) else ast.Or(), values=tests)
        raise Whole


def _negative(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.USub(), operand=value)


def _sum(op: type[ast.operator], a: ast.expr, b: ast.expr) -> ast.expr:
    """A sum or difference, of which the second term may be nothing."""
    return a if _is_zero(b) else code.binary(op, a, b)


def _equal(value: ast.expr, number: int) -> ast.expr:
    return ast.Compare(left=value, ops=[ast.Eq()], comparators=[code.constant(number)])


def _is_zero(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 0
