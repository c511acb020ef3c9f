"""Name the guards of partial derivatives, such that the tape can hold a guard's result instead of its operands.

The partials of ``min(a, b)`` depend on the comparison ``a < b`` only. If the operands are overwritten, the tape holds
one byte instead of two numbers of eight::

    v = min(a, b)          -->      v = min(a, b)
                                    c = a < b
    partial: 1 if a < b else 0      partial: 1 if c else 0

Guards that mention the cotangent keep their form.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sdgrad.analysis.activity import Activity, LeafFacts
from sdgrad.analysis.paths import Path
from sdgrad.program.names import Names
from sdgrad.program.tree import Block, Instr, Leaf, Let, Node, Program, children, with_children
from sdgrad.symbolic import code
from sdgrad.symbolic.code import names_in
from sdgrad.symbolic.derivatives import GIVEN, Partial
from sdgrad.tape.plan import TapePlan


def with_conditions(program: Program, activity: Activity, names: Names) -> tuple[Program, Activity]:
    """Define a name for every guard of active partials, and use it in the facts of the leaves."""
    facts = dict(activity.facts)

    def block(nodes: Block, path: Path) -> Block:
        """Name the guards in a block."""
        return tuple(node(n, (*path, k)) for k, n in enumerate(nodes))

    def node(n: Node, path: Path) -> Node:
        """Name the guards in a node, and note the new facts of a leaf."""
        if not isinstance(n, Leaf):
            return with_children(n, tuple(block(b, (*path, arm)) for arm, b in enumerate(children(n))))
        if not activity.names.get(path):
            return n
        found = Conditions(facts[path].kinds, names)
        leaf, facts[path] = found.named(n, facts[path], activity.names[path])
        return leaf

    body = block(program.body, ())
    return replace(program, body=body), replace(activity, facts=facts)


def with_kept(named: Activity, activity: Activity, plan: TapePlan) -> Activity:
    """Keep the named guards in those leaves that tape one; restore the plain partials in all others."""

    def facts(path: Path) -> LeafFacts:
        """Choose the facts of one leaf."""
        own = named.facts[path].kinds.keys() - activity.facts[path].kinds.keys()
        kept = plan.leaves[path].kept if path in plan.leaves else ()
        return (named if own & {k.name for k in kept} else activity).facts[path]

    return replace(activity, facts={path: facts(path) for path in activity.facts})


@dataclass
class Conditions:
    """Name the guards of one leaf; ``known`` maps their text to names, ``new`` are definitions to insert."""

    kinds: Mapping[str, str]
    names: Names
    known: dict[str, str] = field(default_factory=dict)
    new: list[Let] = field(default_factory=list)

    def named(self, leaf: Leaf, facts: LeafFacts, active: frozenset[str]) -> tuple[Leaf, LeafFacts]:
        """Return a leaf that defines the names of its guards, and its facts with these names."""
        body: list[Instr] = []
        partials = dict(facts.partials)
        for instr in leaf.body:
            body.append(instr)
            if isinstance(instr, Let) and instr.name in active:
                found = facts.partials.get(instr.name, ())
                partials[instr.name] = tuple(self.partial(p) if p.operand in active else p for p in found)
                body += self.new
                self.new.clear()
        if not self.known:
            return leaf, facts
        kinds = {**facts.kinds, **dict.fromkeys(self.known.values(), "bool")}  # kept as such: they fit in a byte
        return replace(leaf, body=tuple(body)), LeafFacts(kinds, partials, facts.unknown)

    def partial(self, p: Partial) -> Partial:
        """Name the guards of one partial."""
        factor, vjp, depends = map(self.replaced, (p.factor, p.vjp, p.depends))
        counts = [n for n in ast.walk(p.factor) if isinstance(n, ast.BinOp) and self.is_count(n)] if p.factor else []
        if counts and factor is not None and p.guard is not None:  # an extreme: its operand's unless the share is zero
            guard: ast.expr | None = ast.Compare(left=factor, ops=[ast.NotEq()], comparators=[code.constant(0)])
        else:
            guard = self.replaced(p.guard)
        return replace(p, factor=factor, guard=guard, vjp=vjp, depends=depends)

    def replaced(self, expr: ast.expr | None) -> ast.expr | None:
        """Replace comparisons of primal values, and conjunctions of such, by names."""
        if expr is None:
            return None
        asked = self

        class Replace(ast.NodeTransformer):
            def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
                return asked.name(node) if asked.is_count(node) else self.generic_visit(node)

            def visit_Compare(self, node: ast.Compare) -> ast.expr:
                return asked.name(node) if asked.is_about_numbers(node) else node

            def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
                return asked.name(node) if all(map(asked.is_about_numbers, node.values)) else self.generic_visit(node)

        found = Replace().visit(code.parse(ast.unparse(expr)))
        assert isinstance(found, ast.expr)
        return found

    def is_about_numbers(self, expr: ast.expr) -> bool:
        """True if a condition compares floating-point values of the leaf, and no cotangent."""
        names = names_in(expr)
        return (
            isinstance(expr, ast.Compare)
            and any(self.kinds.get(n) == "float" for n in names)
            and not names & GIVEN_NAMES
        )

    def is_count(self, expr: ast.BinOp) -> bool:
        """True for ``(a > b) + (not a < b)``, which is 2, 1 or 0, and fits in a byte as well."""
        tests = [e.operand if isinstance(e, ast.UnaryOp) else e for e in (expr.left, expr.right)]
        return isinstance(expr.op, ast.Add) and all(map(self.is_about_numbers, tests))

    def name(self, expr: ast.expr) -> ast.expr:
        """Return the name of an expression; define it on first use."""
        text = ast.unparse(expr)
        if text not in self.known:
            self.known[text] = self.names.fresh("c")
            self.new.append(Let(self.known[text], expr))
        return code.name(self.known[text])


GIVEN_NAMES = set(GIVEN.values())
"""Names in partials that stand for the cotangent and the tangent."""
