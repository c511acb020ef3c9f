"""Split long reductions with few results into partial sums, to give a GPU enough threads.

Two-stage parallel reduction without atomics (Harris 2007): thread ``lane`` sums every ``lanes``-th term into memory of
its own, and one thread for each result adds the partial sums in a fixed order, so results are reproducible::

    map i=0:100000:                    map lane=0:1024, turn=0:..: part_s[lane] += x[lane + 1024 * turn] (fresh)
      s[0] += x[i] (fresh)             map lane=0:1024: s[0] += part_s[lane] (fresh)

Declines for symbolic ranges, guarded or indirect stores, many results, and short sums. Other reductions only get their
reduced parameters innermost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy
from dace import data as dt
from dace.symbolic import int_floor

from sdgrad.config import config
from sdgrad.optimize.locality.loop_interchange import reduced_last
from sdgrad.program.leaves import live, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Leaf, Load, Node, Param, Program, Source, Store, rewritten
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
WARP = 32
"""Threads of a GPU that execute one instruction together."""


def share_sums(program: Program, names: Names) -> Program:
    """Move reduced parameters innermost, and split long reductions with few results in two stages."""
    made: dict[str, Container] = {}

    def change(node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Leaf) or node.sequential or not any(s.mode != "set" for s in node.stores):
            return (node,)
        return _shared_out(node, program, names, made)

    body = rewritten(program.body, change)
    return replace(program, body=body, containers={**program.containers, **made})


def _shared_out(leaf: Leaf, program: Program, names: Names, made: dict[str, Container]) -> tuple[Leaf, ...]:
    """Take the long reductions out of a leaf, each into two leaves of its own, and keep the other stores in it."""
    written, read = ({program.root(x.container) for x in xs} for xs in (leaf.stores, leaf.loads))
    if written & read:
        return (reduced_last(leaf),)
    out: list[Leaf] = []
    for store in leaf.stores:
        body = live((i for i in leaf.body if not isinstance(i, Store) or i is store), set())
        alone = reduced_last(replace(leaf, body=body))
        if store.mode != "set" and (parts := in_parts(alone, program, names, made)) is not None:
            out += parts
            leaf = replace(leaf, body=live((i for i in leaf.body if i is not store), set()))
    return (*out, reduced_last(leaf)) if leaf.stores else tuple(out)


@dataclass(frozen=True)
class Split:
    """The parameters of a reduction that is split.

    :param kept: the parameters that number the results.
    :param longest: the reduced parameter with the most iterations; lanes share it.
    :param others: the other reduced parameters.
    """

    kept: tuple[Param, ...]
    longest: Param
    others: tuple[Param, ...]

    @staticmethod
    def of(leaf: Leaf) -> Split | None:
        """Split the parameters of a leaf with one store; None if it is no reduction over constant ranges."""
        (store,) = leaf.stores
        used = store.index_names
        reduced = [p for p in leaf.params if p.name not in used]
        if not reduced or store.guard is not None or used & leaf.defined or not all(map(_is_constant, leaf.params)):
            return None
        longest = max(reduced, key=lambda p: int(p.count))
        kept = tuple(p for p in leaf.params if p.name in used)
        return Split(kept, longest, tuple(p for p in reduced if p is not longest))

    @property
    def lanes(self) -> int:
        """Return the number of partial sums of each result."""
        return min(config.machine.gpu_partial_sums, int(self.longest.count) // 4)

    def pays(self) -> bool:
        """True if the results alone keep too few threads busy, and each is a long sum."""
        elements, terms = (int(sympy.prod([p.count for p in ps])) for ps in (self.kept, (self.longest, *self.others)))
        if elements > config.machine.gpu_busy_elements or terms < config.machine.gpu_split_terms:
            return False
        return self.lanes >= WARP


def _is_constant(param: Param) -> bool:
    """True for a parameter of step 1 with numbers as bounds."""
    return param.step == 1 and param.start.is_number and param.stop.is_number


def in_parts(leaf: Leaf, program: Program, names: Names, made: dict[str, Container]) -> tuple[Leaf, ...] | None:
    """Split a reduction into partial sums and their sum; None if it is no long reduction with few results.

    :param leaf: has one store, to a container that it does not read.
    :param made: gets the container of the partial sums.
    """
    split = Split.of(leaf)
    if split is None or not split.pays():
        return None
    (store,) = leaf.stores
    lanes, longest = sympy.Integer(split.lanes), split.longest
    lane, turn = Param(names.fresh("lane"), ZERO, lanes - 1, ONE), names.fresh("turn")
    turns = Param(turn, ZERO, int_floor(longest.stop - longest.start - sym(lane.name), lanes), ONE)
    term = {longest.name: longest.start + sym(lane.name) + lanes * sym(turn)}
    shape = [*(int(p.count) for p in split.kept), split.lanes]
    dtype = program.containers[store.container].dtype
    part = Container(names.fresh(f"part_{store.container}"), dt.Array(dtype, shape, transient=True))
    made[part.name] = part
    index = (*(sym(p.name) - p.start for p in split.kept), sym(lane.name))
    into = Store(part.name, index, store.value, store.mode, None, True)
    body = tuple(rename_instr(i, {}, term) for i in leaf.body if not isinstance(i, Store))
    first = replace(leaf, params=(*split.kept, lane, *split.others, turns), body=(*body, into))
    value = names.fresh("v")
    second = (Load(value, part.name, index), replace(store, value=value))
    return first, Leaf((*split.kept, lane), second, Source(leaf.source.file, leaf.source.line, leaf.source.label))
