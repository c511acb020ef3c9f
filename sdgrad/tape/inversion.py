"""Invert a leaf: compute the values that its stores destroyed from the values that they wrote.

::

    v = x[i]                       w = x[i]
    w = v + k         -->          v = w - k
    x[i] = w                       x[i] = v

Only exact inverses count. Integers are added, subtracted and exchanged modulo a power of two. Floating-point numbers
change their sign or place only: ``x + 1.0`` rounds, and ``x * 2.0`` overflows. If a destroyed value has no exact
solution, there is no inverse.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace

from sdgrad.program.leaves import live
from sdgrad.program.tree import Instr, Leaf, Let, Load, Program, Source, Store
from sdgrad.symbolic import code, kinds

WIDTHS = {f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""Bytes of the results of casts to integers, by the cast's name."""


@dataclass(frozen=True)
class Exact:
    """Solve equations exactly, for names of known kinds and a container with elements of ``width`` bytes."""

    kind_of: Mapping[str, str]
    width: int

    def of_integers(self, let: Let, local: set[str]) -> bool:
        """True if a value is computed from integers and booleans only: a second evaluation gives the same bits."""
        return all(self.kind_of.get(n, "float") in ("int", "bool") for n in (let.names & local) | {let.name})

    def solve(self, expr: ast.expr, value: ast.expr, unknown: str) -> ast.expr | None:
        """Solve ``expr == value`` for a name that occurs once in ``expr``; None if the solution is not exact."""
        if isinstance(expr, ast.Name):
            return value if expr.id == unknown else None
        if isinstance(expr, ast.UnaryOp):
            keeps = isinstance(expr.op, ast.Not if kinds.expression(expr, self.kind_of) == "bool" else ast.USub)
            return self.solve(expr.operand, ast.UnaryOp(expr.op, value), unknown) if keeps else None
        if isinstance(expr, ast.Call):
            return self.solve(expr.args[0], value, unknown) if self.keeps_bits(expr) else None
        return self.binary(expr, value, unknown) if isinstance(expr, ast.BinOp) else None

    def keeps_bits(self, call: ast.Call) -> bool:
        """True if a cast changes no bit of a number that the container holds."""
        function, kind = code.callee(call), kinds.expression(call.args[0], self.kind_of)
        return WIDTHS.get(function, 0) >= self.width if kind == "int" else kind == kinds.CASTS.get(function) == "bool"

    def binary(self, expr: ast.BinOp, value: ast.expr, unknown: str) -> ast.expr | None:
        """Solve a sum, a difference, an exclusive or, or a product with a sign; None for other operations."""
        left, right = (unknown in code.names_in(e) for e in (expr.left, expr.right))
        if left == right:
            return None
        inner, other = (expr.left, expr.right) if left else (expr.right, expr.left)
        kind = kinds.expression(expr, self.kind_of)
        whole = kind == "int"
        signed = isinstance(expr.op, ast.Mult) and _is_sign(other) and kinds.expression(inner, self.kind_of) == kind
        if signed or isinstance(expr.op, ast.BitXor) and whole:
            return self.solve(inner, ast.BinOp(value, expr.op, other), unknown)
        if isinstance(expr.op, ast.Sub) and whole and right:
            return self.solve(inner, code.binary(ast.Sub, other, value), unknown)
        if isinstance(expr.op, (ast.Add, ast.Sub)) and whole:
            opposite = ast.Sub if isinstance(expr.op, ast.Add) else ast.Add
            return self.solve(inner, code.binary(opposite, value, other), unknown)
        return None


def inverse(
    leaf: Leaf,
    wanted: Iterable[Store],
    given: Iterable[Store],
    program: Program,
    kind_of: Mapping[str, str],
    at_hand: Callable[[Load], bool],
) -> Leaf | None:
    """Return a leaf that restores what some stores of ``leaf`` destroyed; None if one has no exact solution.

    :param wanted: stores whose old values to restore.
    :param given: stores whose results the inverse can load, in each instance from an element of its own.
    :param at_hand: True if a load finds the same value as when the leaf ran.
    """
    body: list[Instr] = []
    back: list[Store] = []
    for store in wanted:
        dtype = program.containers[store.container].dtype
        same = [s for s in given if program.containers[s.container].dtype == dtype]
        old = destroyed(leaf, store)
        found = solution(leaf, old, same, Exact(kind_of, dtype.bytes), at_hand) if old is not None else None
        if old is None or found is None:
            return None
        names = {i.name: f"{i.name}_{len(back)}" for i in found}  # each solution has names of its own
        body += [_renamed(i, names) for i in found]
        back.append(replace(store, value=names[old]))
    return Leaf(leaf.params, (*body, *back), Source(label=f"undo_{'_'.join(s.container for s in back)}"))


def destroyed(leaf: Leaf, store: Store) -> str | None:
    """Return the name under which a leaf loads the element that a store overwrites; None if it does not."""
    place = (store.container, store.index, None)
    before = leaf.body[: leaf.body.index(store)]
    loads = (i for i in before if isinstance(i, Load))
    return next((x.name for x in loads if (x.container, x.index, x.guard) == place), None)


def solution(
    leaf: Leaf, wanted: str, given: Iterable[Store], exact: Exact, at_hand: Callable[[Load], bool]
) -> tuple[Load | Let, ...] | None:
    """Compute ``wanted`` from the stored values; None if these do not determine it exactly.

    Known names spread along the leaf's instructions in both directions, until no instruction adds one.
    """
    known: dict[str, Load | Let] = {}
    for store in given:
        known.setdefault(store.value, Load(store.value, store.container, store.index))
    definitions = [i for i in leaf.body if not isinstance(i, Store)]
    local = {i.name for i in definitions}
    grown = -1
    while grown < len(known):
        grown = len(known)
        for instr in definitions:
            unknown = (instr.names & local) - known.keys()
            found = (
                _solved(instr, unknown, exact)
                if instr.name in known
                else _repeated(instr, unknown, local, exact, at_hand)
            )
            if found is not None:
                known[found.name] = found
    needed = live(known.values(), {wanted}) if wanted in known else ()
    return tuple(i for i in needed if not isinstance(i, Store)) or None


def _repeated(
    instr: Load | Let, unknown: Set[str], local: set[str], exact: Exact, at_hand: Callable[[Load], bool]
) -> Load | Let | None:
    """Return an instruction if its operands are known and a second run gives the same value; else None."""
    if unknown:
        return None
    same = at_hand(instr) if isinstance(instr, Load) else exact.of_integers(instr, local)
    return instr if same else None


def _solved(instr: Load | Let, unknown: Set[str], exact: Exact) -> Let | None:
    """Compute the only unknown operand of an instruction from its known result; None if that is not exact."""
    if isinstance(instr, Load) or len(unknown) != 1:
        return None
    (name,) = unknown
    value = exact.solve(instr.expr, code.name(instr.name), name)
    return Let(name, value) if value is not None else None


def _renamed(instr: Load | Let, names: Mapping[str, str]) -> Load | Let:
    """Rename what an instruction defines and mentions."""
    if isinstance(instr, Load):
        return replace(instr, name=names[instr.name])
    return Let(names[instr.name], code.rename_names(instr.expr, names))


def _is_sign(expr: ast.expr) -> bool:
    """True for the constants 1 and -1."""
    try:
        return ast.literal_eval(expr) in (1, -1)
    except ValueError:
        return False
