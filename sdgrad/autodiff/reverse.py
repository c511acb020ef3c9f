"""Reverse mode: run the program tree backwards, region by region (Griewank & Walther 2008, chapter 3).

A sequence becomes the reversed sequence of its nodes' adjoints, a branch takes the same arm, a loop runs backwards, and
a map first replays its local values and then runs its body backwards. The adjoint of a leaf is derived
(:mod:`sdgrad.autodiff.leaf_adjoint`), that of a node call given by its rule (:mod:`sdgrad.program.registry`)::

    loop i = 1 .. n - 1 step 1:       loop i = n - 1 .. 1 step -1:
      y[i] = sin(y[i - 1])              gradient_y[i - 1] += cos(y[i - 1]) * gradient_y[i]
                                        gradient_y[i] = 0
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import partial

import sympy
from dace import data as dt

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.conflicts import scope_overwrites_itself
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.needs import active_loads
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.uses import users
from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.autodiff.contexts import CallContext
from sdgrad.autodiff.leaf_adjoint import LeafAdjoint
from sdgrad.autodiff.reversed_loops import backwards_loop, last_value, negated
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent
from sdgrad.autodiff.selected_adjoints import alternatives, note_call, repeated
from sdgrad.program.arrays import assign as copy_of
from sdgrad.program.leaves import value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.registry import find_rule
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
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
    with_values,
    writes,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.runtime.libraries.communication import is_communication
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym
from sdgrad.tape import checkpoints, scheduled_loops
from sdgrad.tape.plan import Kept, KeptRegion, LeafPlan, TapePlan
from sdgrad.tape.recorder import Recorder, assign


@dataclass
class Reversal:
    """Hold everything the reversal reads; it changes nothing but ``adjoints``."""

    program: Program
    activity: Activity
    plan: TapePlan
    adjoints: Adjoints
    names: Names
    recorder: Recorder
    strong_zero: bool = True

    def __post_init__(self) -> None:
        everywhere = users(self.program.body, self.program)
        regions = (n for n in walk(self.program.body) if isinstance(n, (Loop, Branch)))
        self.locals = {id(n): region_locals(n, everywhere, self.program) for n in regions}

    def private(self, node: Node) -> frozenset[str]:
        """Return the containers whose adjoint is zero where a region begins and where it ends, in every run of it."""
        if isinstance(node, (Loop, Branch)):
            return frozenset(n for n in self.locals[id(node)] if self.adjoints.is_zero(n))
        return frozenset(local_names(node))

    def inner(self, node: Node) -> set[str]:
        """Return the containers that are private to a region, or to a region inside it."""
        regions = [*walk((node,))]
        named = {c for n in regions for c in local_names(n)}
        return named.union(*(self.locals[id(n)] for n in regions if isinstance(n, (Loop, Branch))))

    # -- backwards
    def spare_arguments(self) -> tuple[list[Node], list[Node]]:
        """Return copies of the arguments that the reversal restores on its way, and the copies back."""
        first: list[Node] = []
        last: list[Node] = []
        for name in sorted(self.plan.undone | checkpoints.touched(self.program, self.plan)):
            container = self.program.containers[name]
            if not container.transient:
                final = container.local(self.names.fresh(f"final_{name}"))
                self.recorder.scratch[final.name] = final
                first.append(copy_of(final, container, "set", self.names, final.name))
                last.append(copy_of(container, final, "set", self.names, name))
        return first, last

    def block(self, block: Block, path: Path = ()) -> list[Node]:
        """Return the adjoint of a block: its integer symbols, what is recomputed, its nodes' adjoints in reverse."""
        out: list[Node] = []
        if path:
            out += [x for k, n in enumerate(block) for x in self.symbols(n, (*path, k))]
        else:
            out += [assign(c.count, c.total) for c in self.plan.counters.values()]
        out += [self.put_back(kept) for k in range(len(block)) for kept in self.plan.redo.get((*path, k), ())]
        for k in range(len(block) - 1, -1, -1):
            here = (*path, k)
            if here in self.plan.inverses:
                out.append(self.plan.inverses[here])
            out += [self.put_back(kept) for kept in self.plan.undo.get(here, ())]
            out += self.plan.reruns.get(here, ())
            out += self.node(block[k], here)
        return out

    def is_local(self, kept: Kept) -> bool:
        """True if the replay of a map keeps a value, and not the primal program."""
        return kept.owner is not None and kept.owner not in self.plan.checkpoints

    def put_back(self, kept: Kept) -> Leaf:
        """Return the leaf that restores what a write destroyed."""
        assert kept.load is not None
        v = self.names.fresh("v")
        body = (kept.back(v), Store(kept.load.container, kept.load.index, v))
        return Leaf(kept.params, body, Source(label=f"restore_{kept.load.container}"))

    def node(self, node: Node, path: Path) -> list[Node]:
        """Return the adjoint of a node; none if the node touches no adjoint."""
        if isinstance(node, SymbolAssign):
            return []
        if isinstance(node, Leaf):
            plan = self.plan.leaves.get(path, LeafPlan())
            return LeafAdjoint(node, path, self.activity, plan, self.adjoints, self.names, self.strong_zero).build()
        if isinstance(node, NodeCall):
            return self.call(node, path)
        private = self.private(node)
        before, touched = self.settle(node, path)
        if not touched and not any(p[: len(path)] == path for p in (*self.plan.undo, *self.plan.inverses)):
            return before
        if isinstance(node, Branch):
            return [*before, *self.inside(private, lambda: self.branch(node, path))]
        if isinstance(node, Loop):
            return [*before, *self.inside(private, lambda: self.loop(node, path))]
        assert isinstance(node, Scope)
        return [*before, self.inside(private, lambda: self.scope(node, path))]

    def settle(self, node: Node, path: Path) -> tuple[list[Node], bool]:
        """Make adjoints that a region may add to or clear ordinary containers; also return if there are any."""
        local = self.inner(node)
        grown, overwritten = set(), set()
        for where, inner in nodes_with_paths((node,)):
            where = (*path, *where[1:])
            if isinstance(inner, Leaf):
                grown |= {x.container for x in active_loads(inner, where, self.activity)}
            elif isinstance(inner, NodeCall):
                # the adjoint of a communication sends the cotangents of results as well
                sides = inner.regions if is_communication(inner) else inner.inputs
                grown |= {r.container for r in sides.values() if self.activity.active(where, r.container)}
            if not children(inner):
                overwritten |= writes(inner)
        before: list[Node] = []
        roots = {self.program.root(n) for n in grown}
        seeds = {r for n in overwritten if self.adjoints.state.get(r := self.program.root(n)) == "seed"}
        for name in sorted((roots | seeds) - local):
            before += self.adjoints.writable(name)
        live = {self.program.root(n) for n in overwritten} & (self.adjoints.state.keys() | roots)
        return before, bool(roots or live) or any(map(is_communication, walk((node,))))

    def inside(self, private: frozenset[str], build):
        """Run ``build`` with only the region's own containers allowed to be known zero, as they are in the end."""
        saved = self.adjoints.straight
        self.adjoints.straight = private
        try:
            return build()
        finally:
            for name in private:
                self.adjoints.state.pop(name, None)
                self.adjoints.note_selected(name, whole=False)
            self.adjoints.straight = saved

    def fetch(self, tape: Container, index: tuple[sympy.Expr, ...]) -> tuple[Leaf, Load]:
        """Return a leaf that copies a number from the tape to a scalar, and the load of the scalar.

        Control flow must not read the tape directly: DaCe frees an array after the last state that uses it, and does
        not look into conditions.
        """
        scalar = Container(self.names.fresh(f"{tape.name}_now"), dt.Scalar(tape.dtype, transient=True))
        self.adjoints.made[scalar.name] = scalar
        v, w = self.names.fresh("v"), self.names.fresh("v")
        body = (Load(v, tape.name, index), Store(scalar.name, SCALAR, v))
        return Leaf((), body, Source(label=scalar.name)), Load(w, scalar.name, SCALAR)

    def value(self, value: Value, path: Path, owned: bool = True) -> tuple[list[Node], Value]:
        """Return a control value for the adjoint, with overwritten elements from the tape, and the nodes before it."""
        kept = {k.load: k for k in self.plan.values.get(path, ()) if owned or not self.is_local(k)}
        at = {load: (k.tape, k.index) for load, k in kept.items()}
        for load, original in self.plan.originals.get(path, {}).items():
            at[load] = self.program.containers[original.container], original.index
        before: list[Node] = []
        loads = []
        for load in value.loads:
            if load in at:
                leaf, now = self.fetch(*at[load])
                before.append(leaf)
                load = replace(now, name=load.name)
            loads.append(load)
        return before, replace(value, loads=tuple(loads))

    def conditions(self, node: Branch, path: Path) -> tuple[list[Node], list[Value | None]]:
        """Return a branch's conditions for the adjoint; if they are overwritten, the arm taken is on the tape."""
        before: list[Node] = []
        if path in self.plan.decisions:
            leaf, load = self.fetch(self.plan.decisions[path].tape, self.plan.decisions[path].index)
            conditions: list[Value | None]
            conditions = [Value((load,), code.parse(f"{load.name} == {k}")) for k in range(len(node.arms))]
            if node.arms[-1][0] is None:  # what all arms assign is assigned, as everybody can see
                conditions[-1] = None
            return [leaf], conditions
        found: list[Value | None] = []
        for condition, _ in node.arms:
            first, value = self.value(condition, path) if condition is not None else ([], None)
            before += first
            found.append(value)
        return before, found

    def symbols(self, node: Node, path: Path) -> list[Node]:
        """Return the part of a node that assigns integer symbols, to run again before the adjoint."""
        if isinstance(node, SymbolAssign) and path in self.plan.symbols:
            leaf, load = self.fetch(self.plan.symbols[path].tape, self.plan.symbols[path].index)
            return [leaf, replace(node, value=Value((load,), code.name(load.name)))]
        if isinstance(node, SymbolAssign):
            before, value = self.value(node.value, path)
            return [*before, replace(node, value=value)]
        if isinstance(node, Branch) and any(isinstance(n, SymbolAssign) for n in walk((node,))):
            before, conditions = self.conditions(node, path)
            arms: list[tuple[Value | None, Block]] = []
            for arm, (condition, (_, body)) in enumerate(zip(conditions, node.arms, strict=True)):
                kept = [x for k, n in enumerate(body) for x in self.symbols(n, (*path, arm, k))]
                arms.append((condition, tuple(kept)))
            return [*before, replace(node, arms=tuple(arms))]
        return []

    def branch(self, node: Branch, path: Path) -> list[Node]:
        """Return the branch over the adjoints of its arms."""
        before, conditions = self.conditions(node, path)
        arms = [partial(self.block, body, (*path, k)) for k, (_, body) in enumerate(node.arms)]
        blocks = alternatives(self.adjoints, arms)
        return [*before, replace(node, arms=tuple(zip(conditions, blocks, strict=True)))]

    def repeated(self, node: Loop | Scope, path: Path) -> Block:
        """Return the adjoint of a body that runs any number of times."""
        with repeated(self.adjoints, node.body):
            return tuple(self.block(node.body, (*path, 0)))

    def loop(self, node: Loop, path: Path) -> list[Node]:
        """Return the loop that runs backwards, or from checkpoints."""
        if path in self.plan.checkpoints:
            again = self.recorder.record(node.body, (*path, 0), owner=path)
            kept = self.plan.checkpoints[path]
            return scheduled_loops.backward(node, kept, again, self.repeated(node, path), self.program, self.names)
        (one, start), (two, step) = self.value(node.start, path), self.value(node.step, path)
        before = [*one, *two]
        if node.last is not None:
            more, last = self.last(node.last, path)
        else:
            assert node.stop is not None
            more, stop = self.value(node.stop, path)
            last = last_value(start, stop, step)
        body = self.repeated(node, path)
        if path in self.plan.counters:
            count = self.plan.counters[path].count
            body = (assign(count, f"{count} - 1"), *body)
        return [*before, *more, Loop(node.symbol, last, start, negated(step), body, node.source)]

    def last(self, container: str, path: Path) -> tuple[list[Node], Value]:
        """Return the symbol of a loop's last iteration, from where the loop left it or from the tape."""
        kept = self.plan.lasts.get(path)
        if kept is not None:
            leaf, load = self.fetch(kept.tape, kept.index)
            return [leaf], Value((load,), code.name(load.name))
        v = self.names.fresh("v")
        return [], value_of_scalar(container, v)

    def scope(self, node: Scope, path: Path) -> Node:
        """Return the map that replays its local values, then runs its body backwards."""
        replay = self.replay(node, path)
        backwards = self.repeated(node, path)
        locals_ = {c.name: c for c in node.locals}
        owned = [self.adjoints.made[self.adjoints.of[n]] for n in locals_ if n in self.adjoints.of]
        owned += [k.tape for k in self.plan.all_kept() if k.owner == path]
        body = tuple(n for n in replay if not isinstance(n, SymbolAssign)) if not backwards else (*replay, *backwards)
        used = {n for inner in walk(body) for n in reads(inner) | writes(inner)}
        known = {**locals_, **{c.name: c for c in owned}, **self.scratch_of(body, used, path)}
        result = replace(node, body=body, locals=tuple(c for n, c in known.items() if n in used))
        return backwards_loop(result) if scope_overwrites_itself(node) else result

    def scratch_of(self, body: Block, used: set[str], path: Path) -> dict:
        """Return the scratch containers that rules made for nodes of this body: they are local to it."""
        adjoints = set(self.adjoints.of.values())
        return {n: c for n, c in self.adjoints.made.items() if n in used and n not in adjoints}

    def replay(self, node: Scope, path: Path) -> list[Node]:
        """Return the part of a map's body that computes the locals and tapes its adjoint needs."""
        plan = self.plan.replays[path]
        begun = [assign(c.count, "0") for at, c in self.plan.counters.items() if at[: len(path)] == path]
        recorded = self.recorder.record(self.from_tape(node.body, (*path, 0), plan.loads), (*path, 0), owner=path)
        mine = plan.locals | {c.name for c in self.plan.containers}
        return [*begun, *(x for n in recorded if (x := keep_writes(n, mine)) is not None)]

    def from_tape(self, block: Block, path: Path, loads: Mapping[Path, Mapping[str, Kept]]) -> Block:
        """Return the block with overwritten elements, and what the primal program taped, taken from the tape."""
        out: list[Node] = []
        for k, node in enumerate(block):
            here = (*path, k)
            if not isinstance(node, Leaf):
                before, node = self.values_from_tape(node, here)
                out += before
            else:
                node = self.plan.replayed(node, here, loads.get(here, {}))
            out.append(
                with_children(
                    node, tuple(self.from_tape(b, (*here, arm), loads) for arm, b in enumerate(children(node)))
                )
            )
        return tuple(out)

    def values_from_tape(self, node: Node, path: Path) -> tuple[list[Node], Node]:
        """Return a control node with the values that the primal program kept for it.

        Values of local containers are computed again.
        """
        before: list[Node] = []

        def change(value: Value) -> Value:
            first, new = self.value(value, path, owned=False)
            before.extend(first)
            return new

        return before, with_values(node, change)

    def call(self, node: NodeCall, path: Path) -> list[Node]:
        """Return the adjoint of a node call, by its rule."""
        wanted = tuple(c for c, r in node.inputs.items() if self.activity.active(path, r.container))
        given = tuple(
            c
            for c, r in node.outputs.items()
            if self.activity.active(path, r.container) and not self.adjoints.is_zero(r.container)
        )
        context = CallContext(node, path, self.program, self.adjoints, self.plan, self.names, given, wanted)
        if not given and not is_communication(node):
            return self.constant_results(context)
        operands = [r for (where, _), r in self.plan.regions.items() if where == path]
        selected = not is_communication(node) and all(self.adjoints.is_whole(node.outputs[c].container) for c in given)
        nodes = [*(self.operand(r) for r in operands), *find_rule(node, self.program).reverse(context)]
        note_call(self.adjoints, node, selected, wanted)
        return nodes

    def constant_results(self, context: CallContext) -> list[Node]:
        """Return the adjoint of a call without active results: it clears what the call overwrote."""
        gone = self.activity.overwritten.get(context.path, frozenset())
        build = Builder(context)
        for connector, region in context.call.outputs.items():
            if self.program.root(region.container) in gone and not self.adjoints.is_zero(region.container):
                clear_cotangent(build, context, connector)
        return build.nodes

    def operand(self, region: KeptRegion) -> Leaf:
        """Return the leaf that copies an operand from the tape to the array that the rule works on."""
        v = self.names.fresh("v")
        index = tuple(sym(p.name) - p.start for p in region.kept.params) or SCALAR
        body = (region.kept.back(v), Store(region.scratch.name, index, v))
        return Leaf(region.kept.params, body, Source(label=region.scratch.name))


def keep_writes(node: Node, names: Set[str]) -> Node | None:
    """Return a node without writes to anything but ``names``; None if nothing is left."""
    if isinstance(node, Leaf):
        kept = drop_stores(node, lambda s: s.container not in names)
        return kept if kept.stores else None
    if isinstance(node, NodeCall):
        return node if writes(node) <= names else None
    blocks = tuple(tuple(x for n in b if (x := keep_writes(n, names)) is not None) for b in children(node))
    if children(node) and not any(blocks):
        return None
    return with_children(node, blocks) if blocks else node
