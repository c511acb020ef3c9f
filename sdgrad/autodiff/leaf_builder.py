"""Hold the adjoint of a leaf while it is built: what runs before it, inside it and after it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.autodiff.selection import Condition, Cotangent
from sdgrad.program.kinds import complex_type
from sdgrad.program.names import Names
from sdgrad.program.tree import Instr, Leaf, Let, Node, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import complex_literals
from sdgrad.tape.plan import LeafPlan


@dataclass
class LeafBuilder:
    """Collect the adjoint of one leaf: nodes before it, straight-line code, nodes after it."""

    leaf: Leaf
    path: Path
    activity: Activity
    plan: LeafPlan
    adjoints: Adjoints
    names: Names
    strong_zero: bool
    before: list[Node] = field(default_factory=list)
    body: list[Instr] = field(default_factory=list)
    cotangents: dict[str, list[Cotangent]] = field(default_factory=dict)
    clears: list[Store] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    seeds: dict[str, str] = field(default_factory=dict)  # loads of cotangents, and the container they are of

    def let(self, expr: ast.expr, stem: str = "g") -> str:
        """Define a name for an expression, and return it; a name is returned as it is."""
        if isinstance(expr, ast.Name):
            return expr.id
        name = self.names.fresh(stem)
        self.body.append(Let(name, expr))
        return name

    def seen(self, g: str, store: Store) -> Cotangent:
        """Return the cotangent of a stored value, which has been loaded, with what is known of its selection."""
        when = (Condition.of(code.name(store.guard)),) if store.guard is not None else ()
        return Cotangent(g, when, doubt=self.adjoints.doubt(store.container))

    def zero(self, name: str) -> ast.expr:
        """Return the zero of a value's kind."""
        if self.activity.facts[self.path].kinds.get(name) != "complex":
            return code.constant(0)
        return complex_literals(code.constant(0), complex_type(self.leaf.body, self.adjoints.program.containers))

    def add(self, name: str, cotangent: Cotangent) -> None:
        """Add a cotangent to those of a value."""
        self.cotangents.setdefault(name, []).append(cotangent)
