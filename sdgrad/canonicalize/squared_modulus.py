"""Compute even powers of a modulus without the modulus: ``abs(z) ** 2`` is ``real(z) ** 2 + imag(z) ** 2``.

That spares a root, and in the derivative a division and the case of zero, where a modulus has none.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from sdgrad.program.kinds import infer
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, rewritten
from sdgrad.symbolic import code

EXPONENTS = (2, 4, 6, 8)


def square_moduli(program: Program) -> Program:
    """Replace even powers of moduli of complex numbers in all leaves."""
    names = all_names(program)

    def convert(node: Node) -> Block:
        """Convert the powers of a leaf; any other node unchanged."""
        if not isinstance(node, Leaf) or not any(isinstance(i, Let) and _is_modulus(i.expr) for i in node.body):
            return (node,)
        kind = infer(node.body, program.containers)
        named = {i.name: code.names_in(i.expr.args[0]) for i in node.body if isinstance(i, Let) and _is_modulus(i.expr)}
        moduli = {n: z for n, (z,) in named.items() if kind.get(z) == "complex"}
        return (_converted(node, moduli, names) if moduli else node,)

    return replace(program, body=rewritten(program.body, convert))


def _is_modulus(expr: ast.expr) -> TypeGuard[ast.Call]:
    """True of ``abs(name)``."""
    return isinstance(expr, ast.Call) and code.callee(expr) == "abs" and isinstance(expr.args[0], ast.Name)


def _converted(leaf: Leaf, moduli: Mapping[str, str], names: Names) -> Leaf:
    """Return a leaf without even powers of moduli, and without the moduli that nothing else needs.

    :param moduli: the complex number of each modulus.
    """
    body: list[Instr] = []
    parts: dict[str, tuple[str, str]] = {}
    for instr in leaf.body:
        modulus, exponent = _even_power(instr)
        if modulus not in moduli:
            body.append(instr)
            continue
        assert isinstance(instr, Let)
        if modulus not in parts:
            z = moduli[modulus]
            parts[modulus] = re, im = names.fresh(f"{z}_re"), names.fresh(f"{z}_im")
            body += [Let(re, code.parse(f"real({z})")), Let(im, code.parse(f"imag({z})"))]
        re, im = parts[modulus]
        square = code.parse(f"{re} * {re} + {im} * {im}")
        if exponent > 2:  # each formula is one step for the derivatives
            name = names.fresh(f"{modulus}_square")
            body.append(Let(name, square))
            square = code.binary(ast.Pow, code.name(name), code.constant(exponent // 2))
        body.append(replace(instr, expr=square))
    dead = {n for n in parts if not any(n in i.names for i in body if _defined(i) != n)}
    return replace(leaf, body=tuple(i for i in body if _defined(i) not in dead))


def _defined(instr: Instr) -> str | None:
    """Return the name that an instruction defines by a formula."""
    return instr.name if isinstance(instr, Let) else None


def _even_power(instr: Instr) -> tuple[str, int]:
    """Return name and exponent of ``name ** exponent`` with an even exponent, or of ``name * name``; else no name."""
    expr = instr.expr if isinstance(instr, Let) else None
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.left, ast.Name):
        return "", 0
    other = expr.right
    if isinstance(expr.op, ast.Mult) and isinstance(other, ast.Name) and other.id == expr.left.id:
        return other.id, 2
    exponent = other.value if isinstance(expr.op, ast.Pow) and isinstance(other, ast.Constant) else None
    return (expr.left.id, int(exponent)) if isinstance(exponent, (int, float)) and exponent in EXPONENTS else ("", 0)
