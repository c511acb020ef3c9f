"""Share the tape of a value between the leaves of a block that load it.

Two leaves of one block that load the same elements, with no write in between, need one tape entry::

    map i: v = x[i]; ..       tape[i] = x[i]
    map j: w = x[j]; ..       the adjoint of the second leaf loads tape[j], too

This is common subexpression elimination on the tape. It declines if the tape is written inside of its leaf, or if the
two loads do not have the same index over the same ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Leaf, Load, Param, writes
from sdgrad.symbolic.expr import substitute, sym
from sdgrad.tape.plan import Kept, LeafPlan
from sdgrad.tape.storage import Keeper, varying


def shared_tape(load: Load, leaf: Leaf, path: Path, keeper: Keeper, leaves: Mapping[Path, LeafPlan]) -> Kept | None:
    """Return the tape entry of an earlier leaf that holds what the load reads; None if there is none.

    :param leaves: plans of the leaves so far, by path.
    """
    own, inline = varying(load, leaf)
    if inline:
        return None
    owner = keeper.owner(keeper.memory.places[path], load.container)
    for earlier in _unwritten_before(load, path, keeper):
        for kept in leaves[earlier].kept if earlier in leaves else ():
            if kept.load is None or kept.inline or kept.owner != owner or kept.load.container != load.container:
                continue
            found = _with_parameters(kept, own)
            if found is not None and found.load is not None and found.load.index == load.index:
                return replace(found, name=load.name, load=load, shared=True)
    return None


def _unwritten_before(load: Load, path: Path, keeper: Keeper) -> Iterator[Path]:
    """Yield the earlier nodes of a node's block, the last first, back to the first that writes the container."""
    program = keeper.program
    root = program.root(load.container)
    for k in range(path[-1] - 1, -1, -1):
        earlier = (*path[:-1], k)
        if root in {program.root(n) for n in writes(keeper.memory.nodes[earlier])}:
            return
        yield earlier


def _with_parameters(kept: Kept, own: tuple[Param, ...]) -> Kept | None:
    """Rename a tape entry's parameters to those of another leaf; None if their ranges differ."""
    assert kept.load is not None
    env = {p.name: sym(q.name) for p, q in zip(kept.params, own, strict=False)}
    ranges = [tuple(substitute(x, env) for x in (p.start, p.stop, p.step)) for p in kept.params]
    if ranges != [(q.start, q.stop, q.step) for q in own]:
        return None
    load_index, index = (tuple(substitute(e, env) for e in found) for found in (kept.load.index, kept.index))
    return replace(kept, load=replace(kept.load, index=load_index), index=index, params=tuple(own))
