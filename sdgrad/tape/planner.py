"""Make one tape plan: choose a source for every primal value that the adjoint mentions.

The analysis gives the facts: which values are needed, and which survive in memory. The planner decides. A value is read
again from its container, recomputed from values that survive, loaded from a container that the program stored it in, or
kept on the tape.

The planner visits the program once and gives each kind of value to its own module: values of leaves
(:mod:`sdgrad.tape.leaf_values`), of control nodes (:mod:`sdgrad.tape.control_values`), of maps with a structured body
(:mod:`sdgrad.tape.map_replay`), and what restored containers lose (:mod:`sdgrad.tape.restoring`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dace import data as dt

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.needs import leaf_needs
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.program.names import Names
from sdgrad.program.tree import Branch, Container, Leaf, Load, Node, NodeCall, Region, Scope, SymbolAssign, walk
from sdgrad.symbolic.expr import sym
from sdgrad.tape import restoring
from sdgrad.tape.control_values import ControlPlanner, reversed_nodes
from sdgrad.tape.leaf_values import LeafPlanner
from sdgrad.tape.map_replay import ReplayPlanner
from sdgrad.tape.plan import Checkpoint, KeptRegion, Replay, TapePlan
from sdgrad.tape.recomputation import Available
from sdgrad.tape.storage import Keeper

Nodes = Sequence[tuple[Path, Node]]
OperandNeeds = Mapping[Path, Mapping[str, Region]]


@dataclass
class Planner:
    """Make the plan of one program."""

    activity: Activity
    available: Available
    keeper: Keeper
    leaves: LeafPlanner
    control: ControlPlanner
    regions: dict[tuple[Path, str], KeptRegion] = field(default_factory=dict)  # operands of calls

    @staticmethod
    def of(
        activity: Activity,
        available: Available,
        names: Names,
        checkpoints: Mapping[Path, Checkpoint],
        cuts: dict[tuple, set[str]],
    ) -> Planner:
        """Start a plan with no decisions.

        :param checkpoints: loops that run again in parts.
        :param cuts: minimum cuts of leaves, shared by all trials of a search.
        """
        keeper = Keeper(available.program, available.memory, names, checkpoints)
        leaves = LeafPlanner(activity, available, keeper, cuts)
        return Planner(activity, available, keeper, leaves, ControlPlanner(keeper))

    @property
    def lost(self) -> set[str]:
        """Overwritten containers that needed values in loops are read from."""
        return self.leaves.lost

    def plan(self, operand_needs: OperandNeeds) -> TapePlan:
        """Decide for all needed values.

        :param operand_needs: operands of calls whose primal values the calls' adjoints mention.
        """
        nodes = list(nodes_with_paths(self.available.program.body))
        self.plan_values(nodes, operand_needs)
        inverses = restoring.inverses(self.available, self.activity)
        taped = restoring.taped_writes(self.available, self.keeper, inverses.keys())
        self.plan_control(nodes, taped.destroyed.keys() | inverses.keys())
        replays = self.plan_replays(nodes)
        return TapePlan(
            leaves=self.leaves.plans,
            values=self.control.kept,
            regions=self.regions,
            replays=replays,
            lasts=self.control.lasts,
            decisions=self.control.decisions,
            symbols=self.control.symbols,
            undo=taped.destroyed,
            inverses=inverses,
            reruns=self.available.scheduled_reruns(),
            undone=frozenset(w.container for w in self.available.clobbering.values()),
            originals=self.control.originals,
            counters=self.keeper.layout.counters,
            redo=taped.redone,
            checkpoints=self.keeper.checkpoints,
        )

    def plan_values(self, nodes: Nodes, operand_needs: OperandNeeds) -> None:
        """Plan the values of leaves and the operands of calls, in program order."""
        for path, node in nodes:
            if isinstance(node, Leaf):
                needed = leaf_needs(node, path, self.activity)
                if needed:
                    self.leaves.plan(node, path, needed)
            elif isinstance(node, NodeCall):
                for connector, region in operand_needs.get(path, {}).items():
                    self.plan_operand(node, connector, region, path)

    def plan_operand(self, call: NodeCall, connector: str, region: Region, path: Path) -> None:
        """Tape an operand or a result of a call that a later node overwrites."""
        memory, program = self.available.memory, self.available.program
        access = memory.region(region, memory.places[path])
        if call.is_result(connector):
            if self.available.has_result(access):
                return
        elif self.available.has(access):
            self.available.use(access)
            return
        load = Load(self.keeper.names.fresh("v"), region.container, tuple(sym(p.name) for p in access.own))
        kept = self.keeper.keep(load, Leaf(access.own, (load,)), path)
        desc = dt.Array(program.containers[region.container].dtype, list(region.subset.size()), transient=True)
        scratch = Container(self.keeper.names.fresh(f"operand_{region.container}"), desc)
        self.regions[path, connector] = KeptRegion(kept, scratch, region)

    def plan_control(self, nodes: Nodes, undone: set[Path]) -> None:
        """Plan the values of the control nodes that run backwards, and of the symbols assigned in their blocks.

        :param undone: nodes whose writes are undone on the way back.
        """
        again = set(reversed_nodes(self.activity, undone))
        for path, node in nodes:
            inside = path[:-2] in again
            if inside and isinstance(node, Branch) and any(isinstance(n, SymbolAssign) for n in walk((node,))):
                again.add(path)  # it has no adjoint, and runs for the symbols that it assigns
            if path in again or inside and isinstance(node, SymbolAssign):
                self.control.visit(node, path)

    def plan_replays(self, nodes: Nodes) -> dict[Path, Replay]:
        """Plan the replays of maps with a structured body, when all other values have their sources."""
        planner = ReplayPlanner(self.keeper, self.leaves.plans, self.control.kept, self.control.lasts)
        return {path: planner.plan(node, path) for path, node in nodes if isinstance(node, Scope)}
