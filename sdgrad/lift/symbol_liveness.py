"""Which symbols may still be read after each block of a state machine.

DaCe's frontend gives symbols away freely (``__sym_k`` for an index), and reads most of them in the block that follows.
Only those that are read later have to be handed on by loops and joined after branches. The method is the usual one for
structured programs: backwards through the text, twice through the body of a loop (Aho, Lam, Sethi and Ullman, 9.2.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dace.properties import CodeBlock
from dace.sdfg.state import ConditionalBlock, ControlFlowBlock, ControlFlowRegion, LoopRegion, SDFGState

Symbols = frozenset[str]
NOTHING: Symbols = frozenset()


@dataclass
class Live:
    """Symbols that may be read before they are assigned again."""

    after: dict[ControlFlowBlock, Symbols] = field(default_factory=dict)  # after a block
    first: dict[ControlFlowBlock, Symbols] = field(default_factory=dict)  # at the start of a loop's trips

    def read_after(self, block: ControlFlowBlock) -> Symbols:
        return self.after.get(block, NOTHING)

    def handed_on(self, loop: LoopRegion) -> Symbols:
        """What a trip reads of the one before, or the program of the last one."""
        return self.after.get(loop, NOTHING) | self.first.get(loop, NOTHING)


def live_symbols(region: ControlFlowRegion) -> Live:
    """The live symbols of a state machine."""
    live = Live()
    if any(isinstance(b, (LoopRegion, ConditionalBlock)) for b in region.all_control_flow_blocks()):
        _Walker(live).sequence(region, NOTHING, NOTHING)
    return live


class _Walker:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.read: dict[SDFGState, Symbols] = {}

    def sequence(self, region: ControlFlowRegion, after: Symbols, jumped: Symbols) -> Symbols:
        """What is live before a region; ``jumped`` is what is live where a jump may lead."""
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
        again = after | _read(loop.loop_condition) | _read(loop.update_statement)
        for _ in range(2):
            self.live.first[loop] = self.sequence(loop, again, again | jumped)
            again |= self.live.first[loop]
        started = {loop.loop_variable} if loop.init_statement is not None else set()
        return (again - started) | _read(loop.init_statement)


def _chain(region: ControlFlowRegion) -> list[ControlFlowBlock]:
    """The blocks of a region in order; those of one without structure up to where it shows."""
    blocks: list[ControlFlowBlock] = []
    block = region.start_block if region.nodes() else None
    while block is not None and block not in blocks:
        blocks.append(block)
        edges = region.out_edges(block)
        block = edges[0].dst if edges else None
    return blocks


def _read(code: CodeBlock | None) -> Symbols:
    return frozenset(code.get_free_symbols()) if code is not None else NOTHING
