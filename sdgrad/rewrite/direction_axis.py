"""Give what varies with a direction one more axis, the innermost: all else is computed once for all directions.

This is the vector mode of Griewank & Walther (2008, 3.1 and 3.2), on program trees. A leaf becomes two: one for what
varies, with one more parameter, and one for the rest. A library node runs once for each direction, on copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.program.arrays import ONE, ZERO
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.descriptors import dense
from sdgrad.program.leaves import as_loops, live
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Source,
    Store,
    children,
    values,
    walk,
    with_children,
)
from sdgrad.program.window import Axis, Window
from sdgrad.runtime.libraries.checkpoint_schedule import CheckpointSchedule
from sdgrad.symbolic.expr import sym


class OneByOne(Exception):
    """Directions have to follow each other: what runs, and not only what it computes, depends on them."""


def varying(program: Program, seeds: Collection[str]) -> frozenset[str]:
    """Return the containers whose contents depend on the direction, and the views of them.

    :raises OneByOne: so does what runs.
    """
    found = {program.root(s) for s in seeds}
    while True:
        before = len(found)
        for node in walk(program.body):
            found |= _written_by(node, found, program)
        if len(found) == before:
            break
    loads = (x for node in walk(program.body) for value in values(node) for x in value.loads)
    if any(program.root(x.container) in found for x in loads):
        raise OneByOne
    return frozenset(n for n in program.containers if program.root(n) in found)


def _written_by(node: Node, found: Collection[str], program: Program) -> set[str]:
    """Return the containers that a node fills with what varies."""
    if isinstance(node, Leaf):
        names = _varying_names(node, found, program)
        return {program.root(s.container) for s in node.stores if s.names & names}
    if not isinstance(node, NodeCall) or not any(program.root(r.container) in found for r in node.inputs.values()):
        return set()
    _refuse(node)
    return {program.root(r.container) for r in node.outputs.values()}


def _varying_names(leaf: Leaf, found: Collection[str], program: Program) -> set[str]:
    """Return the values of a leaf that vary."""
    names: set[str] = set()
    for instr in leaf.body:
        if not isinstance(instr, Store):
            source = isinstance(instr, Load) and program.root(instr.container) in found
            if source or instr.names & names:
                names.add(instr.name)
    return names


def bytes_of_a_direction(program: Program, containers: Collection[str]) -> int:
    """Return the bytes that containers take for one direction.

    :raises OneByOne: nobody knows yet.
    """
    own = [program.containers[n] for n in containers if program.containers[n].view_of is None]
    sizes = [sympy.sympify(c.desc.total_size) for c in own]
    if not all(n.is_Integer for n in sizes):
        raise OneByOne
    return sum(int(n) * c.dtype.bytes for n, c in zip(sizes, own, strict=True))


@dataclass(frozen=True)
class DirectionAxis:
    """Programs in which some containers have one more axis.

    :param wide: these containers; all are of known size.
    :param count: the extent of the axis.
    """

    program: Program
    wide: frozenset[str]
    count: int
    names: Names
    made: dict[str, Container] = field(default_factory=dict)  # copies of one direction

    def containers(self) -> dict[str, Container]:
        """Return all containers of the program, after its blocks have been rewritten."""
        return {n: self.container(c) for n, c in self.program.containers.items()} | self.made

    def container(self, container: Container) -> Container:
        """Return a container, with the axis if it has one."""
        if container.name not in self.wide:
            return container
        desc, n = container.desc, self.count
        shape, strides = [*container.shape, sympy.Integer(n)], [s * n for s in _strides(desc)] + [ONE]
        made = dt.ArrayView if container.view_of is not None else dt.Array
        new = made(desc.dtype, shape, strides=strides, total_size=desc.total_size * n, transient=True)
        subset = container.view_subset
        if subset is not None:
            subset = subsets.Range([*subset.ranges, (ZERO, sympy.Integer(n - 1), ONE)])
        return Container(container.name, new, container.view_of, subset)

    def block(self, block: Block) -> Block:
        """Return a block for all directions."""
        return tuple(new for node in block for new in self.node(node))

    def node(self, node: Node) -> Block:
        """Return a node for all directions."""
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, NodeCall):
            return self.call(node)
        if isinstance(node, Loop) and node.last in self.wide:
            raise OneByOne
        before = set(self.made)
        node = with_children(node, tuple(self.block(b) for b in children(node)))
        if isinstance(node, Scope):
            own = [c for n, c in self.made.items() if n not in before]
            node = replace(node, locals=(*map(self.container, node.locals), *own))
        return (node,)

    def leaf(self, leaf: Leaf) -> Block:
        """Return what varies for all directions, and then the rest.

        :raises OneByOne: what varies reads what the rest has stored.
        """
        mine = [s for s in leaf.stores if s.container in self.wide]
        if not mine:
            return (leaf,)
        others = [s for s in leaf.stores if s.container not in self.wide]
        first = live((i for i in leaf.body if not isinstance(i, Store) or i in mine), set())
        last = live((i for i in leaf.body if not isinstance(i, Store) or i in others), set())
        self.check_order(leaf, first, others)
        place = self.place()
        wide = replace(leaf, params=(*leaf.params, place), body=self.at(first, place))
        return (wide, replace(leaf, body=last)) if others else (wide,)

    def check_order(self, leaf: Leaf, first: Sequence, others: Sequence[Store]) -> None:
        """Raise an error if values of one direction are read behind a store that is made after all directions."""
        stored = {self.program.root(s.container) for s in others}
        read = {x.name for x in first if isinstance(x, Load) and self.program.root(x.container) in stored}
        if read and leaf.sequential:
            raise OneByOne
        done = False
        for instr in leaf.body:
            done |= isinstance(instr, Store) and self.program.root(instr.container) in stored
            if done and not isinstance(instr, Store) and instr.name in read:
                raise OneByOne

    def at(self, body: Sequence, place: Param) -> tuple:
        """Return instructions at one direction."""
        (leaf,) = renamed((Leaf((), tuple(body)),), self.windows(place))
        assert isinstance(leaf, Leaf)
        return leaf.body

    def windows(self, place: Param) -> dict[str, Window]:
        """Return each container with the axis, at one direction."""
        return {n: self.window(n, place) for n in self.wide}

    def window(self, name: str, place: Param) -> Window:
        """Return a container at one direction."""
        rank = len(self.program.containers[name].shape)
        return Window(name, (*(ZERO,) * rank, sym(place.name)), tuple(Axis(k, ONE) for k in range(rank)))

    def call(self, call: NodeCall) -> Block:
        """Return a call once for each direction, on copies of what varies.

        :raises OneByOne: the node drives a loop.
        """
        regions = [r for r in (*call.inputs.values(), *call.outputs.values()) if r.container in self.wide]
        if not regions:
            return (call,)
        _refuse(call)
        copies = {c: self.copy(c) for c in dict.fromkeys(r.container for r in regions)}
        place = self.place()
        before = [self.copied(r, copies[r.container], place, into=True) for r in _once(regions)]
        left = _once(r for r in call.outputs.values() if r.container in self.wide)
        after = [self.copied(r, copies[r.container], place, into=False) for r in left]
        return as_loops((place,), (*before, *renamed((call,), copies), *after), call.source)

    def place(self) -> Param:
        """Return a parameter that runs over the directions."""
        return Param(self.names.fresh("direction"), ZERO, sympy.Integer(self.count - 1), ONE)

    def copy(self, name: str) -> str:
        """Make memory for one direction of a container."""
        container = self.program.containers[name]
        fresh = self.names.fresh(f"one_{name}")
        self.made[fresh] = Container(fresh, dense(container.dtype, container.shape, True))
        return fresh

    def copied(self, region: Region, one: str, place: Param, into: bool) -> Leaf:
        """Return the leaf that copies a region at one direction, or the other way."""
        params, index = [], []
        for start, stop, step in region.subset.ranges:
            if start == stop:
                index.append(start)
                continue
            params.append(Param(self.names.fresh("i"), start, stop, step))
            index.append(sym(params[-1].name))
        v, there = self.names.fresh("v"), (one, tuple(index))
        here = region.container, self.window(region.container, place).index(tuple(index))
        source, target = (here, there) if into else (there, here)
        return Leaf(tuple(params), (Load(v, *source), Store(*target, v)), Source(label=one))


def _refuse(call: NodeCall) -> None:
    """Raise an error if a call that touches what varies cannot run once for each direction.

    :raises OneByOne: it drives a loop, has a rule of its own, or adds to what is there.
    """
    adds = any(r.wcr is not None for r in (*call.inputs.values(), *call.outputs.values()))
    if adds or isinstance(call, CustomCall) or isinstance(call.node, CheckpointSchedule):
        raise OneByOne


def _once(regions: Iterable[Region]) -> list[Region]:
    """Return regions without those that are equal to one before."""
    found: dict[str, Region] = {}
    for region in regions:
        found.setdefault(str(region), region)
    return [*found.values()]


def _strides(desc: dt.Data) -> Sequence:
    """Return the strides of memory; a number has one element."""
    return desc.strides if isinstance(desc, dt.Array) else (ONE,)
