"""Compute the live symbols after each block of a state machine.

DaCe's frontend assigns many symbols (``__sym_k`` for a subscript), and reads most of them in the next block. Only live
symbols have to be carried by loops and joined after branches. The method is backward data flow over structured code,
twice over the body of a loop (Aho, Lam, Sethi and Ullman 2006, section 9.2.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dace.properties import CodeBlock
from dace.sdfg.state import ConditionalBlock, ControlFlowBlock, ControlFlowRegion, LoopRegion, SDFGState

Symbols = frozenset[str]
NOTHING: Symbols = frozenset()


@dataclass
class Live:
    """Live symbols: those that may be read before they are assigned again."""

    after: dict[ControlFlowBlock, Symbols] = field(default_factory=dict)  # after a block
    first: dict[ControlFlowBlock, Symbols] = field(default_factory=dict)  # at the start of an iteration of a loop

    def read_after(self, block: ControlFlowBlock) -> Symbols:
        """Return the symbols that are live after a block."""
        return self.after.get(block, NOTHING)

    def handed_on(self, loop: LoopRegion) -> Symbols:
        """Return the symbols that an iteration may read from the one before, or the program from the last one."""
        return self.after.get(loop, NOTHING) | self.first.get(loop, NOTHING)


def live_symbols(region: ControlFlowRegion) -> Live:
    """Compute the live symbols of a state machine; empty if it has neither loops nor branches."""
    live = Live()
    if any(isinstance(b, (LoopRegion, ConditionalBlock)) for b in region.all_control_flow_blocks()):
        _Walker(live).sequence(region, NOTHING, NOTHING)
    return live


class _Walker:
    """The backward walk over the blocks, with the symbols that each state reads."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.read: dict[SDFGState, Symbols] = {}

    def sequence(self, region: ControlFlowRegion, after: Symbols, jumped: Symbols) -> Symbols:
        """Return the symbols that are live before a region; ``jumped`` are those live at the targets of jumps."""
        blocks = _chain(region)
        live = after
        for block in reversed(blocks):
            for edge in region.out_edges(block)[:1]:
                live = (live - edge.data.assignments.keys()) | edge.data.read_symbols()
            if not region.out_edges(block) and block is not blocks[-1]:
                live = jumped
            self.live.after[block] = live | self.live.after.get(block, NOTHING)
            live = self.block(block, live, jumped)
        return live

    def block(self, block: ControlFlowBlock, after: Symbols, jumped: Symbols) -> Symbols:
        """Return the symbols that are live before a block."""
        if isinstance(block, SDFGState):
            if block not in self.read:
                self.read[block] = frozenset(map(str, block.free_symbols))
            return after | self.read[block]
        if isinstance(block, LoopRegion):
            return self.loop(block, after, jumped)
        if isinstance(block, ConditionalBlock):
            arms = [self.sequence(r, after, jumped) | _read(c) for c, r in block.branches]
            return frozenset().union(after, *arms)
        if isinstance(block, ControlFlowRegion):
            return self.sequence(block, after, jumped)
        return after | jumped  # break, continue, return

    def loop(self, loop: LoopRegion, after: Symbols, jumped: Symbols) -> Symbols:
        """Return the symbols that are live before a loop."""
        again = after | _read(loop.loop_condition) | _read(loop.update_statement)
        for _ in range(2):
            self.live.first[loop] = self.sequence(loop, again, again | jumped)
            again |= self.live.first[loop]
        started = {loop.loop_variable} if loop.init_statement is not None else set()
        return (again - started) | _read(loop.init_statement)


def _chain(region: ControlFlowRegion) -> list[ControlFlowBlock]:
    """Return the blocks of a region in order, up to the first repetition."""
    blocks: list[ControlFlowBlock] = []
    block = region.start_block if region.nodes() else None
    while block is not None and block not in blocks:
        blocks.append(block)
        edges = region.out_edges(block)
        block = edges[0].dst if edges else None
    return blocks


def _read(code: CodeBlock | None) -> Symbols:
    """Return the symbols that a piece of code reads."""
    return frozenset(code.get_free_symbols()) if code is not None else NOTHING
