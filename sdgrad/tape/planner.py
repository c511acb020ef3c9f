"""One tape plan: for every value an adjoint mentions, where it comes from when the adjoint runs.

Facts come from the analysis (what is needed, what survives in memory); this module decides. A value is read from its
container where it survives, recomputed from values that survive, taken from a container the program stored it in, or
kept on the tape. Of the values of a leaf the fewest are kept that the others can be recomputed from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.needs import leaf_needs, reduces
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.survival import Access, Memory
from sdgrad.program.leaves import mentioned
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Branch,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    children,
    reads,
    values,
    writes,
)
from sdgrad.symbolic import code, kinds
from sdgrad.symbolic.expr import free_names, substitute, sym
from sdgrad.tape import restoring
from sdgrad.tape.min_cut import cheapest_cut
from sdgrad.tape.plan import Checkpoint, Kept, KeptRegion, KeptSymbol, LeafPlan, Replay, TapePlan
from sdgrad.tape.recomputation import Available
from sdgrad.tape.storage import Dimension, Keeper, varying


@dataclass
class Planner:
    """Makes the plan of one program."""

    program: Program
    activity: Activity
    memory: Memory
    names: Names
    keeper: Keeper
    available: Available
    cuts: dict[tuple, set[str]]  # answers that all trials share
    leaves: dict[Path, LeafPlan] = field(default_factory=dict)
    kept: dict[Path, tuple[Kept, ...]] = field(default_factory=dict)
    lasts: dict[Path, Kept] = field(default_factory=dict)
    regions: dict[tuple[Path, str], KeptRegion] = field(default_factory=dict)
    decisions: dict[Path, KeptSymbol] = field(default_factory=dict)
    symbols: dict[Path, KeptSymbol] = field(default_factory=dict)
    originals: dict[Path, Mapping[Load, Load]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)  # containers that needed values are read from, in loops, and are gone

    @staticmethod
    def of(
        activity: Activity,
        available: Available,
        names: Names,
        checkpoints: Mapping[Path, Checkpoint],
        cuts: dict[tuple, set[str]],
    ) -> Planner:
        program, memory = available.program, available.memory
        keeper = Keeper(program, memory, names, checkpoints)
        return Planner(program, activity, memory, names, keeper, available, cuts)

    def plan(self, operand_needs: Mapping[Path, Mapping[str, Region]]) -> TapePlan:
        nodes = list(nodes_with_paths(self.program.body))
        for path, node in nodes:
            if isinstance(node, Leaf):
                needed = leaf_needs(node, path, self.activity)
                if needed:
                    self.leaves[path] = self.leaf(node, path, needed)
            elif isinstance(node, NodeCall):
                for connector, region in operand_needs.get(path, {}).items():
                    self.operand(node, connector, region, path)
        destroyed, redone, inverses = self.undo()
        matters = self.reversed_regions(destroyed.keys() | inverses.keys())
        for path, node in nodes:
            if path in matters or isinstance(node, SymbolAssign) and path[:-2] in matters:
                self.control(node, path)
        replays = {path: self.replay(node, path) for path, node in nodes if isinstance(node, Scope)}
        return TapePlan(
            self.leaves,
            self.kept,
            self.regions,
            replays,
            self.lasts,
            self.decisions,
            self.symbols,
            destroyed,
            inverses,
            self.reruns(),
            frozenset(w.container for w in self.available.clobbering.values()),
            self.originals,
            self.keeper.counters,
            redone,
            self.keeper.checkpoints,
        )

    def reversed_regions(self, undone: Iterable[Path]) -> set[Path]:
        """Paths of the control nodes that run backwards: around nodes with an adjoint, and writes to be undone."""
        inner = (
            {p for p, names in self.activity.names.items() if names} | self.activity.overwritten.keys() | set(undone)
        )
        return {p[:k] for p in inner for k in range(1, len(p), 2)} | {()}

    # -- undone writes and nodes that run again
    def undo(self) -> tuple[dict[Path, tuple[Kept, ...]], dict[Path, tuple[Kept, ...]], dict[Path, Leaf]]:
        """What writes to be undone destroy, and what those to be redone leave; leaves that undo without a tape."""
        inverses = restoring.inverses(self.available, self.activity)
        destroyed: dict[Path, tuple[Kept, ...]] = {}
        redone: dict[Path, tuple[Kept, ...]] = {}
        for write in self.available.clobbering.values():
            if write.path in inverses:
                continue
            load = Load(self.names.fresh("v"), write.container, write.index)
            node = self.memory.nodes[write.path]
            leaf = node if isinstance(node, Leaf) else Leaf(write.own, (load,))
            kept = replace(self.keeper.keep(load, leaf, write.path), inline=False)
            found = redone if write.container in self.available.redone else destroyed
            found[write.path] = (*found.get(write.path, ()), kept)
        return destroyed, redone, inverses

    def reruns(self) -> dict[Path, tuple[Leaf, ...]]:
        """By the node before whose adjoint they run, in their own order."""
        found: dict[Path, list[Leaf]] = {}
        for _, run in sorted(self.available.reruns.items()):
            found.setdefault(run.before, []).append(run.leaf)
        return {before: tuple(leaves) for before, leaves in found.items()}

    # -- control values
    def control(self, node: Node, path: Path) -> None:
        loads = [x for v in values(node) for x in v.loads]
        lost = [x for x in loads if not self.memory.survives(x, None, path)]
        in_map = any(isinstance(n, Scope) for _, n in self.memory.places[path].outer)
        if lost and isinstance(node, Branch) and not in_map:
            self.decisions[path] = self.keeper.keep_integer("arm", dace.int8, path)
        elif lost and isinstance(node, SymbolAssign) and not in_map:
            found = {x: original for x in lost if (original := self.original(x, path)) is not None}
            if len(found) == len(lost):
                self.originals[path] = found
                return
            self.symbols[path] = self.keeper.keep_integer(node.symbol, node.dtype, path)
        elif lost and isinstance(node, Loop) and node.last is not None:
            # the last trip says where the loop ended: of its bounds only the first matters, and the step
            again = {x for v in (node.start, node.step) for x in v.loads}
            self.kept[path] = tuple(self.keeper.keep(x, None, path) for x in lost if x in again)
        elif lost:
            self.kept[path] = tuple(self.keeper.keep(x, None, path) for x in lost)
        if isinstance(node, Loop) and node.last is not None:
            last = Load(self.names.fresh("v"), node.last, SCALAR)
            if self.memory.clobbers(self.memory.element(last, None, self.memory.places[path]), after=True):
                self.lasts[path] = self.keeper.keep(last, None, path)

    def original(self, load: Load, path: Path) -> Load | None:
        """The element that a scalar was just set to, if it is still there in the end: an index, say, from its array."""
        symbols: set[str] = set()
        for k in range(path[-1] - 1, -1, -1):
            before = (*path[:-1], k)
            node = self.memory.nodes[before]
            if isinstance(node, SymbolAssign):
                symbols.add(node.symbol)
                continue
            if self.program.root(load.container) not in {self.program.root(w) for w in writes(node)}:
                if children(node):
                    return None
                continue
            if not isinstance(node, Leaf) or node.params or self.program.root(load.container) != load.container:
                return None
            mine = [s for s in node.stores if s.container == load.container]
            loads = {x.name: x for x in node.loads}
            found = loads.get(mine[0].value) if len(mine) == 1 else None
            if found is None or mine[0].mode != "set" or mine[0].guard is not None or found.guard is not None:
                return None
            plain = not free_names(*found.index) & (symbols | node.defined)
            owned = self.memory.places[path].owner(found.container) is not None
            return found if plain and not owned and self.memory.survives(found, node, before) else None
        return None

    # -- operands of calls
    def operand(self, call: NodeCall, connector: str, region: Region, path: Path) -> None:
        access = self.memory.region(region, self.memory.places[path])
        result = call.is_result(connector)
        if result and not self.memory.clobbers(access, after=True) and self.stays(access):
            return
        if not result and self.available.has(access):
            self.available.use(access)
            return
        load = Load(self.names.fresh("v"), region.container, tuple(sym(p.name) for p in access.own))
        kept = self.keeper.keep(load, Leaf(access.own, (load,)), path)
        desc = dt.Array(self.program.containers[region.container].dtype, list(region.subset.size()), transient=True)
        scratch = Container(self.names.fresh(f"operand_{region.container}"), desc)
        self.regions[path, connector] = KeptRegion(kept, scratch, region)

    # -- maps with structured bodies
    def replay(self, scope: Scope, path: Path) -> Replay:
        """The locals a map's adjoint needs, and the loads they are computed from that must come from the tape."""
        inside = [((*path, *where[1:]), node) for where, node in nodes_with_paths((scope,)) if len(where) > 1]
        mine = {c.name for c in scope.locals}
        needed = {x.container for where, node in inside for v in values(node) for x in v.loads} & mine
        for where, _ in inside:
            plan = self.leaves.get(where, LeafPlan())
            needed |= {i.container for i in plan.replay if isinstance(i, Load)} & mine
            needed |= {container for container, _ in plan.results.values()} & mine
            kept = (*plan.kept, *plan.after, *self.kept.get(where, ()))
            kept += (self.lasts[where],) if where in self.lasts else ()
            needed |= {k.of for k in kept if k.of is not None} & mine
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
            x.name: self.keeper.keep(x, leaf, path)
            for x in leaf.loads
            if x.container not in mine
            and self.memory.places[path].owner(x.container) is None
            and not self.memory.survives(x, leaf, path)
        }

    # -- leaves
    def leaf(self, leaf: Leaf, path: Path, needed: frozenset[str]) -> LeafPlan:
        definitions = {i.name: i for i in leaf.body if not isinstance(i, Store)}
        stored = self.stored_values(leaf, path)
        place = self.memory.places[path]
        lost = {x.name for x in leaf.loads if not self.available.has(self.memory.element(x, leaf, place))}
        tainted = derived(lost, definitions)
        tape: dict[str, Kept] = {}
        if place.loops and needed & tainted:
            gone = {x.container for x in leaf.loads if x.name in lost}
            self.lost |= {n for n in gone if self.program.containers[n].view_of is None}
        cut = self.cut(leaf, path, needed, definitions, tainted, stored)
        for name in definitions:  # in this order: a set has another one in each process
            if name in cut and name not in stored:
                tape[name] = self.keep(name, definitions, leaf, path)
        chosen: dict[str, Instr] = {}

        def resolve(name: str) -> None:
            instr = definitions.get(name)
            if instr is None or name in chosen:
                return
            if name in tape:
                chosen[name] = tape[name].back()
            elif name in stored and (name in tainted or _is_function(instr)):
                chosen[name] = stored[name]
            else:
                for other in sorted(mentioned(instr)):
                    resolve(other)
                chosen[name] = instr

        for name in sorted(needed):
            resolve(name)
        order = {i.name: k for k, i in enumerate(leaf.body) if not isinstance(i, Store)}
        replay = tuple(chosen[n] for n in sorted(chosen, key=order.__getitem__))
        for instr in replay:
            if isinstance(instr, Load) and instr is definitions[instr.name]:
                self.available.use(self.memory.element(instr, leaf, place))
        results, after = self.results(leaf, path)
        initial = {
            s.container: self.keeper.keep(Load(self.names.fresh("x0"), s.container, s.index), leaf, path)
            for s in leaf.stores
            if not s.fresh and reduces(s, path, self.activity)
        }
        instances: tuple[Dimension, ...] = ()
        if any(s.mode == "prod" and reduces(s, path, self.activity) for s in leaf.stores):
            instances = tuple(self.keeper.dimensions(place, path, leaf.params, leaf))
        own = [k for k in tape.values() if not k.shared]
        return LeafPlan(replay, (*own, *initial.values()), results, after, initial, instances)

    def keep(self, name: str, definitions: Mapping[str, Instr], leaf: Leaf, path: Path) -> Kept:
        instr = definitions[name]
        if isinstance(instr, Load):
            return self.same_value(instr, leaf, path) or self.keeper.keep(instr, leaf, path)
        return self.keeper.keep_name(name, self.dtype_of(name, leaf, path), leaf, path)

    def same_value(self, load: Load, leaf: Leaf, path: Path) -> Kept | None:
        """What an earlier leaf of the block keeps, if it reads the same elements and nobody writes them in between."""
        own, inline = varying(load, leaf)
        root, owner = self.program.root(load.container), self.keeper.owner(self.memory.places[path], load.container)
        if inline:
            return None
        for k in range(path[-1] - 1, -1, -1):
            earlier = (*path[:-1], k)
            if root in {self.program.root(n) for n in writes(self.memory.nodes[earlier])}:
                return None
            for kept in self.leaves[earlier].kept if earlier in self.leaves else ():
                if kept.load is None or kept.inline or kept.owner != owner or kept.load.container != load.container:
                    continue
                env = {p.name: sym(q.name) for p, q in zip(kept.params, own, strict=False)}
                ranges = [tuple(substitute(x, env) for x in (p.start, p.stop, p.step)) for p in kept.params]
                index, place = (tuple(substitute(e, env) for e in found) for found in (kept.load.index, kept.index))
                if index == load.index and ranges == [(q.start, q.stop, q.step) for q in own]:
                    return replace(kept, name=load.name, load=load, index=place, params=tuple(own), shared=True)
        return None

    def dtype_of(self, name: str, leaf: Leaf, path: Path) -> dace.typeclass:
        kind = self.activity.facts[path].kinds.get(name, "float")
        if kind in ("int", "bool"):
            return dace.int64 if kind == "int" else dace.int8  # of which vectors are made; of bool there are none
        dtypes = {self.program.containers[x.container].dtype for x in leaf.loads}
        wide = not dtypes & {dace.float32, dace.complex64} or dtypes & {dace.float64, dace.complex128}
        if kind == "complex":
            return dace.complex128 if wide else dace.complex64
        return dace.float64 if wide else dace.float32

    def cut(
        self,
        leaf: Leaf,
        path: Path,
        needed: frozenset[str],
        definitions: Mapping[str, Instr],
        tainted: set[str],
        stored: Mapping[str, Load],
    ) -> set[str]:
        """The cheapest names to keep, from which everything needed can be had."""
        local = any(self.memory.places[path].owner(x.container) is not None for x in leaf.loads)
        uses = {n: mentioned(i) & tainted for n, i in definitions.items() if n in tainted}

        def cost(name: str) -> int | None:
            if name in stored:
                return 1
            instr = definitions[name]
            if isinstance(instr, Load):
                return self.program.containers[instr.container].dtype.bytes * trips(varying(instr, leaf)[0])
            # locals of a map are computed again by its replay, which has loads to keep
            return None if local else self.dtype_of(name, leaf, path).bytes * trips(leaf.params)

        question = (path, frozenset(tainted), frozenset(stored))
        if question not in self.cuts:
            self.cuts[question] = cheapest_cut(uses, needed & tainted, cost)
        return self.cuts[question]

    def results(self, leaf: Leaf, path: Path) -> tuple[dict, tuple[Kept, ...]]:
        """Where the final values of active max and min reductions are when the adjoint runs."""
        found: dict[str, tuple[str, tuple[sympy.Expr, ...]]] = {}
        after: list[Kept] = []
        for store in leaf.stores:
            if store.mode != "prod" and reduces(store, path, self.activity):
                found[store.container] = (store.container, store.index)
                if not self.store_survives(store, leaf, path):
                    keep = self.keeper.keep(Load(self.names.fresh("y"), store.container, store.index), leaf, path)
                    after.append(keep)
                    found[store.container] = (keep.tape.name, keep.index)
        return found, tuple(after)

    def stored_values(self, leaf: Leaf, path: Path) -> dict[str, Load]:
        """Values of the leaf that can be loaded back from where it stored them."""
        found: dict[str, Load] = {}
        place = self.memory.places[path]
        local = leaf.defined
        for store in leaf.stores:
            container = self.program.containers[store.container]
            if (
                store.mode != "set"
                or store.guard
                or free_names(*store.index) & local
                or container.dtype not in (dace.float64, dace.complex128)
                or place.owner(store.container) is not None
            ):
                continue
            if injective(store, leaf, len(store.index)) and self.store_survives(store, leaf, path):
                found.setdefault(store.value, Load(store.value, store.container, store.index))
        return found

    def store_survives(self, store: Store, leaf: Leaf, path: Path) -> bool:
        """Whether nothing after the leaf, and no other store in it, overwrites what it stored."""
        root = self.program.root(store.container)
        if any(s is not store and self.program.root(s.container) == root for s in leaf.stores):
            return False
        access = self.memory.element(store, leaf, self.memory.places[path])
        return not self.memory.clobbers(access, after=True) and self.stays(access)

    def stays(self, result: Access) -> bool:
        """Whether a result is not put back to what was there before its node ran."""
        return result.container not in self.available.undone


def derived(names: set[str], definitions: Mapping[str, Instr]) -> set[str]:
    """The names, and everything computed from them."""
    found = set(names)
    for name, instr in definitions.items():
        if mentioned(instr) & found:
            found.add(name)
    return found


def _is_function(instr: Instr) -> bool:
    """Whether loading a stored result back beats recomputing it."""
    return isinstance(instr, Let) and isinstance(instr.expr, ast.Call) and code.callee(instr.expr) not in kinds.CASTS
