"""Run a program once for every direction, in one call: given directions, or the unit vectors of an argument."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy
from dace import data as dt

from sdgrad.config import config
from sdgrad.program.arrays import assign, fill, over, over_shape
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names, is_status, result_names, without_results
from sdgrad.program.rename import renamed
from sdgrad.program.symbols import assigned_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Expr,
    Leaf,
    Let,
    Load,
    Param,
    Program,
    Scope,
    Source,
    Store,
    reads,
    writes,
)
from sdgrad.rewrite.direction_axis import DirectionAxis, OneByOne, bytes_of_a_direction, varying
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


def in_every_direction(
    program: Program, own: Sequence[str], seed: str, results: Sequence[str], last: bool, numbers: Collection[str] = ()
) -> Program:
    """Return a function of ``own``: the values of ``results`` for every unit vector of ``seed``.

    :param own: the arguments that stay; each direction starts from their initial content.
    :param seed: the argument that is set to unit vectors, many at once, or one after another.
    :param last: whether the axes of ``seed`` come after those of the result, or before them.
    :param numbers: seeds and results without axes, though containers have one.
    """
    asked = _Asked(program, own, [seed], results, last, numbers, None)
    try:
        return asked.side_by_side()
    except OneByOne:
        return asked.one_by_one()


def in_given_directions(
    program: Program,
    own: Sequence[str],
    seeds: Sequence[str],
    results: Sequence[str],
    count: int,
    numbers: Collection[str] = (),
    at_once: bool = True,
) -> Program:
    """Return a function of ``own`` and ``directions_<seed>``: the values of ``results`` for each direction.

    The directions of every seed, and those of every result, are along one more axis in front.

    :param numbers: results without axes of their own, though containers have one.
    :param at_once: many directions at once, where that is possible; else one after another.
    """
    asked = _Asked(program, own, seeds, results, False, numbers, count)
    try:
        return asked.side_by_side() if at_once else asked.one_by_one()
    except OneByOne:
        return asked.one_by_one()


def direction_name(seed: str) -> str:
    """Return the name of the argument that holds all directions of a seed."""
    return f"directions_{seed}"


@dataclass(frozen=True)
class _Directions:
    """Some directions: the loops around them, the subscript of one, and the shape of all of them.

    :param around: loops over what is done one after another.
    :param inside: parameters over the directions that are done at once, each with its axis in a wide container.
    :param place: where a direction is on the last axis of containers that vary; None: they have no such axis.
    """

    around: tuple[Param, ...]
    index: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    last: bool  # their axes come after those of a result, and not before
    inside: tuple[Param, ...] = ()
    place: Expr | None = None

    def beside(self, axes: tuple[Expr, ...], own: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return a shape or subscript of a result with that of the directions."""
        return (*own, *axes) if self.last else (*axes, *own)

    def at(self, index: tuple[Expr, ...], is_wide: bool) -> tuple[Expr, ...]:
        """Return the subscript of an element of a container."""
        return (*index, self.place) if is_wide and self.place is not None else index


