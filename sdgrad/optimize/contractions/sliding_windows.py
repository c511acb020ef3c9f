"""Recognise matrix-vector products of a loop's iterations: one shared matrix, private vectors.

The matrix may be the same in all iterations, or a window of its rows that slides along with them, as in local
attention: iteration ``i`` multiplies rows ``first(i) .. last(i)``. This is the analysis for
:mod:`sdgrad.optimize.contractions.strip_mining`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
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
    """Hold a parameter of a product and the rows of the matrix that it accesses: ``parameter + shift``.

    :param known: the shift as a function of the loop's variable; ``first`` and ``last``, the rows of one iteration,
        are such functions, too.
    """

    param: Param
    shift: Expr
    known: Expr
    first: Expr
    last: Expr


@dataclass(frozen=True)
class Product:
    """Hold a contraction of a shared matrix with private vectors.

    The subscripts of the vector ``along`` use the window's parameter only, those of ``across`` all other ones.
    """

    found: Contraction
    window: Window
    matrix: Load | Store
    along: Load | Store
    across: Load | Store


class Trips:
    """Describe the iterations of a loop that may run in any order.

    :param means: symbols that the body assigns, as functions of the loop's variable.
    :param private: containers that live within one iteration.
    """

    def __init__(self, variable: Param, means: Mapping[str, Expr], private: Set[str], program: Program) -> None:
        """List the values of the loop's variable, in increasing order."""
        self.variable, self.means, self.private, self.program = variable.name, means, private, program
        self.low, self.high = sorted((int(variable.start), int(variable.stop)))
        self.values = np.arange(self.low, self.high + 1)

    def products(self, leaf: Leaf) -> tuple[list[Product], list[Leaf]]:
        """Return the products among a leaf's accumulations, and leaves with the rest.

        A sum of several terms counts only if all of its terms are products.
        """
        found: dict[int, Product] = {}

        def product(alone: Leaf) -> list[Node] | None:
            """Remember the product that a leaf of one store computes; None if it is none."""
            contraction = recognise(alone)
            mine = self.product(contraction) if contraction is not None else None
            if mine is None:
                return None
            found[id(alone)] = mine
            return [alone]

        parts = [n for n in split_stores(leaf, self.program, product) if isinstance(n, Leaf)]
        return [found[id(n)] for n in parts if id(n) in found], [n for n in parts if id(n) not in found]

    def product(self, c: Contraction) -> Product | None:
        """Return a contraction as a product of a shared matrix; None if it is none, or too small to pay."""
        if any(self.moves(x) for x in c.constants) or any(p.step != 1 for p in c.leaf.params):
            return None
        for p in c.leaf.params:
            others = [q for q in c.leaf.params if q is not p]
            if any(self.unknown(q.start, q.stop) for q in others):
                continue
            window = self.window(p, c)
            split = self.split(window, c) if window is not None else None
            if window is not None and split is not None:
                return Product(c, window, *split) if self.pays(window, others) else None
        return None

    def pays(self, window: Window, others: Sequence[Param]) -> bool:
        """True if the largest product of an iteration is known to have enough multiplications."""
        size, work = self.evaluated(window.last - window.first), sympy.Mul(*(q.count for q in others))
        if size is None or not work.is_number:
            return False
        return int(work) * (int(size.max()) + 1) >= config.machine.strip_multiplications

    def unknown(self, *exprs: Expr) -> bool:
        """True if an expression may differ between iterations."""
        return bool(free_names(*exprs) & {self.variable, *self.means})

    def moves(self, access: Load | Store) -> bool:
        """True if an access is private, or may differ between iterations."""
        return access.container in self.private or self.unknown(*access.index)

    def window(self, p: Param, c: Contraction) -> Window | None:
        """Return the rows of shared arrays that a parameter accesses; None if they do not slide in one direction."""
        shift = self.shift(p, c)
        if p.name in free_names(shift):
            return None
        known = substitute(shift, self.means)
        first, last = (substitute(x, self.means) + known for x in (p.start, p.stop))
        ends = [self.evaluated(x) for x in (first, last)]
        if any(x is None or np.any(np.diff(x) < 0) for x in ends):
            return None
        return Window(p, shift, known, first, last)

    def shift(self, p: Param, c: Contraction) -> Expr:
        """Return the distance of a shared array's subscript from a parameter, 0 if it is the same in all iterations."""
        shared = [x for x in (c.store, c.a, c.b) if x.container not in self.private]
        moving = [e for x in shared for e in x.index if p.name in free_names(e) and self.unknown(e)]
        return moving[0] - sym(p.name) if moving else ZERO

    def evaluated(self, expr: Expr) -> np.ndarray | None:
        """Return the values of an expression for increasing values of the loop's variable; None if others matter."""
        if free_names(expr) - {self.variable}:
            return None
        (variable,) = expr.free_symbols or {sym(self.variable)}
        try:
            values = sympy.lambdify(variable, expr, "numpy")(self.values)
        except (TypeError, NameError, ValueError):
            return None
        return np.broadcast_to(np.asarray(values), self.values.shape)

    def split(self, window: Window, c: Contraction) -> tuple[Load | Store, Load | Store, Load | Store] | None:
        """Return the matrix, the vector along the window, and the vector across it; None if these are not all."""
        roles = {self.role(x, window, c): x for x in (c.store, c.a, c.b)}
        if set(roles) != {"matrix", "along", "across"}:
            return None
        if roles["matrix"] is c.store and c.store.fresh:
            return None
        return roles["matrix"], roles["along"], roles["across"]

    def role(self, access: Load | Store, window: Window, c: Contraction) -> str:
        """Return the role of an access in a product: "matrix", "along" or "across"; "" if it has none."""
        every, along = {p.name for p in c.leaf.params}, {window.param.name}
        mentioned = access.index_names & every
        if not self.moves(self.by_rows(access, window)):
            return "matrix" if mentioned == every else ""
        if mentioned == along:
            return "along"
        return "across" if mentioned == every - along else ""

    def by_rows(self, access: Load | Store, window: Window) -> Load | Store:
        """Return a shared access with the matrix's row in place of the window's parameter."""
        if access.container in self.private:
            return access
        row = {window.param.name: sym(window.param.name) - window.known}
        index = tuple(sympy.expand(substitute(substitute(e, self.means), row)) for e in access.index)
        return replace(access, index=index)
