"""Reverse mode: the program tree backwards, region by region.

A sequence becomes the reversed sequence, a branch a branch on the same decision, a loop a loop that runs backwards, a
map a map whose body first replays its locals and then runs backwards. What a node's adjoint is, its rule says.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

import sympy
from dace import subsets, symbolic

from sdgrad.adjoints import Adjoints
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.needs import active_loads
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.backward_impls.leaf import LeafAdjoint
from sdgrad.names import Names
from sdgrad.normalize.copies import copy_leaf
from sdgrad.normalize.fuse import drop_stores
from sdgrad.program.leaves import scope_overwrites_itself
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Scope,
    Source,
    Store,
    SymbolAssign,
    Value,
    children,
    local_names,
    reads,
    walk,
    with_children,
    writes,
)
from sdgrad.rules import CallContext, find_rule
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast, to_expr
from sdgrad.tape.plan import Kept, LeafPlan, TapePlan


@dataclass
class Reversal:
    """Everything the reversal reads; it writes only into ``adjoints``."""

    program: Program
    activity: Activity
    plan: TapePlan
    adjoints: Adjoints
    names: Names
    strong_zero: bool = True

    # -- the primal program, keeping what the plan says
    def record(self, block: Block, path: Path = (), owner: Path | None = None) -> Block:
        """The block with the copies onto the tape that belong to ``owner``."""
        out: list[Node] = []
        for k, node in enumerate(block):
            here = (*path, k)
            node = with_children(
                node, tuple(self.record(b, (*here, arm), owner) for arm, b in enumerate(children(node)))
            )
            plan = self.plan.leaves.get(here, LeafPlan())
            replayed = [k for r in self.plan.replays.values() for k in r.loads.get(here, {}).values()]
            kept_here = (*plan.kept, *self.plan.values.get(here, ()), *replayed)
            out += [kept.leaf for kept in kept_here if kept.owner == owner and not kept.inline]
            if isinstance(node, Leaf):
                inline = [x for x in kept_here if x.inline and x.owner == owner]
                node = replace(node, body=node.body + tuple(Store(x.tape.name, x.index, x.load.name) for x in inline))
            operands = [(c, t) for (where, c), t in self.plan.regions.items() if where == here and owner is None]
            inputs, outputs = (node.inputs, node.outputs) if isinstance(node, NodeCall) else ({}, {})
            out += [self.copy_region(inputs[c], tape) for c, tape in operands if c in inputs]
            out.append(node)
            out += [self.copy_region(outputs[c], tape) for c, tape in operands if c in outputs]
            out += [kept.leaf for kept in plan.after if kept.owner == owner]
        return tuple(out)

    def copy_region(self, region: Region, tape: Container) -> Leaf:
        whole = subsets.Range([(0, n - 1, 1) for n in tape.shape])
        source = self.program.containers[region.container]
        return copy_leaf(source, region.subset, tape, whole, None, self.names, Source(label=tape.name))

    # -- backwards
    def block(self, block: Block, path: Path = ()) -> list[Node]:
        """The adjoint of a block: its integer symbols again, then its nodes' adjoints in reverse order."""
        out: list[Node] = []
        if path:
            out += [x for k, n in enumerate(block) for x in self.symbols(n, (*path, k))]
        for k in range(len(block) - 1, -1, -1):
            out += self.node(block[k], (*path, k))
        return out

    def node(self, node: Node, path: Path) -> list[Node]:
        if isinstance(node, SymbolAssign):
            return []
        if isinstance(node, Leaf):
            plan = self.plan.leaves.get(path, LeafPlan())
            return LeafAdjoint(node, path, self.activity, plan, self.adjoints, self.names, self.strong_zero).build()
        if isinstance(node, NodeCall):
            return self.call(node, path)
        before, touched = self.settle(node, path)
        if not touched:
            return before
        if isinstance(node, Branch):
            return [*before, self.inside(node, path, lambda: self.branch(node, path))]
        if isinstance(node, Loop):
            return [*before, self.inside(node, path, lambda: self.loop(node, path))]
        assert isinstance(node, Scope)
        return [*before, self.inside(node, path, lambda: self.scope(node, path))]

    def settle(self, node: Node, path: Path) -> tuple[list[Node], bool]:
        """Before a region: adjoints it may add to or clear become ordinary containers. Whether it has any."""
        local = {c for n in walk((node,)) for c in local_names(n)}
        grown, overwritten = set(), set()
        for where, inner in nodes_with_paths((node,)):
            where = (*path, *where[1:])
            if isinstance(inner, Leaf):
                grown |= {x.container for x in active_loads(inner, where, self.activity)}
            elif isinstance(inner, NodeCall):
                grown |= {r.container for r in inner.inputs.values() if self.activity.active(where, r.container)}
            if not children(inner):
                overwritten |= writes(inner)
        before: list[Node] = []
        roots = {self.program.root(n) for n in grown}
        seeds = {r for n in overwritten if self.adjoints.state.get(r := self.program.root(n)) == "seed"}
        for name in sorted((roots | seeds) - local):
            before += self.adjoints.writable(name)
        live = {self.program.root(n) for n in overwritten} & (self.adjoints.state.keys() | roots)
        return before, bool(roots or live)

    def inside(self, node: Node, path: Path, build):
        """Run ``build`` with only the node's own locals allowed to be known zero."""
        saved = self.adjoints.straight
        self.adjoints.straight = frozenset(local_names(node))
        try:
            return build()
        finally:
            self.adjoints.straight = saved

    def value(self, value: Value, path: Path) -> Value:
        """A control value when the adjoint runs: loads of overwritten elements go to the tape."""
        kept = {k.load.name: k for k in self.plan.values.get(path, ())}
        loads = tuple(
            Load(x.name, kept[x.name].tape.name, kept[x.name].index) if x.name in kept else x for x in value.loads
        )
        return replace(value, loads=loads)

    def symbols(self, node: Node, path: Path) -> list[Node]:
        """The part of a node that assigns integer symbols, to run again before the adjoint."""
        if isinstance(node, SymbolAssign):
            return [replace(node, value=self.value(node.value, path))]
        if isinstance(node, Branch) and any(isinstance(n, SymbolAssign) for n in walk((node,))):
            arms = []
            for arm, (condition, body) in enumerate(node.arms):
                kept = [x for k, n in enumerate(body) for x in self.symbols(n, (*path, arm, k))]
                arms.append((self.value(condition, path) if condition is not None else None, tuple(kept)))
            return [replace(node, arms=tuple(arms))]
        return []

    def branch(self, node: Branch, path: Path) -> Branch:
        arms = tuple(
            (self.value(c, path) if c is not None else None, tuple(self.block(b, (*path, k))))
            for k, (c, b) in enumerate(node.arms)
        )
        return replace(node, arms=arms)

    def loop(self, node: Loop, path: Path) -> Loop:
        start, stop, step = (self.value(v, path) for v in (node.start, node.stop, node.step))
        return replace(
            node,
            start=last_value(start, stop, step),
            stop=start,
            step=negated(step),
            body=tuple(self.block(node.body, (*path, 0))),
        )

    def scope(self, node: Scope, path: Path) -> Node:
        replay = self.replay(node, path)
        backwards = self.block(node.body, (*path, 0))
        locals_ = {c.name: c for c in node.locals}
        owned = [self.adjoints.made[self.adjoints.of[n]] for n in locals_ if n in self.adjoints.of]
        owned += [k.tape for plan in self.plan.leaves.values() for k in (*plan.kept, *plan.after) if k.owner == path]
        owned += [k.tape for ks in self.plan.values.values() for k in ks if k.owner == path]
        body = tuple(n for n in replay if not isinstance(n, SymbolAssign)) if not backwards else (*replay, *backwards)
        used = {n for inner in walk(body) for n in reads(inner) | writes(inner)}
        known = {**locals_, **{c.name: c for c in owned}, **self.scratch_of(body, used, path)}
        for name in locals_:
            self.adjoints.state.pop(name, None)
        result = replace(node, body=body, locals=tuple(c for n, c in known.items() if n in used))
        return backwards_loop(result) if scope_overwrites_itself(node) else result

    def scratch_of(self, body: Block, used: set[str], path: Path) -> dict:
        """Scratch containers that rules made for nodes of this body: they are local to it."""
        adjoints = set(self.adjoints.of.values())
        return {n: c for n, c in self.adjoints.made.items() if n in used and n not in adjoints}

    def replay(self, node: Scope, path: Path) -> list[Node]:
        """The part of a map's body that computes the locals its adjoint needs, and the tapes that belong to it."""
        plan = self.plan.replays[path]
        recorded = self.record(self.from_tape(node.body, (*path, 0), plan.loads), (*path, 0), owner=path)
        mine = plan.locals | {c.name for c in self.plan.containers}
        return [x for n in recorded if (x := keep_writes(n, mine)) is not None]

    def from_tape(self, block: Block, path: Path, loads: Mapping[Path, Mapping[str, Kept]]) -> Block:
        """The block with the loads of overwritten elements taken from the tape."""
        out: list[Node] = []
        for k, node in enumerate(block):
            here = (*path, k)
            if isinstance(node, Leaf) and here in loads:
                kept = loads[here]
                node = replace(
                    node,
                    body=tuple(
                        Load(i.name, kept[i.name].tape.name, kept[i.name].index)
                        if i in node.loads and i.name in kept
                        else i
                        for i in node.body
                    ),
                )
            out.append(
                with_children(
                    node, tuple(self.from_tape(b, (*here, arm), loads) for arm, b in enumerate(children(node)))
                )
            )
        return tuple(out)

    def call(self, node: NodeCall, path: Path) -> list[Node]:
        wanted = tuple(c for c, r in node.inputs.items() if self.activity.active(path, r.container))
        given = tuple(
            c
            for c, r in node.outputs.items()
            if self.activity.active(path, r.container) and not self.adjoints.is_zero(r.container)
        )
        if not given:
            return []
        rule = find_rule(node, self.program)
        context = CallContext(node, path, self.program, self.adjoints, self.plan, self.names, given, wanted)
        return rule.reverse(context)


