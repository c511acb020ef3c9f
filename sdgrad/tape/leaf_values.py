"""Decide for every value that a leaf's adjoint needs whether to reload, recompute or tape it.

A leaf is straight-line code. A value is *lost* if the leaf loaded it from an element that a later node overwrites; each
value computed from a lost one is *tainted*. Tainted values that the leaf stored are loaded back from there
(:mod:`sdgrad.tape.stored_values`). Of the others, the cheapest set of values goes on the tape such that the adjoint can
compute the rest from it: a minimum vertex cut of the dataflow graph (:mod:`sdgrad.tape.min_cut`). This is the
store-or-recompute decision of reverse mode (Griewank & Walther 2008, chapter 12).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import dace

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.needs import reduces
from sdgrad.analysis.paths import Path
from sdgrad.program.reductions import EXTREMES
from sdgrad.program.tree import Instr, Leaf, Let, Load, Store
from sdgrad.symbolic import code, kinds
from sdgrad.tape.dimensions import Dimension
from sdgrad.tape.min_cut import cheapest_cut
from sdgrad.tape.plan import Kept, LeafPlan
from sdgrad.tape.recomputation import Available
from sdgrad.tape.shared_values import shared_tape
from sdgrad.tape.storage import Keeper, varying
from sdgrad.tape.stored_values import StoredValues

EXACT = {"abs", "max", "min", *EXTREMES.values(), "conj", "real", "imag", *kinds.CASTS}
"""Functions whose results are not rounded."""


@dataclass(frozen=True)
class LeafValues:
    """State of a leaf's values when its adjoint runs."""

    leaf: Leaf
    path: Path
    definitions: Mapping[str, Instr]
    stored: Mapping[str, Load]  # names that containers of the program still hold, with the load
    lost: Set[str]  # loads from elements that are overwritten later
    tainted: Set[str]  # lost names, and all that is computed from them

    def replay(self, needed: Set[str], tape: Mapping[str, Kept]) -> tuple[Instr, ...]:
        """List the instructions that give the needed names their values, in the order of the leaf."""
        chosen: dict[str, Instr] = {}

        def resolve(name: str) -> None:
            """Choose the source of a name: the tape, its container, or its operands."""
            instr = self.definitions.get(name)
            if instr is None or name in chosen:
                return
            if name in tape:
                chosen[name] = tape[name].back()
            elif name in self.stored and (name in self.tainted or _is_function(instr)):
                chosen[name] = self.stored[name]
            else:
                for operand in sorted(instr.names):
                    resolve(operand)
                chosen[name] = instr

        for name in sorted(needed):
            resolve(name)
        order = {name: k for k, name in enumerate(self.definitions)}
        return tuple(chosen[n] for n in sorted(chosen, key=order.__getitem__))


