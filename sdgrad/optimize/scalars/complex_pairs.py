"""Expand complex arithmetic of nests into real arithmetic on pairs, which compilers vectorize.

Operations of ``std::complex`` copy objects and call functions. Sums, products, choices, conjugates, exponentials and
comparisons become real instructions::

    w = z * z          ->     w_re = z_re * z_re - z_im * z_im
                              w_im = z_re * z_im + z_im * z_re

Other functions, and divisions by complex numbers, keep complex operands. Temporaries hold the parts in two arrays
(:mod:`sdgrad.optimize.scalars.complex_planes`).
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
"""Real and imaginary part."""

ZERO = code.constant(0)


def complex_as_pairs(program: Program) -> Program:
    """Expand the complex numbers of a program's nests into pairs; unchanged if it has none.

    Leaves without parameters are expanded only if they access planes.
    """
    if not any(kind_of(c.dtype) == "complex" for c in program.containers.values()):
        return program
    names = all_names(program)
    planes, containers = planes_of(program, names)

    def changed(node: Node) -> Block:
        """Return a nest with pairs; other nodes unchanged."""
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
    """Signal an expression that needs complex operands."""


@dataclass
class Writer:
    """Write the body of one nest.

    :param kinds: kind of each name: ``"complex"``, ``"float"``, ..
    :param dtype: complex type that joins two parts.
    :param body: the instructions so far.
    :param parts: real and imaginary part of each complex name.
    :param wholes: complex names that exist as one number, too.
    """

    names: Names
    kinds: Mapping[str, str]
    dtype: str
    planes: Planes
    body: list[Instr] = field(default_factory=list)
    parts: dict[str, Pair] = field(default_factory=dict)
    wholes: set[str] = field(default_factory=set)

    def write(self, instr: Instr) -> None:
        """Append an instruction, expanded as far as it can be."""
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
        """Return a name for a part; an expression gets one."""
        if isinstance(part, ast.Name):
            return part.id
        name = self.names.fresh("v")
        self.body.append(Let(name, part))
        return name

    def let(self, let: Let) -> None:
        """Append a computation: on parts, or on whole numbers if its expression needs these."""
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
        """Extract the parts of a number that exists as a whole."""
        if self.kinds[name] == "complex":
            self.wholes.add(name)
            re, im = (code.call(part, code.name(name)) for part in ("real", "imag"))
            self.parts[name] = self.named(name, (re, im))

    def joined(self, name: str) -> None:
        """Join the parts of a number, unless it exists as a whole."""
        if name in self.parts and name not in self.wholes:
            self.wholes.add(name)
            self.body.append(Let(name, code.call(self.dtype, *self.parts[name])))

    def named(self, stem: str, pair: Pair) -> Pair:
        """Return a pair of names and constants for a pair of expressions."""
        return self.atom(pair[0], f"{stem}_re"), self.atom(pair[1], f"{stem}_im")

    def atom(self, value: ast.expr, stem: str = "v") -> ast.expr:
        """Return a name or constant for an expression, so that it is computed once."""
        if code.is_atom(value):
            return value
        name = self.names.fresh(stem)
        self.body.append(Let(name, value))
        return code.name(name)

    def is_complex(self, expr: ast.expr) -> bool:
        """True if the value of an expression is complex."""
        return expression(expr, self.kinds) == "complex"

    # -- expressions
    def pair(self, expr: ast.expr) -> Pair:
        """Return the real and the imaginary part of an expression.

        :raises Whole: it needs complex operands.
        """
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
        """Return the parts of a sum, a product, or a quotient by a real number.

        :raises Whole: it is another operation.
        """
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
        """Return the parts of a conjugate, a conversion of real parts, an exponential, or a strong zero.

        :raises Whole: it is another function.
        """
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
            return self.strong(expr)
        raise Whole

    def strong(self, expr: ast.Call) -> Pair:
        """Return the parts of a strong zero: zero if the cotangent is zero and the partial is not finite."""
        (a, b), g = (tuple(map(self.atom, self.pair(x))) for x in expr.args)
        moves: list[ast.expr] = [ast.Compare(left=x, ops=[ast.NotEq()], comparators=[ZERO]) for x in g]
        finite: list[ast.expr] = [code.call("sdgrad_is_finite", x) for x in (a, b)]
        kept = self.atom(ast.BoolOp(op=ast.Or(), values=[*moves, ast.BoolOp(op=ast.And(), values=finite)]), "c")
        return code.choose(kept, a, ZERO), code.choose(kept, b, ZERO)

    def exponential(self, a: ast.expr, b: ast.expr) -> Pair:
        """Return ``exp(a) (cos(b) + i sin(b))``, by functions with vector versions.

        As in C, the result is zero if ``exp(a)`` is, and real if ``b`` is zero. The choices are made on arguments,
        because a conditional call is not vectorized.
        """
        size = self.atom(code.call("exp", a))
        if _is_zero(b):
            return size, ZERO
        turn = self.atom(code.choose(_equal(size, 0), ZERO, b))
        scale = self.atom(code.choose(_equal(turn, 0), code.constant(1), size))
        cosine, sine = (code.call(f, turn) for f in ("sdgrad_cos", "sdgrad_sin"))
        return code.binary(ast.Mult, size, cosine), code.binary(ast.Mult, scale, sine)

    def floating(self, expr: ast.expr) -> ast.expr:
        """Return a real part as a floating point number: C++ divides integers as integers."""
        if isinstance(expr, ast.Constant):
            return code.constant(float(expr.value))  # type: ignore[arg-type]
        real = self.real(expr)
        return real if expression(expr, self.kinds) == "float" else code.call("dace.float64", real)

    def real(self, expr: ast.expr) -> ast.expr:
        """Return a real expression in terms of parts.

        :raises Whole: it needs complex operands.
        """
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
    """Return the negated expression."""
    return ast.UnaryOp(op=ast.USub(), operand=value)


def _sum(op: type[ast.operator], a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a sum or difference; the first term alone if the second is the constant zero."""
    return a if _is_zero(b) else code.binary(op, a, b)


def _equal(value: ast.expr, number: int) -> ast.expr:
    """Return the comparison of an expression with a number."""
    return ast.Compare(left=value, ops=[ast.Eq()], comparators=[code.constant(number)])


def _is_zero(value: ast.expr) -> bool:
    """True for the constant zero."""
    return isinstance(value, ast.Constant) and value.value == 0
