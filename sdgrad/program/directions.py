"""Run a program once for every direction, in one call: given directions, or the unit vectors of an argument."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy
from dace import data as dt

from sdgrad.program.arrays import assign, over
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
    Node,
    Param,
    Program,
    Scope,
    Source,
    Store,
    reads,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym


def in_every_direction(
    program: Program, own: Sequence[str], seed: str, results: Sequence[str], last: bool, numbers: Collection[str] = ()
) -> Program:
    """Return a function of ``own``: the values of ``results`` for every unit vector of ``seed``.

    :param own: the arguments that stay; each direction starts from their initial content.
    :param seed: the argument that is set to unit vectors, one after another.
    :param last: whether the axes of ``seed`` come after those of the result, or before them.
    :param numbers: seeds and results without axes, though containers have one.
    """
    names = all_names(program)
    trips, _ = over(program.containers[seed], names)
    return _repeated(program, own, [seed], results, trips, last, names, None, numbers)


def in_given_directions(
    program: Program,
    own: Sequence[str],
    seeds: Sequence[str],
    results: Sequence[str],
    count: int,
    numbers: Collection[str] = (),
) -> Program:
    """Return a function of ``own`` and ``directions_<seed>``: the values of ``results`` for each direction.

    The directions of every seed, and those of every result, are along one more axis in front.

    :param numbers: results without axes of their own, though containers have one.
    """
    names = all_names(program)
    trip = Param(names.fresh("direction"), sympy.Integer(0), sympy.Integer(count - 1), sympy.Integer(1))
    return _repeated(program, own, seeds, results, (trip,), False, names, count, numbers)


def direction_name(seed: str) -> str:
    """Return the name of the argument that holds all directions of a seed."""
    return f"directions_{seed}"


@dataclass(frozen=True)
class _Directions:
    """The iterations over directions: loop parameters, the subscript of a direction, and the shape of all of them."""

    trips: tuple[Param, ...]
    index: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    last: bool  # their axes come after those of a result, and not before

    def beside(self, axes: tuple[Expr, ...], own: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return a shape or subscript of a result with that of the directions."""
        return (*own, *axes) if self.last else (*axes, *own)


def _repeated(
    program: Program,
    own: Sequence[str],
    seeds: Sequence[str],
    results: Sequence[str],
    trips: tuple[Param, ...],
    last: bool,
    names: Names,
    count: int | None,
    numbers: Collection[str],
) -> Program:
    """Return the program in a loop over directions; without a ``count``, the only seed is a unit vector."""
    written = {program.root(w) for n in program.body for w in writes(n)} & {n for n in own if not is_status(n)}
    mapping = without_results(program, names) | {n: names.fresh(f"work_{n}") for n in sorted(written)}
    containers = _working_containers(program, own, mapping)
    start: list[Node] = [
        assign(containers[mapping[n]], containers[n], "set", names, mapping[n]) for n in sorted(written)
    ]
    if count is None:
        seed = containers[mapping[seeds[0]]]
        alone = seeds[0] in numbers
        directions = _Directions(trips, () if alone else _places(seed, trips), () if alone else seed.shape, last)
        start.append(_unit(seed, trips, names))
    else:
        directions = _Directions(trips, tuple(sym(t.name) for t in trips), (sympy.Integer(count),), last)
        for name in seeds:
            start.append(_given(containers[mapping[name]], direction_name(name), directions, containers, names))
    outputs = result_names(results)
    out = [
        _collected(containers[mapping[name]], output, directions, containers, names, name in numbers)
        for name, output in zip(results, outputs, strict=True)
    ]
    inner = [mapping[n] for n in (*seeds, *results, *written)]
    arguments = [*own, *(direction_name(n) for n in seeds if count is not None)]
    body = _closed(renamed(program.body, mapping), containers, [*arguments, *inner])
    loops = as_loops(trips, (*start, *body, *out), Source(label=f"directions of {', '.join(seeds)}"))
    return replace(program, containers=containers, body=loops, arguments=(*arguments, *outputs))


def _working_containers(program: Program, own: Sequence[str], mapping: Mapping[str, str]) -> dict[str, Container]:
    """Return the arguments that stay and local containers for everything else, under their new names."""
    containers = {n: program.containers[n] for n in own}
    for name, container in program.containers.items():
        if mapping[name] not in own:
            base = mapping[container.view_of] if container.view_of else None
            new = container.local(mapping[name])
            containers[mapping[name]] = replace(new, view_of=base, view_subset=container.view_subset)
    return containers


def _given(seed: Container, name: str, directions: _Directions, containers: dict[str, Container], names: Names) -> Leaf:
    """Make the argument that holds a seed's directions, and return the leaf that copies one of them to the seed."""
    axes = () if isinstance(seed.desc, dt.Scalar) else seed.shape
    containers[name] = Container(name, dt.Array(seed.dtype, [*map(int, directions.shape), *axes]))
    params, index = over(seed, names)
    v = names.fresh("v")
    copied = (Load(v, name, (*directions.index, *index[: len(axes)])), Store(seed.name, index, v))
    return Leaf(params, copied, Source(label=name))


def _collected(
    source: Container,
    output: str,
    directions: _Directions,
    containers: dict[str, Container],
    names: Names,
    is_number: bool,
) -> Leaf:
    """Make the result that holds a container's value for every direction, and return the leaf that copies one there."""
    whole = directions.beside(directions.shape, () if is_number else source.shape) or (sympy.Integer(1),)
    containers[output] = Container(output, dt.Array(source.dtype, list(whole)))
    params, index = over(source, names)
    v = names.fresh("v")
    target = directions.beside(directions.index, () if is_number else index) or SCALAR
    return Leaf(params, (Load(v, source.name, index), Store(output, target, v)), Source(label=output))


def _places(seed: Container, trips: tuple[Param, ...]) -> tuple[Expr, ...]:
    """Return the subscript of the element that is one; axes of one element have no iterations."""
    found = iter(trips)
    return tuple(sympy.Integer(0) if n == 1 else sym(next(found).name) for n in seed.shape)


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


def _unit(seed: Container, trips: tuple[Param, ...], names: Names) -> Leaf:
    """Return the leaf that sets a seed to a unit vector: one at the subscript of the iteration, zero elsewhere."""
    params, index = over(seed, names)
    same = [code.parse(f"{p.name} == {t.name}") for p, t in zip(params, trips, strict=True)]
    test = ast.BoolOp(op=ast.And(), values=same) if len(same) > 1 else (same or [code.constant(True)])[0]
    v = names.fresh("v")
    body = (Let(v, code.choose(test, code.constant(1), code.constant(0))), Store(seed.name, index, v))
    return Leaf(params, body, Source(label=seed.name))
