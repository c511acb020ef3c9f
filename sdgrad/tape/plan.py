"""The tape plan: for every value an adjoint mentions, where it comes from when the adjoint runs.

Facts come from the analysis (what is needed, what survives in memory); this module decides. A value is read from its
container where it survives, recomputed from values that survive, taken from a container the program stored it in, or
kept on the tape.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

import dace
import sympy
from dace import data as dt
from dace import symbolic

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.memory import Memory, Place, extent
from sdgrad.analysis.needs import leaf_needs, reduces
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.relations import injective, loop_param
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.names import Names
from sdgrad.program.leaves import mentioned
from sdgrad.program.tree import (
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Source,
    Store,
    While,
    children,
    reads,
    values,
    writes,
)
from sdgrad.symbolic import code, kinds
from sdgrad.symbolic.expr import free_names, sym


@dataclass(frozen=True)
class Kept:
    """A value kept on the tape: ``tape[index] = load`` at its node."""

    load: Load
    tape: Container
    index: tuple[sympy.Expr, ...]
    owner: Path | None  # the scope whose replay fills the tape; None: the primal program
    params: tuple[Param, ...] = ()
    inline: bool = False  # kept by the leaf itself: only its instances know the index

    @property
    def leaf(self) -> Leaf:
        """The copy onto the tape, as a leaf of its own."""
        body = (self.load, Store(self.tape.name, self.index, self.load.name))
        return Leaf(self.params, body, Source(label=self.tape.name))

    def __str__(self) -> str:
        return f"{self.tape.name}[{', '.join(map(str, self.index))}] keeps {self.load}"


@dataclass(frozen=True)
class LeafPlan:
    """How a leaf's adjoint gets its values: instructions that replay them, and what the primal must keep for it."""

    replay: tuple[Instr, ...] = ()
    kept: tuple[Kept, ...] = ()
    results: Mapping[str, tuple[str, tuple[sympy.Expr, ...]]] = field(
        default_factory=dict
    )  # final values of reductions
    after: tuple[Kept, ...] = ()  # results to keep, read when the leaf is done
    initial: Mapping[str, Kept] = field(default_factory=dict)  # what a reduction that is not fresh started from


@dataclass(frozen=True)
class Replay:
    """What a map's adjoint computes again before it runs backwards: these locals, with these loads from the tape."""

    locals: frozenset[str]
    loads: Mapping[Path, Mapping[str, Kept]]


@dataclass(frozen=True)
class TapePlan:
    """All decisions, by node path."""

    leaves: Mapping[Path, LeafPlan] = field(default_factory=dict)
    values: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)
    regions: Mapping[tuple[Path, str], Container] = field(default_factory=dict)
    replays: Mapping[Path, Replay] = field(default_factory=dict)

    @property
    def containers(self) -> tuple[Container, ...]:
        """Every tape container."""
        kept = [k.tape for plan in self.leaves.values() for k in (*plan.kept, *plan.after)]
        kept += [k.tape for ks in self.values.values() for k in ks]
        kept += [k.tape for replay in self.replays.values() for ks in replay.loads.values() for k in ks.values()]
        return tuple({c.name: c for c in [*kept, *self.regions.values()]}.values())

    def __str__(self) -> str:
        found = [k for plan in self.leaves.values() for k in plan.kept] + [k for ks in self.values.values() for k in ks]
        found_regions = [f"{c.name} keeps operand {conn} of {path}" for (path, conn), c in self.regions.items()]
        return "\n".join([*map(str, found), *found_regions]) or "no tape"


