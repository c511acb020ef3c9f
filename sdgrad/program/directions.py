"""A program run once for every direction, in one call: given ones, or the unit vectors of one of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import sympy
from dace import data as dt

from sdgrad.program.arrays import assign, over
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names, result_names, without_results
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
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
    SymbolAssign,
    reads,
    walk,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym


def in_every_direction(program: Program, own: Sequence[str], seed: str, results: Sequence[str], last: bool) -> Program:
    """A function of ``own`` that returns what each of ``results`` is for every unit vector of ``seed``.

    :param own: the arguments that stay; each direction starts from their initial content.
    :param seed: the argument that is set to unit vectors, one after another.
    :param last: whether the axes of ``seed`` come after those of the result, or before them.
    """
    names = all_names(program)
    trips, _ = over(program.containers[seed], names)
    return _repeated(program, own, [seed], results, trips, last, names, None)


def in_given_directions(
    program: Program, own: Sequence[str], seeds: Sequence[str], results: Sequence[str], count: int
) -> Program:
    """A function of ``own``, and of ``directions_<seed>`` for each of ``seeds``, with one more axis in front.

    It returns what each of ``results`` is for every direction, along one more axis in front.
    """
    names = all_names(program)
    trip = Param(names.fresh("direction"), sympy.Integer(0), sympy.Integer(count - 1), sympy.Integer(1))
    return _repeated(program, own, seeds, results, (trip,), False, names, count)


def direction_name(seed: str) -> str:
    """The argument that holds all directions of a seed."""
    return f"directions_{seed}"


def _repeated(
    program: Program,
    own: Sequence[str],
    seeds: Sequence[str],
    results: Sequence[str],
    trips: tuple[Param, ...],
    last: bool,
    names: Names,
    count: int | None,
) -> Program:
    """The program once for each trip; without a ``count``, the only seed is a unit vector."""
    written = {program.root(w) for n in program.body for w in writes(n)} & set(own)
    mapping = without_results(program, names) | {n: names.fresh(f"work_{n}") for n in sorted(written)}
    containers = {n: program.containers[n] for n in own}
    for name, container in program.containers.items():
        if mapping[name] not in own:
            base = mapping[container.view_of] if container.view_of else None
            new = container.local(mapping[name])
            containers[mapping[name]] = replace(new, view_of=base, view_subset=container.view_subset)
    direction = tuple(sym(t.name) for t in trips)
    start: list[Node] = [
        assign(containers[mapping[n]], containers[n], "set", names, mapping[n]) for n in sorted(written)
    ]
    shape: tuple[Expr, ...]
    if count is None:
        seed = containers[mapping[seeds[0]]]
        shape = seed.shape
        direction = _places(seed, trips)
        start.append(_unit(seed, trips, names))
    else:
        shape = (sympy.Integer(count),)
        for name in seeds:
            seed, given = containers[mapping[name]], direction_name(name)
            own_axes = () if isinstance(seed.desc, dt.Scalar) else seed.shape
            containers[given] = Container(given, dt.Array(seed.dtype, [count, *own_axes]))
            params, index = over(seed, names)
            v = names.fresh("v")
            copied = (Load(v, given, (*direction, *index[: len(own_axes)])), Store(seed.name, index, v))
            start.append(Leaf(params, copied, Source(label=given)))
    out: list[Node] = []
    outputs = result_names(results)
    for name, output in zip(results, outputs, strict=True):
        source = containers[mapping[name]]
        whole = (*source.shape, *shape) if last else (*shape, *source.shape)
        containers[output] = Container(output, dt.Array(source.dtype, list(whole)))
        params, index = over(source, names)
        v = names.fresh("v")
        target = (*index, *direction) if last else (*direction, *index)
        out.append(Leaf(params, (Load(v, source.name, index), Store(output, target, v)), Source(label=output)))
    inner = [mapping[n] for n in (*seeds, *results)]
    arguments = [*own, *(direction_name(n) for n in seeds if count is not None)]
    body = _closed(renamed(program.body, mapping), containers, [*arguments, *inner])
    loops = as_loops(trips, (*start, *body, *out), Source(label=f"directions of {', '.join(seeds)}"))
    return replace(program, containers=containers, body=loops, arguments=(*arguments, *outputs))


def _places(seed: Container, trips: tuple[Param, ...]) -> tuple[Expr, ...]:
    """The index of the element that is one; axes of one element have no trip."""
    found = iter(trips)
    return tuple(sympy.Integer(0) if n == 1 else sym(next(found).name) for n in seed.shape)


def _closed(body: Block, containers: Mapping[str, Container], seen: Collection[str]) -> Block:
    """The body, with arrays whose sizes it computes as its own: DaCe allocates others before the sizes are known."""
    assigned = {n.symbol for n in walk(body) if isinstance(n, SymbolAssign)}
    if not any({str(s) for s in c.desc.free_symbols} & assigned for c in containers.values()):
        return body
    used = {n for node in body for n in reads(node) | writes(node)}
    shown = {*seen, *(c.name for c in containers.values() if not c.transient)}
    return (Scope((), body, tuple(c for c in containers.values() if c.name in used - shown)),)


def _unit(seed: Container, trips: tuple[Param, ...], names: Names) -> Leaf:
    """One where the element is that of the trip, and zero elsewhere."""
    params, index = over(seed, names)
    same = [code.parse(f"{p.name} == {t.name}") for p, t in zip(params, trips, strict=True)]
    test = ast.BoolOp(op=ast.And(), values=same) if len(same) > 1 else (same or [code.constant(True)])[0]
    v = names.fresh("v")
    body = (Let(v, code.choose(test, code.constant(1), code.constant(0))), Store(seed.name, index, v))
    return Leaf(params, body, Source(label=seed.name))