@dataclass(frozen=True)
class _Asked:
    """What is to be computed, for directions that are given (``count`` of them), or for all unit vectors of a seed."""

    program: Program
    own: Sequence[str]
    seeds: Sequence[str]
    results: Sequence[str]
    last: bool
    numbers: Collection[str]
    count: int | None

    @property
    def shape(self) -> tuple[Expr, ...]:
        """Return the axes of the directions."""
        if self.count is not None:
            return (sympy.Integer(self.count),)
        return () if self.seeds[0] in self.numbers else self.program.containers[self.seeds[0]].shape

    def one_by_one(self) -> Program:
        """Return the program in loops over the directions."""
        names = all_names(self.program)
        around, index = over_shape(self.shape, names)
        working, mapping = self.working(names)
        directions = _Directions(around, index, self.shape, self.last)
        return self.whole(working, working.containers, mapping, frozenset(), directions, names)

    def side_by_side(self) -> Program:
        """Return the program with one more axis, for as many directions as stay in a cache.

        :raises OneByOne: these are too few, or what runs depends on the direction.
        """
        names = all_names(self.program)
        working, mapping = self.working(names)
        wide = varying(working, [mapping[n] for n in self.seeds])
        most = config.machine.direction_bytes // max(1, bytes_of_a_direction(working, wide))
        directions, count = _blocks(self.shape, most, self.last, names)
        axis = DirectionAxis(working, wide, count, names)
        working = replace(working, body=axis.block(working.body))
        return self.whole(working, axis.containers(), mapping, wide, directions, names)

    def working(self, names: Names) -> tuple[Program, dict[str, str]]:
        """Return the program on memory of its own, and the names of that: each direction starts from the arguments."""
        program, own = self.program, self.own
        written = {program.root(w) for n in program.body for w in writes(n)} & {n for n in own if not is_status(n)}
        mapping = without_results(program, names) | {n: names.fresh(f"work_{n}") for n in sorted(written)}
        containers = _working_containers(program, own, mapping)
        start = [assign(containers[mapping[n]], containers[n], "set", names, mapping[n]) for n in sorted(written)]
        seen = [*own, *(mapping[n] for n in (*self.seeds, *self.results, *written))]
        body = (*start, *_closed(renamed(program.body, mapping), containers, seen))
        return replace(program, containers=containers, body=body), mapping

    def whole(
        self,
        working: Program,
        containers: Mapping[str, Container],
        mapping: Mapping[str, str],
        wide: frozenset[str],
        directions: _Directions,
        names: Names,
    ) -> Program:
        """Return the program with its seeds before it, and its results behind it.

        :param containers: of the program.
        :param wide: those with an axis of directions; :param:`working` has them without it.
        """
        made = dict(containers)
        seeds = [working.containers[mapping[n]] for n in self.seeds]
        if self.count is None:
            start = [_unit(seeds[0], directions, names)]
        else:
            given = [direction_name(n) for n in self.seeds]
            start = [x for s, n in zip(seeds, given, strict=True) for x in _given(s, n, directions, made, names)]
        outputs = result_names(self.results)
        out = [
            _collected(working.containers[mapping[n]], o, directions, made, names, n in self.numbers, wide)
            for n, o in zip(self.results, outputs, strict=True)
        ]
        arguments = [*self.own, *(direction_name(n) for n in self.seeds if self.count is not None)]
        source = Source(label=f"directions of {', '.join(self.seeds)}")
        body = as_loops(directions.around, (*start, *working.body, *out), source)
        return replace(self.program, containers=made, body=body, arguments=(*arguments, *outputs))