@dataclass
class Planner:
    """Makes the plan of one program."""

    program: Program
    activity: Activity
    memory: Memory
    names: Names

    def plan(self, operand_needs: Mapping[Path, tuple[str, ...]]) -> TapePlan:
        """``operand_needs``: the connectors whose primal values the adjoint of a call mentions."""
        leaves: dict[Path, LeafPlan] = {}
        kept: dict[Path, tuple[Kept, ...]] = {}
        regions: dict[tuple[Path, str], Container] = {}
        for path, node in nodes_with_paths(self.program.body):
            if isinstance(node, Leaf):
                needed = leaf_needs(node, path, self.activity)
                if needed:
                    leaves[path] = self.leaf(node, path, needed)
            elif isinstance(node, NodeCall):
                for connector in operand_needs.get(path, ()):
                    region = {**node.inputs, **node.outputs}[connector]
                    if not self.memory.region_survives(region, path, connector in node.outputs):
                        regions[path, connector] = self.region_tape(region, path)
            found = tuple(k for v in values(node) for load in v.loads if (k := self.value_load(load, path)) is not None)
            if found:
                kept[path] = found
        replays = {
            path: self.replay(node, path, leaves)
            for path, node in nodes_with_paths(self.program.body)
            if isinstance(node, Scope)
        }
        return TapePlan(leaves, kept, regions, replays)

    # -- maps with structured bodies
    def replay(self, scope: Scope, path: Path, leaves: Mapping[Path, LeafPlan]) -> Replay:
        """The locals a map's adjoint needs, and the loads they are computed from that must come from the tape."""
        inside = [((*path, *where[1:]), node) for where, node in nodes_with_paths((scope,)) if len(where) > 1]
        mine = {c.name for c in scope.locals}
        needed = {x.container for where, node in inside for v in values(node) for x in v.loads} & mine
        for where, _ in inside:
            plan = leaves.get(where, LeafPlan())
            needed |= {i.container for i in plan.replay if isinstance(i, Load)} & mine
            needed |= {container for container, _ in plan.results.values()} & mine
        loads: dict[Path, dict[str, Kept]] = {}
        while True:
            before = len(needed)
            for where, node in inside:
                if needed & {self.program.root(w) for w in writes(node)} and not children(node):
                    needed |= {self.program.root(r) for r in reads(node)} & mine
                    if isinstance(node, Leaf) and where not in loads:
                        loads[where] = self.replay_loads(node, where, mine)
            if len(needed) == before:
                return Replay(frozenset(needed), {w: k for w, k in loads.items() if k})

    def replay_loads(self, leaf: Leaf, path: Path, mine: set[str]) -> dict[str, Kept]:
        return {
            x.name: self.keep(x, leaf, path)
            for x in leaf.loads
            if x.container not in mine
            and self.owner(x.container, self.memory.places[path]) is None
            and not self.memory.survives(x, leaf, path)
        }

    # -- leaves
    def leaf(self, leaf: Leaf, path: Path, needed: frozenset[str]) -> LeafPlan:
        definitions = {i.name: i for i in leaf.body if not isinstance(i, Store)}
        chosen: dict[str, Instr] = {}
        kept: list[Kept] = []
        stored = self.stored_values(leaf, path)

        def resolve(name: str) -> None:
            instr = definitions.get(name)
            if instr is None or name in chosen:
                return
            if isinstance(instr, Load):
                for other in sorted(mentioned(instr)):
                    resolve(other)
                if self.memory.survives(instr, leaf, path):
                    chosen[name] = instr
                elif name in stored:
                    chosen[name] = stored[name]
                else:
                    keep = self.keep(instr, leaf, path)
                    kept.append(keep)
                    chosen[name] = Load(name, keep.tape.name, keep.index, None)
                return
            if name in stored and self.worth_loading(instr, definitions, leaf, path):
                chosen[name] = stored[name]
                return
            for other in sorted(mentioned(instr)):
                resolve(other)
            chosen[name] = instr

        for name in sorted(needed):
            resolve(name)
        order = {i.name: k for k, i in enumerate(leaf.body) if not isinstance(i, Store)}
        replay = tuple(chosen[n] for n in sorted(chosen, key=order.__getitem__))
        results, after = self.results(leaf, path)
        initial = {
            s.container: self.keep(Load(self.names.fresh("x0"), s.container, s.index), leaf, path)
            for s in leaf.stores
            if not s.fresh and reduces(s, path, self.activity)
        }
        return LeafPlan(replay, (*kept, *initial.values()), results, after, initial)

    def results(self, leaf: Leaf, path: Path) -> tuple[dict, tuple[Kept, ...]]:
        """Where the final values of active max and min reductions are when the adjoint runs."""
        found: dict[str, tuple[str, tuple[sympy.Expr, ...]]] = {}
        after: list[Kept] = []
        for store in leaf.stores:
            if store.mode != "prod" and reduces(store, path, self.activity):
                found[store.container] = (store.container, store.index)
                if not self.store_survives(store, leaf, path):
                    keep = self.keep(Load(self.names.fresh("y"), store.container, store.index), leaf, path)
                    after.append(keep)
                    found[store.container] = (keep.tape.name, keep.index)
        return found, tuple(after)

    def stored_values(self, leaf: Leaf, path: Path) -> dict[str, Load]:
        """Values of the leaf that can be loaded back from where it stored them."""
        found: dict[str, Load] = {}
        place = self.memory.places[path]
        local = {i.name for i in leaf.body if not isinstance(i, Store)}
        for store in leaf.stores:
            container = self.program.containers[store.container]
            if (
                store.mode != "set"
                or store.guard
                or free_names(*store.index) & local
                or container.dtype not in (dace.float64, dace.complex128)
                or self.is_local(store.container, place)
            ):
                continue
            if injective(store, leaf, len(store.index)) and self.store_survives(store, leaf, path):
                found.setdefault(store.value, Load(store.value, store.container, store.index))
        return found

    def is_local(self, container: str, place: Place) -> bool:
        return any(isinstance(n, Scope) and container in {c.name for c in n.locals} for _, n in place.outer)

    def store_survives(self, store: Store, leaf: Leaf, path: Path) -> bool:
        """Whether nothing after the leaf (in it: other stores) overwrites what it stored."""
        others = Leaf(leaf.params, tuple(i for i in leaf.body if i is not store), leaf.source)
        same_root = [s for s in others.stores if self.program.root(s.container) == self.program.root(store.container)]
        if same_root or self.memory.places[path].loops:
            return False
        later = [
            w
            for w in self.memory.writes.get(self.program.root(store.container), ())
            if w.place.path != path and self.memory._may_follow(w, self.memory.places[path])
        ]
        mine = self.memory._leaf_elements(store, leaf, self.memory.places[path])
        return all(w.container == store.container and mine.is_disjoint(w.elements) for w in later)

    def worth_loading(self, instr: Let, definitions: Mapping[str, Instr], leaf: Leaf, path: Path) -> bool:
        """Whether reading a stored value back beats recomputing it: a function call, or an operand that is gone."""
        if isinstance(instr.expr, ast.Call) and not _is_cast(instr.expr):
            return True
        loads, todo = set(), list(mentioned(instr))
        while todo:
            other = definitions.get(todo.pop())
            if isinstance(other, Load):
                loads.add(other)
            elif other is not None:
                todo += mentioned(other)
        return any(not self.memory.survives(load, leaf, path) for load in loads)

    def keep(self, load: Load, leaf: Leaf | None, path: Path) -> Kept:
        """A tape container for one load: a dimension for each enclosing loop and each parameter it varies with."""
        place = self.memory.places[path]
        owner = self.owner(load.container, place)
        own, inline = self.varying(load, leaf)
        params = [*self.outer_params(place, owner), *own]
        shape, index = [], []
        for k, p in enumerate(params):
            low, high = extent(params, k)
            step = abs(p.step)
            shape.append((high - low) + 1 if step == 1 else symbolic.int_floor(high - low, step) + 1)
            index.append(sym(p.name) - low if step == 1 else symbolic.int_floor(sym(p.name) - low, step))
        dtype = self.program.containers[load.container].dtype
        name = self.names.fresh(f"tape_{load.container}")
        desc = dt.Array(dtype, shape, transient=True) if shape else dt.Scalar(dtype, transient=True)
        return Kept(load, Container(name, desc), tuple(index) or (sympy.Integer(0),), owner, tuple(own), inline)

    def varying(self, load: Load, leaf: Leaf | None) -> tuple[list[Param], bool]:
        """The leaf's parameters that a load varies with, and whether it must be kept inside the leaf."""
        if leaf is None:
            return [], False
        local = {i.name for i in leaf.body if not isinstance(i, Store)}
        used = free_names(*load.index)
        own = [p for p in leaf.params if p.name in used]
        dropped = {p.name for p in leaf.params} - {p.name for p in own}
        bounds = {n for p in own for n in free_names(p.start, p.stop, p.step)}
        if used & local or load.guard is not None or bounds & dropped:
            return list(leaf.params), True
        return own, False

    def owner(self, container: str, place: Place) -> Path | None:
        for path, node in place.outer:
            if isinstance(node, Scope) and container in {c.name for c in node.locals}:
                return path
        return None

    def outer_params(self, place: Place, owner: Path | None) -> list[Param]:
        """Parameters of the loops and maps between the tape's owner and the node."""
        found: list[Param] = []
        for where, node in place.outer:
            if owner is not None and len(where) <= len(owner):
                continue
            if isinstance(node, Scope):
                found += node.params
            elif isinstance(node, Loop) and (p := loop_param(node)) is not None:
                found.append(p)
            elif isinstance(node, (Loop, While)):
                raise DifferentiationError(
                    [
                        Problem(
                            "loop",
                            "a value must be kept in a loop whose trip count is not known on entry",
                            str(node.source),
                            "give the loop bounds that do not depend on data",
                        )
                    ]
                )
        return found

    # -- control values and operands of calls
    def value_load(self, load: Load, path: Path) -> Kept | None:
        return None if self.memory.survives(load, None, path) else self.keep(load, None, path)

    def region_tape(self, region: Region, path: Path) -> Container:
        """A copy of a whole operand, made before the call."""
        if self.memory.places[path].outer:
            raise DifferentiationError([Problem("call", f"operand {region} is overwritten in a loop", hint="copy it")])
        desc = self.program.containers[region.container].desc
        name = self.names.fresh(f"tape_{region.container}")
        shape = [n for n in region.subset.size()]
        return Container(name, dt.Array(desc.dtype, shape, transient=True))


def _is_cast(expr: ast.Call) -> bool:
    return code.callee(expr) in kinds.CASTS
