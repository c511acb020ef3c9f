"""Decide how the reverse sweep repeats the control flow: conditions, bounds, and values of symbols.

The reverse sweep of a control node evaluates its values again, where these survive in memory. Else it needs the tape:

- a branch outside of maps tapes the number of the arm that it took, a byte;
- an assignment to a symbol outside of maps tapes the integer, unless the scalar it comes from is a copy of an array
  element that survives (:mod:`sdgrad.tape.originals`);
- all other nodes tape the loads of their values.

A loop that records its last iteration needs its first bound and its step only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import dace

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.program.tree import SCALAR, Branch, Load, Loop, Node, Scope, SymbolAssign, values
from sdgrad.tape.originals import original_element
from sdgrad.tape.plan import Kept, KeptSymbol
from sdgrad.tape.storage import Keeper


def reversed_nodes(activity: Activity, undone: Iterable[Path]) -> set[Path]:
    """Collect the paths of control nodes around active nodes and around writes to undo: those that run backwards."""
    active = {p for p, names in activity.names.items() if names}
    inner = active | activity.overwritten.keys() | set(undone)
    return {p[:k] for p in inner for k in range(1, len(p), 2)} | {()}


@dataclass
class ControlPlanner:
    """Plan the values of control nodes, one node after the other in program order."""

    keeper: Keeper
    kept: dict[Path, tuple[Kept, ...]] = field(default_factory=dict)
    lasts: dict[Path, Kept] = field(default_factory=dict)  # last iterations of loops
    decisions: dict[Path, KeptSymbol] = field(default_factory=dict)  # arms of branches
    symbols: dict[Path, KeptSymbol] = field(default_factory=dict)
    originals: dict[Path, Mapping[Load, Load]] = field(default_factory=dict)  # of loads of symbols' values

    def visit(self, node: Node, path: Path) -> None:
        """Tape what the reverse sweep of a node cannot read again."""
        memory = self.keeper.memory
        lost = [x for v in values(node) for x in v.loads if not memory.survives(x, None, path)]
        if lost:
            self.visit_lost(node, path, lost)
        if isinstance(node, Loop) and node.last is not None:
            self.visit_last(node.last, path)

    def visit_lost(self, node: Node, path: Path, lost: list[Load]) -> None:
        """Tape the arm of a branch, the integer of a symbol, or the lost loads themselves."""
        in_map = any(isinstance(n, Scope) for _, n in self.keeper.memory.places[path].outer)
        if isinstance(node, Branch) and not in_map:
            self.decisions[path] = self.keeper.keep_integer("arm", dace.int8, path)
        elif isinstance(node, SymbolAssign) and not in_map:
            self.visit_assignment(node, path, lost)
        else:
            self.kept[path] = tuple(self.keeper.keep(x, None, path) for x in lost if _is_repeated(x, node))

    def visit_assignment(self, node: SymbolAssign, path: Path, lost: list[Load]) -> None:
        """Trace all lost loads of a symbol's value to surviving elements; if that fails for one, tape the symbol."""
        found = {x: original for x in lost if (original := original_element(x, path, self.keeper.memory)) is not None}
        if len(found) == len(lost):
            self.originals[path] = found
        else:
            self.symbols[path] = self.keeper.keep_integer(node.symbol, node.dtype, path)

    def visit_last(self, container: str, path: Path) -> None:
        """Tape the last iteration of a loop, if its container is overwritten after the loop."""
        memory = self.keeper.memory
        last = Load(self.keeper.names.fresh("v"), container, SCALAR)
        if memory.clobbers(memory.element(last, None, memory.places[path]), after=True):
            self.lasts[path] = self.keeper.keep(last, None, path)


def _is_repeated(load: Load, node: Node) -> bool:
    """True if the reverse sweep evaluates a load: all but those of the end of a loop with a recorded last iteration."""
    if not isinstance(node, Loop) or node.last is None:
        return True
    return load in (*node.start.loads, *node.step.loads)