@dataclass
class LeafPlanner:
    """Plan the values of leaves, one leaf after the other in program order."""

    activity: Activity
    available: Available
    keeper: Keeper
    cuts: dict[tuple, set[str]]  # minimum cuts, shared by all trials of a search
    plans: dict[Path, LeafPlan] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)  # overwritten containers that needed values in loops come from

    def plan(self, leaf: Leaf, path: Path, needed: frozenset[str]) -> None:
        """Add the plan of a leaf, for the names whose values its adjoint needs."""
        found = self.values(leaf, path)
        self.note_lost(found, needed)
        tape = self.tape(found, needed)
        replay = found.replay(needed, tape)
        self.use_loads(found, replay)
        results, after = self.stored.extremes(leaf, path)
        initial = self.initial_values(leaf, path)
        own = [k for k in tape.values() if not k.shared]
        instances = self.instances(leaf, path)
        self.plans[path] = LeafPlan(replay, (*own, *initial.values()), results, after, initial, instances)

    @property
    def stored(self) -> StoredValues:
        return StoredValues(self.activity, self.available, self.keeper)

    def values(self, leaf: Leaf, path: Path) -> LeafValues:
        """Classify the values of a leaf: stored, lost, tainted."""
        definitions = {i.name: i for i in leaf.body if not isinstance(i, Store)}
        memory = self.available.memory
        place = memory.places[path]
        lost = {x.name for x in leaf.loads if not self.available.has(memory.element(x, leaf, place))}
        if not any(place.owner(x.container) is not None for x in leaf.loads):
            lost |= {s.value for s in leaf.stores if s.mode in EXTREMES and not is_exact(s.value, definitions)}
        tainted = _derived(lost, definitions)
        return LeafValues(leaf, path, definitions, self.stored.loads(leaf, path), lost, tainted)

    def note_lost(self, values: LeafValues, needed: Set[str]) -> None:
        """Note the containers of a leaf's lost loads: candidates for restoring, if the leaf is in a loop."""
        if self.available.memory.places[values.path].loops and needed & values.tainted:
            gone = {x.container for x in values.leaf.loads if x.name in values.lost}
            self.lost |= {n for n in gone if self.available.program.containers[n].view_of is None}

    def use_loads(self, values: LeafValues, replay: tuple[Instr, ...]) -> None:
        """Note what must run before the adjoint, so that the loads that it repeats find their values."""
        memory = self.available.memory
        for instr in replay:
            if isinstance(instr, Load) and instr is values.definitions[instr.name]:
                self.available.use(memory.element(instr, values.leaf, memory.places[values.path]))

    # -- the tape of a leaf
    def tape(self, values: LeafValues, needed: Set[str]) -> dict[str, Kept]:
        """Tape the names of the cheapest cut, in the order of the leaf's body."""
        chosen = self.cut(values, needed) - values.stored.keys()
        return {name: self.keep(name, values) for name in values.definitions if name in chosen}

    def keep(self, name: str, values: LeafValues) -> Kept:
        """Give a name a tape entry: that of an earlier leaf if it holds the same value, else a new one."""
        instr, leaf, path = values.definitions[name], values.leaf, values.path
        if isinstance(instr, Load):
            return shared_tape(instr, leaf, path, self.keeper, self.plans) or self.keeper.keep(instr, leaf, path)
        return self.keeper.keep_name(name, self.dtype_of(name, leaf, path), leaf, path)

    def cut(self, values: LeafValues, needed: Set[str]) -> set[str]:
        """Find the cheapest names from which all needed ones can be computed."""
        question = (values.path, frozenset(values.tainted), frozenset(values.stored))
        if question not in self.cuts:
            known = {n: i for n, i in values.definitions.items() if n in values.tainted}
            # a lost element is gone, even if its subscript can be computed
            uses = {n: set() if n in values.lost else i.names & values.tainted for n, i in known.items()}
            self.cuts[question] = cheapest_cut(uses, needed & values.tainted, lambda name: self.cost(name, values))
        return self.cuts[question]

    def cost(self, name: str, values: LeafValues) -> int | None:
        """Estimate the bytes of a name on the tape; None if the name cannot be taped."""
        if name in values.stored:
            return 1
        instr, leaf, place = values.definitions[name], values.leaf, self.available.memory.places[values.path]
        if isinstance(instr, Load):
            return self.available.program.containers[instr.container].dtype.bytes * trips(varying(instr, leaf)[0])
        # the replay of a map recomputes the map's locals, and tapes loads only
        if any(place.owner(x.container) is not None for x in leaf.loads):
            return None
        return self.dtype_of(name, leaf, values.path).bytes * trips(leaf.params)

    def dtype_of(self, name: str, leaf: Leaf, path: Path) -> dace.typeclass:
        """Choose the type of a computed value's tape: its kind, in the precision of the leaf's operands."""
        kind = self.activity.facts[path].kinds.get(name, "float")
        if kind in ("int", "bool"):
            return dace.int64 if kind == "int" else dace.int8  # there are vectors of int8, but none of bool
        dtypes = {self.available.program.containers[x.container].dtype for x in leaf.loads}
        wide = not dtypes & {dace.float32, dace.complex64} or dtypes & {dace.float64, dace.complex128}
        if kind == "complex":
            return dace.complex128 if wide else dace.complex64
        return dace.float64 if wide else dace.float32

    # -- reductions
    def initial_values(self, leaf: Leaf, path: Path) -> dict[str, Kept]:
        """Tape what active products, max and min reductions that are not fresh start from, by container."""
        names = self.keeper.names
        return {
            s.container: self.keeper.keep(Load(names.fresh("x0"), s.container, s.index), leaf, path)
            for s in leaf.stores
            if not s.fresh and reduces(s, path, self.activity)
        }

    def instances(self, leaf: Leaf, path: Path) -> tuple[Dimension, ...]:
        """Give the dimensions of an array with an element for each instance, for the partial products of a product."""
        if not any(s.mode == "prod" and reduces(s, path, self.activity) for s in leaf.stores):
            return ()
        return tuple(self.keeper.layout.dimensions(self.available.memory.places[path], path, leaf.params, leaf))


def _derived(names: Set[str], definitions: Mapping[str, Instr]) -> set[str]:
    """Close names under dataflow: add each name that is computed from one of them."""
    found = set(names)
    for name, instr in definitions.items():
        if instr.names & found:
            found.add(name)
    return found


def is_exact(name: str, definitions: Mapping[str, Instr], roundings: int = 1) -> bool:
    """True if a value is the same to the bit each time it is computed.

    The operands of a maximum are compared with it, and a compiler may contract or vectorise two loops differently. It
    needs two operations for that: one that is rounded, of what is not, is the same everywhere.
    """
    instr = definitions.get(name)
    if not isinstance(instr, Let):
        return True
    calls = (n for n in ast.walk(instr.expr) if isinstance(n, ast.Call))
    rounded = [n for n in ast.walk(instr.expr) if isinstance(n, ast.BinOp)]
    shared = any(isinstance(n.op, ast.Div) and not isinstance(n.right, ast.Constant) for n in rounded)  # 1 / b may be
    powers = any(isinstance(n.op, ast.Pow) and code.number_of(n.right) != 2 for n in rounded)  # functions, too
    if len(rounded) > roundings or shared or powers or any(code.callee(n) not in EXACT for n in calls):
        return False
    return all(is_exact(n, definitions, roundings - len(rounded)) for n in instr.names)


def _is_function(instr: Instr) -> bool:
    """True if an instruction calls a function that costs more than a load of its stored result."""
    return isinstance(instr, Let) and isinstance(instr.expr, ast.Call) and code.callee(instr.expr) not in kinds.CASTS