def _blocks(shape: tuple[Expr, ...], most: int, last: bool, names: Names) -> tuple[_Directions, int]:
    """Return directions of which at most so many are done at once, and how many that is.

    The last axes lie on the axis of directions as a whole, and a block of the one before them.

    :raises OneByOne: that is only one.
    """
    sizes = [int(n) for n in shape]
    first, inner = len(sizes), 1
    while first and inner * sizes[first - 1] <= most:
        first -= 1
        inner *= sizes[first]
    block = _divisor(sizes[first - 1], most // inner) if first else 1
    if inner * block < 2:
        raise OneByOne
    around, index = over_shape(shape[: first - (block > 1)], names)
    inside, rest = over_shape(shape[first:], names)
    place: Expr = sympy.Integer(0)
    for k, n in zip(rest, sizes[first:], strict=True):
        place = place * n + k
    if block > 1:
        n = sizes[first - 1]
        (trip,), (c,) = over_shape((sympy.Integer(-(-n // block)),), names)
        (within,), (q,) = over_shape((sympy.Integer(block),), names)
        if n % block:
            within = replace(within, stop=sympy.Min(within.stop, n - 1 - c * block))
        around, inside, place = (*around, trip), (within, *inside), q * inner + place
        index = (*index, c * block + q)
    return _Directions(around, (*index, *rest), shape, last, inside, place), inner * block


def _divisor(n: int, most: int) -> int:
    """Return how many of ``n`` are done at once: the most that divide it, if these are not too few."""
    most = max(1, min(n - 1, most))
    return next((k for k in range(most, most // 2, -1) if n % k == 0), most)


def _working_containers(program: Program, own: Sequence[str], mapping: Mapping[str, str]) -> dict[str, Container]:
    """Return the arguments that stay and local containers for everything else, under their new names."""
    containers = {n: program.containers[n] for n in own}
    for name, container in program.containers.items():
        if mapping[name] not in own:
            base = mapping[container.view_of] if container.view_of else None
            new = container.local(mapping[name])
            containers[mapping[name]] = replace(new, view_of=base, view_subset=container.view_subset)
    return containers


def _given(
    seed: Container, name: str, directions: _Directions, containers: dict[str, Container], names: Names
) -> list[Leaf]:
    """Make the argument that holds a seed's directions, and return the leaves that copy them to the seed."""
    axes = () if isinstance(seed.desc, dt.Scalar) else seed.shape
    containers[name] = Container(name, dt.Array(seed.dtype, [*map(int, directions.shape), *axes]))
    params, index = over(seed, names)
    v, place = names.fresh("v"), directions.at(index, True)
    copied = (Load(v, name, (*directions.index, *index[: len(axes)])), Store(seed.name, place, v))
    leaf = Leaf((*params, *directions.inside), copied, Source(label=name))
    if not any(free_names(p.stop) for p in directions.inside):
        return [leaf]
    return [fill(containers[seed.name], "0", names, seed.name), leaf]  # the last block has fewer


def _collected(
    source: Container,
    output: str,
    directions: _Directions,
    containers: dict[str, Container],
    names: Names,
    is_number: bool,
    wide: frozenset[str],
) -> Leaf:
    """Make the result that holds a container's value for every direction, and return the leaf that fills it."""
    whole = directions.beside(directions.shape, () if is_number else source.shape) or (sympy.Integer(1),)
    containers[output] = Container(output, dt.Array(source.dtype, list(whole)))
    params, index = over(source, names)
    v = names.fresh("v")
    target = directions.beside(directions.index, () if is_number else index) or SCALAR
    load = Load(v, source.name, directions.at(index, source.name in wide))
    return Leaf((*params, *directions.inside), (load, Store(output, target, v)), Source(label=output))


def _closed(body: Block, containers: Mapping[str, Container], seen: Collection[str]) -> Block:
    """Return the body in a scope that owns arrays of computed sizes; unchanged if all sizes are known on entry.

    DaCe allocates all other arrays before the sizes are known.
    """
    assigned = assigned_symbols(body)
    if not any(c.symbols & assigned for c in containers.values()):
        return body
    used = {n for node in body for n in reads(node) | writes(node)}
    shown = {*seen, *(c.name for c in containers.values() if not c.transient)}
    return (Scope((), body, tuple(c for c in containers.values() if c.name in used - shown)),)


def _unit(seed: Container, directions: _Directions, names: Names) -> Leaf:
    """Return the leaf that sets a seed to unit vectors: one at the subscript of the direction, zero elsewhere.

    In the last block, which may have fewer, the rest is zero.
    """
    params, index = over(seed, names)
    inside = tuple(replace(p, stop=p.stop.args[0]) if isinstance(p.stop, sympy.Min) else p for p in directions.inside)
    pairs = [(i, d) for i, d in zip(index, directions.index, strict=False) if i != 0]
    same = [code.parse(f"{i} == {d}") for i, d in pairs]
    test = ast.BoolOp(op=ast.And(), values=same) if len(same) > 1 else (same or [code.constant(True)])[0]
    v = names.fresh("v")
    body = (
        Let(v, code.choose(test, code.constant(1), code.constant(0))),
        Store(seed.name, directions.at(index, True), v),
    )
    return Leaf((*params, *inside), body, Source(label=seed.name))