def keep_writes(node: Node, names: Set[str]) -> Node | None:
    """A node without its writes to anything but ``names``."""
    if isinstance(node, Leaf):
        kept = drop_stores(node, lambda s: s.container not in names)
        return kept if kept.stores else None
    if isinstance(node, NodeCall):
        return node if writes(node) <= names else None
    blocks = tuple(tuple(x for n in b if (x := keep_writes(n, names)) is not None) for b in children(node))
    if children(node) and not any(blocks):
        return None
    return with_children(node, blocks) if blocks else node


def backwards_loop(scope: Scope) -> Node:
    """A map's instances one after another, the last one first."""
    node: Node = replace(scope, params=())
    for p in reversed(scope.params):
        start, stop, step = (Value((), to_ast(sympy.sympify(x))) for x in (p.start, p.stop, p.step))
        node = Loop(p.name, last_value(start, stop, step), start, negated(step), (node,), scope.source)
    return node


def last_value(start: Value, stop: Value, step: Value) -> Value:
    """The value of the loop variable in the last iteration: ``start + floor((stop - start) / step) * step``."""
    loads = (*start.loads, *stop.loads, *step.loads)
    if loads:
        text = (
            f"({ast.unparse(start.expr)}) + int_floor(({ast.unparse(stop.expr)}) - ({ast.unparse(start.expr)}), "
            f"{ast.unparse(step.expr)}) * ({ast.unparse(step.expr)})"
        )
        return Value(loads, code.parse(text))
    a, b, s = (to_expr(ast.unparse(v.expr)) for v in (start, stop, step))
    if s in (1, -1):
        return Value((), to_ast(sympy.sympify(b)))
    return Value((), to_ast(a + symbolic.int_floor(b - a, s) * s))


def negated(step: Value) -> Value:
    try:
        return Value((), code.parse(str(-int(ast.literal_eval(step.expr)))))
    except (ValueError, TypeError):
        return Value(step.loads, ast.UnaryOp(op=ast.USub(), operand=step.expr))
