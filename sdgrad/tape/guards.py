"""Conditions in partials, as values of the primal: where operands are lost, what they decided is kept in a byte.

The derivative of ``min(a, b)`` asks which is less. Kept are then not two numbers of eight bytes, but the answer.
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
    """The program and what is known of it, with a name for every condition that active partials ask about."""
    facts = dict(activity.facts)

    def block(nodes: Block, path: Path) -> Block:
        return tuple(node(n, (*path, k)) for k, n in enumerate(nodes))

    def node(n: Node, path: Path) -> Node:
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
    """What is known of a program, with names for conditions in leaves that keep some: others ask when they run."""

    def facts(path: Path) -> LeafFacts:
        own = named.facts[path].kinds.keys() - activity.facts[path].kinds.keys()
        kept = plan.leaves[path].kept if path in plan.leaves else ()
        return (named if own & {k.name for k in kept} else activity).facts[path]

    return replace(activity, facts={path: facts(path) for path in activity.facts})


@dataclass
class Conditions:
    """Those of one leaf; ``known`` are names by text."""

    kinds: Mapping[str, str]
    names: Names
    known: dict[str, str] = field(default_factory=dict)
    new: list[Let] = field(default_factory=list)

    def named(self, leaf: Leaf, facts: LeafFacts, active: frozenset[str]) -> tuple[Leaf, LeafFacts]:
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
        factor, guard, vjp = map(self.replaced, (p.factor, p.guard, p.vjp))
        return replace(p, factor=factor, guard=guard, vjp=vjp)

    def replaced(self, expr: ast.expr | None) -> ast.expr | None:
        if expr is None:
            return None
        asked = self

        class Replace(ast.NodeTransformer):
            def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
                return asked.steps(node) or self.generic_visit(node)

            def visit_Compare(self, node: ast.Compare) -> ast.expr:
                return asked.name(node) if asked.is_about_numbers(node) else node

            def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
                return asked.name(node) if all(map(asked.is_about_numbers, node.values)) else self.generic_visit(node)

        found = Replace().visit(code.parse(ast.unparse(expr)))
        assert isinstance(found, ast.expr)
        return found

    def is_about_numbers(self, expr: ast.expr) -> bool:
        """Whether a condition compares values of the leaf, and no cotangent."""
        names = names_in(expr)
        return (
            isinstance(expr, ast.Compare)
            and any(self.kinds.get(n) == "float" for n in names)
            and not names & GIVEN_NAMES
        )

    def steps(self, expr: ast.IfExp) -> ast.expr | None:
        """One, a half or zero (or the other way round), as ``a`` is beyond, at or before ``b``: half an integer."""
        first, inner = expr.test, expr.orelse
        if not isinstance(inner, ast.IfExp) or not isinstance(first, ast.Compare) or not self.is_about_numbers(first):
            return None
        ends = tuple(e.value for e in (expr.body, inner.body, inner.orelse) if isinstance(e, ast.Constant))
        if ends not in ((1, 0.5, 0), (0, 0.5, 1)) or not _is_tie(inner.test, first):
            return None
        or_equal = replace_op(first, OR_EQUAL[type(first.ops[0])])
        count: ast.expr = self.name(code.binary(ast.Add, first, or_equal))
        count = count if ends[0] else code.binary(ast.Sub, code.constant(2), count)
        return code.binary(ast.Mult, code.constant(0.5), count)

    def name(self, expr: ast.expr) -> ast.expr:
        text = ast.unparse(expr)
        if text not in self.known:
            self.known[text] = self.names.fresh("c")
            self.new.append(Let(self.known[text], expr))
        return code.name(self.known[text])


OR_EQUAL: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.Gt: ast.GtE}
GIVEN_NAMES = set(GIVEN.values())


def replace_op(test: ast.Compare, op: type[ast.cmpop]) -> ast.Compare:
    return ast.Compare(left=test.left, ops=[op()], comparators=test.comparators)


def _is_tie(test: ast.expr, order: ast.Compare) -> bool:
    """Whether a test is ``a == b`` where another is ``a < b`` or ``a > b``."""
    return type(order.ops[0]) in OR_EQUAL and ast.unparse(test) == ast.unparse(replace_op(order, ast.Eq))
