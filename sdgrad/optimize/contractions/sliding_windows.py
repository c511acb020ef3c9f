"""What trips of a loop multiply: a matrix that all share, or rows of it that slide along, and vectors of their own."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

import numpy as np
import sympy

from sdgrad.config import config
from sdgrad.optimize.contractions.recognition import Contraction, recognise, split_stores
from sdgrad.program.tree import Expr, Leaf, Load, Node, Param, Program, Store
from sdgrad.symbolic.expr import free_names, substitute, sym

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Window:
    """A parameter of a product, and the rows of the matrix that it walks over: ``parameter + shift``.

    :param known: the shift in terms of the loop's variable, as are ``first`` and ``last``, a trip's rows.
    """

    param: Param
    shift: Expr
    known: Expr
    first: Expr
    last: Expr


@dataclass(frozen=True)
class Product:
    """A contraction of a matrix, which all trips share, and vectors: one with the window's parameter, and another."""

    found: Contraction
    window: Window
    matrix: Load | Store
    along: Load | Store
    across: Load | Store


class Trips:
    """The trips of a loop, which come in any order.

    :param means: symbols that the body assigns, in terms of the loop's variable.
    :param private: containers that live within a trip.
    """

    def __init__(self, variable: Param, means: Mapping[str, Expr], private: Set[str], program: Program) -> None:
        self.variable, self.means, self.private, self.program = variable.name, means, private, program
        self.low, self.high = sorted((int(variable.start), int(variable.stop)))
        self.values = np.arange(self.low, self.high + 1)

    def products(self, leaf: Leaf) -> tuple[list[Product], list[Leaf]]:
        """The products among a leaf's accumulations, and the leaf with what is left."""
        found: dict[int, Product] = {}

        def product(alone: Leaf) -> list[Node] | None:
            contraction = recognise(alone)
            mine = self.product(contraction) if contraction is not None else None
            if mine is None:
                return None
            found[id(alone)] = mine
            return [alone]

        parts = [n for n in split_stores(leaf, self.program, product) if isinstance(n, Leaf)]
        # of a sum, all terms are products, or it stays as it is
        return [found[id(n)] for n in parts if id(n) in found], [n for n in parts if id(n) not in found]

    def product(self, c: Contraction) -> Product | None:
        if any(self.moves(x) for x in c.constants) or any(p.step != 1 for p in c.leaf.params):
            return None
        for p in c.leaf.params:
            others = [q for q in c.leaf.params if q is not p]
            if any(self.unknown(q.start, q.stop) for q in others):
                continue
            window = self.window(p, c)
            split = self.split(window, c) if window is not None else None
            if window is not None and split is not None:
                size = self.evaluated(window.last - window.first)
                work = sympy.prod([q.count for q in others])
                if (
                    size is None
                    or not work.is_number
                    or int(work) * (int(size.max()) + 1) < config.machine.strip_multiplications
                ):
                    return None
                return Product(c, window, *split)
        return None

    def unknown(self, *exprs: Expr) -> bool:
        """Whether expressions are not the same in all trips."""
        return bool(free_names(*exprs) & {self.variable, *self.means})

    def moves(self, access: Load | Store) -> bool:
        """Whether an access is of another element in each trip."""
        return access.container in self.private or self.unknown(*access.index)

    def window(self, p: Param, c: Contraction) -> Window | None:
        """How a parameter walks over the rows of what it shares with all trips."""
        shared = [x for x in (c.store, c.a, c.b) if x.container not in self.private]
        moving = [e for x in shared for e in x.index if p.name in free_names(e) and self.unknown(e)]
        shift = moving[0] - sym(p.name) if moving else ZERO
        if p.name in free_names(shift):
            return None
        known = substitute(shift, self.means)
        first, last = (substitute(x, self.means) + known for x in (p.start, p.stop))
        found = [self.evaluated(x) for x in (first, last)]
        if any(x is None or np.any(np.diff(x) < 0) for x in found):
            return None
        return Window(p, shift, known, first, last)

    def evaluated(self, expr: Expr) -> np.ndarray | None:
        """The values of an expression in all trips, as the loop's variable increases; None where they are not known."""
        if free_names(expr) - {self.variable}:
            return None
        (variable,) = expr.free_symbols or {sym(self.variable)}
        try:
            values = sympy.lambdify(variable, expr, "numpy")(self.values)
        except (TypeError, NameError, ValueError):
            return None
        return np.broadcast_to(np.asarray(values), self.values.shape)

    def split(self, window: Window, c: Contraction) -> tuple[Load | Store, Load | Store, Load | Store] | None:
        """Matrix, vector along the window, and the other vector."""
        roles: dict[str, Load | Store] = {}
        name, every = window.param.name, {p.name for p in c.leaf.params}
        for access in (c.store, c.a, c.b):
            mentioned = free_names(*access.index) & every
            if not self.moves(self.by_rows(access, window)):
                role = "matrix" if mentioned == every else ""
            else:
                role = "along" if mentioned == {name} else "across" if mentioned == every - {name} else ""
            roles[role] = access
        if set(roles) != {"matrix", "along", "across"}:
            return None
        if roles["matrix"] is c.store and c.store.fresh:
            return None
        return roles["matrix"], roles["along"], roles["across"]

    def by_rows(self, access: Load | Store, window: Window) -> Load | Store:
        """The access in terms of the matrix's row in place of the window's parameter."""
        if access.container in self.private:
            return access
        row = {window.param.name: sym(window.param.name) - window.known}
        index = tuple(sympy.expand(substitute(substitute(e, self.means), row)) for e in access.index)
        return replace(access, index=index)
