"""Instrument the primal program: add the stores to the tape that the plan asks for.

::

    for i in range(n):                  for i in range(n):
        x[0] = sin(x[0])        -->         tape[i] = x[0]
                                            x[0] = sin(x[0])

The recorder also counts iterations, records the arms of branches, and saves checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import dace

from sdgrad.analysis.paths import Path
from sdgrad.program.leaves import live
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    SymbolAssign,
    Value,
    children,
    with_children,
)
from sdgrad.symbolic import code
from sdgrad.tape import scheduled_loops
from sdgrad.tape.plan import Kept, LeafPlan, TapePlan
from sdgrad.tape.trip_counting import count_trips


@dataclass
class Recorder:
    """Add the stores to the tape to blocks of the primal program; change only ``scratch``."""

    program: Program
    plan: TapePlan
    names: Names
    scratch: dict[str, Container] = field(default_factory=dict)  # containers that counting trips needs

    def record(self, block: Block, path: Path = (), owner: Path | None = None) -> Block:
        """Return a block with the stores to the tapes of one owner; None stands for the primal program."""
        out: list[Node] = []
        for k, node in enumerate(block):
            here = (*path, k)
            if not path:
                out += self.start_counting(node, here)
            before, after = self.kept_at(node, here, owner)
            out += [kept.leaf for kept in before if not kept.inline]
            if here in self.plan.checkpoints and isinstance(node, Loop):
                again = self.record(node.body, (*here, 0), owner=here)
                out += scheduled_loops.forward(
                    node, self.plan.checkpoints[here], again, self.plan.placed(here), self.names
                )
                continue
            arms = tuple(self.record(b, (*here, arm), owner) for arm, b in enumerate(children(node)))
            recording = self.recording(with_children(node, arms), here, before)
            out.append(recording)
            out += [kept.leaf for kept in after]
            if here in self.plan.symbols and isinstance(node, SymbolAssign):
                out.append(self.plan.symbols[here].keep(node.symbol))
        return tuple(out)

    def kept_at(self, node: Node, path: Path, owner: Path | None) -> tuple[list[Kept], list[Kept]]:
        """List the values that an owner tapes before (or within) a node, and those that it tapes after the node."""
        plan = self.plan.leaves.get(path, LeafPlan())
        replayed = [k for r in self.plan.replays.values() for k in r.loads.get(path, {}).values()]
        before = [*self.plan.undo.get(path, ()), *plan.kept, *self.plan.values.get(path, ()), *replayed]
        after = [
            *plan.after,
            *self.plan.redo.get(path, ()),
            *([self.plan.lasts[path]] if path in self.plan.lasts else []),
        ]
        for (where, connector), region in self.plan.regions.items():
            if where == path:
                result = isinstance(node, NodeCall) and node.is_result(connector)
                (after if result else before).append(region.kept)
        return [k for k in before if k.owner == owner], [k for k in after if k.owner == owner]

    def recording(self, node: Node, path: Path, kept: list[Kept]) -> Node:
        """Return a node that tapes what only it knows: computed values, the arm of a branch, a count of iterations."""
        if isinstance(node, Leaf):
            return replace(node, body=live((*node.body, *(k.store for k in kept if k.inline)), set()))
        if isinstance(node, Branch) and path in self.plan.decisions:
            arm = self.plan.decisions[path]
            arms = node.arms if node.arms[-1][0] is None else (*node.arms, (None, ()))
            return replace(node, arms=tuple((c, (arm.keep(str(k)), *b)) for k, (c, b) in enumerate(arms)))
        if isinstance(node, Loop) and path in self.plan.counters:
            count = self.plan.counters[path].count
            return replace(node, body=(*node.body, assign(count, f"{count} + 1")))
        return node

    def start_counting(self, node: Node, path: Path) -> list[Node]:
        """Return the nodes that count the iterations of loops ahead, to run before a top-level node."""
        counters = {p: c for p, c in self.plan.counters.items() if p[:1] == path}
        if not counters:
            return []
        counted, made = count_trips(node, path, counters, self.program, self.names)
        self.scratch |= made
        return [*counted, *(assign(c.count, "0") for c in counters.values())]


def assign(symbol: str, text: str) -> SymbolAssign:
    """Assign an expression of symbols to a symbol."""
    return SymbolAssign(symbol, Value((), code.parse(text)), dace.int64)
