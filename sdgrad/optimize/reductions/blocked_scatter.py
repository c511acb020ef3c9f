"""Strip-mine a sum into elements that data choose, and distribute each block over two loops.

A loop that adds to ``x[idx[i]]`` has to keep its order, and a single loop would compute the added values in that order
too. Blocks separate the two: the first loop computes the values of one block and can be vectorized, the second one adds
them in order. ::

    for i=0:1024:                  for block=0:4:
      k = idx[i]                     map trip=0:256:
      t = tanh(y[i])                   index[trip] = idx[256 * block + trip]
      x[k] += t                        value[trip] = tanh(y[256 * block + trip])
                                     for trip=0:256:
                                       x[index[trip]] += value[trip]

The block's buffers fit into the first-level cache. Declined are short loops, loops with little to compute, guarded
sums, sums that walk along rows, and leaves that read what they change. A check of the subscripts belongs to the first
loop. (Allen & Kennedy 2001, on strip mining and loop
distribution.)
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import dace
import sympy
from dace import data as dt

from sdgrad.config import config
from sdgrad.program.leaves import live, rename_instr, same_values
from sdgrad.program.names import Names
from sdgrad.program.naming import is_status
from sdgrad.program.prelude import is_vectorized
from sdgrad.program.tree import Container, Expr, Instr, Leaf, Let, Load, Param, Program, Scope, Store
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True)
class Blocks:
    """A strip-mined parameter: the loop over blocks, the loop within one, and the old parameter in terms of both."""

    block: Param
    trip: Param
    place: Mapping[str, Expr]


def in_blocks(leaf: Leaf, program: Program, names: Names) -> tuple[Scope, list[Container]] | None:
    """Make a scatter a loop over blocks with two loops inside, and return it with its buffers; None if it declines."""
    along = leaf.params[-1]
    if not pays(leaf, along) or not is_scatter(leaf, along, program):
        return None
    blocks = strip_mined(along, names)
    same = same_values(leaf.body)
    renamed = [s for x in leaf.stores if isinstance(s := rename_instr(x, same, {}), Store)]
    stores = [s for s in renamed if not is_status(s.container)]
    checks = [s for s in renamed if is_status(s.container)]
    cheap = {x.name: x for x in leaf.body if not isinstance(x, Store) and _is_cheap(x, leaf)}
    buffers = buffers_of(stores, leaf, cheap.keys(), program, names)
    loops = (_computing(leaf, blocks, buffers, checks), _adding(leaf, blocks, buffers, [*cheap.values(), *stores]))
    params = (*leaf.params[:-1], blocks.block)
    return Scope(params, loops, tuple(buffers.values()), leaf.source, sequential=True), list(buffers.values())


def pays(leaf: Leaf, along: Param) -> bool:
    """True if the loop is longer than a block, and computes enough to be worth a second loop."""
    if along.step != 1 or not (along.count.is_number and along.count > config.machine.scatter_block):
        return False
    return len(leaf.lets) >= config.machine.scatter_instructions or is_vectorized(leaf)


def is_scatter(leaf: Leaf, along: Param, program: Program) -> bool:
    """True if data alone choose the elements in the loop over ``along``, and the leaf reads no container it changes."""
    for s in leaf.stores:
        used = s.index_names
        if is_status(s.container) and not used and s.guard is None:
            continue
        if s.guard is not None or not used & leaf.defined or along.name in used:
            return False
    stored = {program.root(s.container) for s in leaf.stores}
    return not stored & {program.root(x.container) for x in leaf.loads}


def strip_mined(along: Param, names: Names) -> Blocks:
    """Strip-mine a parameter; the last block is shorter if the blocks do not divide the range."""
    size = config.machine.scatter_block
    last = along.stop - along.start
    block = Param(names.fresh("block"), ZERO, last // size, ONE)
    name = names.fresh("trip")
    if along.count % size == 0:
        block, stop = replace(block, stop=along.count / size - 1), sympy.Integer(size - 1)
    else:
        stop = sympy.Min(size - 1, last - size * sym(block.name))
    place = {along.name: along.start + size * sym(block.name) + sym(name)}
    return Blocks(block, Param(name, ZERO, stop, ONE), place)


def buffers_of(
    stores: Sequence[Store], leaf: Leaf, cheap: Collection[str], program: Program, names: Names
) -> dict[str, Container]:
    """Make a buffer of one block for each subscript and each value of some stores, except values that are cheap."""
    kinds = {n: dace.int64 for s in stores for n in sorted(s.index_names & leaf.defined)}
    kinds |= {s.value: program.containers[s.container].dtype for s in stores if s.value not in {*kinds, *cheap}}
    shape, on_stack = [config.machine.scatter_block], dace.StorageType.Register
    return {
        n: Container(names.fresh("block"), dt.Array(dtype, shape, transient=True, storage=on_stack))
        for n, dtype in kinds.items()
    }


def _computing(leaf: Leaf, blocks: Blocks, buffers: Mapping[str, Container], checks: Sequence[Store]) -> Leaf:
    """Make the first loop of a block, which computes the buffered values, and checks them."""
    at = (sym(blocks.trip.name),)
    values = [rename_instr(i, {}, blocks.place) for i in leaf.body if not isinstance(i, Store)]
    body = live((*values, *(Store(b.name, at, n) for n, b in buffers.items()), *checks), set())
    return Leaf((blocks.trip,), body, leaf.source, schedule=dace.ScheduleType.Sequential)


def _adding(leaf: Leaf, blocks: Blocks, buffers: Mapping[str, Container], instrs: Sequence[Instr]) -> Leaf:
    """Make the second loop of a block, which adds the buffered values in order.

    :param instrs: cheap values, which are computed again, and the stores.
    """
    at = (sym(blocks.trip.name),)
    read = [Load(n, b.name, at) for n, b in buffers.items()]
    moved = [rename_instr(i, {}, blocks.place) for i in instrs]
    again = [i for i in moved if not isinstance(i, Store)]
    added = [i for i in moved if isinstance(i, Store)]
    return Leaf((blocks.trip,), live((*again, *read, *added), set()), leaf.source, sequential=True)


def _is_cheap(value: Load | Let, leaf: Leaf) -> bool:
    """True if a value is computed as fast as it is read back: a constant, or an element at a known place."""
    if isinstance(value, Let):
        return isinstance(value.expr, ast.Constant)
    return value.guard is None and not value.index_names & leaf.defined
