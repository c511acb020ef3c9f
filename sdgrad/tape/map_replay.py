"""Plan the replay of a map with a structured body: the slice that recomputes the map's locals for its adjoint.

The locals of a map do not outlive it, so that its adjoint first computes them again. Which ones it needs is a program
slice (Weiser 1984): the locals that its adjoint mentions, closed under the definitions of locals. Loads of the slice
from containers of the program that are overwritten later come from the tape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.program.tree import Leaf, Load, Node, Program, Scope, children, reads, values, writes
from sdgrad.tape.plan import Kept, LeafPlan, Replay
from sdgrad.tape.storage import Keeper

Nodes = Sequence[tuple[Path, Node]]


@dataclass(frozen=True)
class ReplayPlanner:
    """Plan replays, given the plans of the leaves and of the control nodes."""

    keeper: Keeper
    leaves: Mapping[Path, LeafPlan]
    kept: Mapping[Path, tuple[Kept, ...]]  # values of control nodes
    lasts: Mapping[Path, Kept]  # last iterations of loops

    def plan(self, scope: Scope, path: Path) -> Replay:
        """Return the locals to recompute, and the tape entries for the lost loads of the leaves that define them."""
        inside = [((*path, *where[1:]), node) for where, node in nodes_with_paths((scope,)) if len(where) > 1]
        mine = {c.name for c in scope.locals}
        mentioned = {x.container for _, node in inside for v in values(node) for x in v.loads}
        mentioned = mentioned.union(*(self.mentioned_at(where) for where, _ in inside))
        needed, leaves = slice_of(inside, mentioned & mine, mine, self.keeper.program)
        loads = {where: self.taped_loads(leaf, where, mine) for where, leaf in leaves.items()}
        return Replay(frozenset(needed), {where: kept for where, kept in loads.items() if kept})

    def mentioned_at(self, path: Path) -> set[str]:
        """Collect the containers that the adjoint of a node loads from, or that its tape is a copy of."""
        plan = self.leaves.get(path, LeafPlan())
        found = {i.container for i in plan.replay if isinstance(i, Load)}
        found |= {container for container, _ in plan.results.values()}
        kept = (*plan.kept, *plan.after, *self.kept.get(path, ()))
        kept += (self.lasts[path],) if path in self.lasts else ()
        return found | {k.of for k in kept if k.of is not None}

    def taped_loads(self, leaf: Leaf, path: Path, mine: set[str]) -> dict[str, Kept]:
        """Tape a leaf's loads from containers of the program that are overwritten later, by name."""
        memory = self.keeper.memory
        return {
            x.name: self.keeper.keep(x, leaf, path)
            for x in leaf.loads
            if x.container not in mine
            and memory.places[path].owner(x.container) is None
            and not memory.survives(x, leaf, path)
        }


def slice_of(inside: Nodes, wanted: set[str], mine: set[str], program: Program) -> tuple[set[str], dict[Path, Leaf]]:
    """Slice a map's body for some locals: all locals they depend on, and the leaves that define these.

    :param inside: the nodes of the body, with paths.
    :param mine: all locals of the map.
    """
    needed, leaves = set(wanted), dict[Path, Leaf]()
    grown = -1
    while grown < len(needed):
        grown = len(needed)
        for where, node in inside:
            if children(node) or not needed & {program.root(w) for w in writes(node)}:
                continue
            needed |= {program.root(r) for r in reads(node)} & mine
            if isinstance(node, Leaf):
                leaves.setdefault(where, node)
    return needed, leaves
