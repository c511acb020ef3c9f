"""Build leaves over all elements of an array or of a window: fill, copy, clear."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import sympy
from dace import data as dt

from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Expr, Leaf, Let, Load, Param, Source, Store
from sdgrad.program.window import Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def over(container: Container, names: Names) -> tuple[tuple[Param, ...], tuple[sympy.Expr, ...]]:
    """Return parameters that run over every element of a container, and the element's subscript."""
    return over_shape(container.shape, names)


def over_shape(shape: Sequence[Expr], names: Names) -> tuple[tuple[Param, ...], tuple[sympy.Expr, ...]]:
    """Return parameters that run over every element of a shape, and its subscript; axes of one element have none."""
    params, index = [], []
    for k, n in enumerate(shape):
        if n == 1:
            index.append(ZERO)
            continue
        p = Param(names.fresh(f"i{k}"), ZERO, n - 1, ONE)
        params.append(p)
        index.append(sym(p.name))
    return tuple(params), tuple(index)


def fill(container: Container, value: str, names: Names, label: str) -> Leaf:
    """Return the leaf ``container[:] = value``."""
    params, index = over(container, names)
    v = names.fresh("v")
    return Leaf(params, (Let(v, code.parse(value)), Store(container.name, index, v)), Source(label=label))


def assign(target: Container, source: Container, mode: str, names: Names, label: str) -> Leaf:
    """Return the leaf ``target[:] <mode> source[:]``."""
    params, index = over(target, names)
    v = names.fresh("v")
    return Leaf(params, (Load(v, source.name, index), Store(target.name, index, v, mode)), Source(label=label))


def moved(target: Window, source: Window, shape: Sequence, mode: str, names: Names) -> Leaf:
    """Return the leaf ``target[...] <mode> source[...]`` for windows of one shape."""
    params, index = over_shape(shape, names)
    v = names.fresh("v")
    body = (
        Load(v, source.container, source.index(index)),
        Store(target.container, target.index(index), v, mode),
    )
    return Leaf(params, body, Source(label=target.container))


def cleared(target: Window, shape: Sequence, names: Names) -> Leaf:
    """Return the leaf ``target[...] = 0``."""
    params, index = over_shape(shape, names)
    v = names.fresh("v")
    return Leaf(params, (Let(v, code.constant(0)), Store(target.container, target.index(index), v)))


def boundary(name: str, primal: Container) -> Container:
    """Return an argument of the same shape as a container; scalars become arrays of one element."""
    desc = copy.deepcopy(primal.desc)
    if isinstance(desc, dt.Scalar):
        desc = dt.Array(desc.dtype, (1,), storage=desc.storage)
    desc.transient = False
    return Container(name, desc)
