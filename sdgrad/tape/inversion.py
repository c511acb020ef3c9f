"""Writes undone without a tape: what a leaf destroyed, computed from what it wrote.

Only where that is exact: integers are added, subtracted and exchanged modulo a power of two, and of floating-point
numbers only signs change and places are exchanged. (``x * 2`` is not exact where it overflows.)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sdgrad.program.leaves import live, mentioned
from sdgrad.program.tree import Instr, Leaf, Let, Load, Program, Source, Store
from sdgrad.symbolic import code, kinds

WIDTHS = {f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}  # of casts to integers


@dataclass(frozen=True)
class Exact:
    """Equations of which the solution is exact, for numbers of some kinds in containers of so many bytes."""

    kind_of: Mapping[str, str]
    width: int

    def of_integers(self, let: Let, local: set[str]) -> bool:
        """Whether a value is computed from integers alone: it is the same whenever it is computed."""
        return all(self.kind_of.get(n, "float") in ("int", "bool") for n in (mentioned(let) & local) | {let.name})

    def solve(self, expr: ast.expr, value: ast.expr, unknown: str) -> ast.expr | None:
        """``unknown`` from ``expr == value``, where it appears once in ``expr``; None where that is not exact."""
        if isinstance(expr, ast.Name):
            return value if expr.id == unknown else None
        if isinstance(expr, ast.UnaryOp):
            keeps = isinstance(expr.op, ast.Not if kinds.expression(expr, self.kind_of) == "bool" else ast.USub)
            return self.solve(expr.operand, ast.UnaryOp(expr.op, value), unknown) if keeps else None
        if isinstance(expr, ast.Call):
            return self.solve(expr.args[0], value, unknown) if self.keeps_bits(expr) else None
        return self.binary(expr, value, unknown) if isinstance(expr, ast.BinOp) else None

    def keeps_bits(self, call: ast.Call) -> bool:
        """Whether a cast keeps the bits that a container holds."""
        function, kind = code.callee(call), kinds.expression(call.args[0], self.kind_of)
        return WIDTHS.get(function, 0) >= self.width if kind == "int" else kind == kinds.CASTS.get(function) == "bool"

    def binary(self, expr: ast.BinOp, value: ast.expr, unknown: str) -> ast.expr | None:
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
    """A leaf that puts back what some stores of ``leaf`` destroyed; None where that cannot be had exactly.

    :param given: stores whose results are there when it runs, each to an element of its own.
    :param at_hand: whether a load finds what it found when the leaf ran.
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
    """The name under which a leaf loads what one of its stores overwrites."""
    place = (store.container, store.index, None)
    before = leaf.body[: leaf.body.index(store)]
    loads = (i for i in before if isinstance(i, Load))
    return next((x.name for x in loads if (x.container, x.index, x.guard) == place), None)


def solution(
    leaf: Leaf, wanted: str, given: Iterable[Store], exact: Exact, at_hand: Callable[[Load], bool]
) -> tuple[Load | Let, ...] | None:
    """Instructions that compute ``wanted`` from stored values: what is known spreads along the leaf's instructions."""
    known: dict[str, Load | Let] = {}
    for store in given:
        known.setdefault(store.value, Load(store.value, store.container, store.index))
    definitions = [i for i in leaf.body if not isinstance(i, Store)]
    local = {i.name for i in definitions}
    grown = -1
    while grown < len(known):
        grown = len(known)
        for instr in definitions:
            unknown = (mentioned(instr) & local) - known.keys()
            if isinstance(instr, Load):
                if instr.name not in known and not unknown and at_hand(instr):
                    known[instr.name] = instr
            elif instr.name not in known:
                if not unknown and exact.of_integers(instr, local):
                    known[instr.name] = instr
            elif len(unknown) == 1 and (name := unknown.pop()) not in known:
                value = exact.solve(instr.expr, code.name(instr.name), name)
                if value is not None:
                    known[name] = Let(name, value)
    found = live(known.values(), {wanted}) if wanted in known else ()
    return tuple(i for i in found if not isinstance(i, Store)) or None


def _renamed(instr: Load | Let, names: Mapping[str, str]) -> Load | Let:
    if isinstance(instr, Load):
        return replace(instr, name=names[instr.name])
    return Let(names[instr.name], code.rename_names(instr.expr, names))


def _is_sign(expr: ast.expr) -> bool:
    try:
        return ast.literal_eval(expr) in (1, -1)
    except ValueError:
        return False
