"""Leaves over all of an array, or of a window of one: filled, copied, cleared."""

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
    """Parameters that run over every element of a container, and the element's index."""
    return over_shape(container.shape, names)


def over_shape(shape: Sequence[Expr], names: Names) -> tuple[tuple[Param, ...], tuple[sympy.Expr, ...]]:
    """The same for a shape. Axes of one element have no parameter."""
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
    """``container[:] = value``."""
    params, index = over(container, names)
    v = names.fresh("v")
    return Leaf(params, (Let(v, code.parse(value)), Store(container.name, index, v)), Source(label=label))


def assign(target: Container, source: Container, mode: str, names: Names, label: str) -> Leaf:
    """``target[:] <mode> source[:]``."""
    params, index = over(target, names)
    v = names.fresh("v")
    return Leaf(params, (Load(v, source.name, index), Store(target.name, index, v, mode)), Source(label=label))


def moved(target: Window, source: Window, shape: Sequence, mode: str, names: Names) -> Leaf:
    """``target[...] <mode> source[...]`` for windows of one shape."""
    params, index = over_shape(shape, names)
    v = names.fresh("v")
    body = (
        Load(v, source.container, source.index(index)),
        Store(target.container, target.index(index), v, mode),
    )
    return Leaf(params, body, Source(label=target.container))


def cleared(target: Window, shape: Sequence, names: Names) -> Leaf:
    params, index = over_shape(shape, names)
    v = names.fresh("v")
    return Leaf(params, (Let(v, code.constant(0)), Store(target.container, target.index(index), v)))


def boundary(name: str, primal: Container) -> Container:
    """An argument of the same shape as a container; scalars become arrays of one element."""
    desc = copy.deepcopy(primal.desc)
    if isinstance(desc, dt.Scalar):
        desc = dt.Array(desc.dtype, (1,), storage=desc.storage)
    desc.transient = False
    return Container(name, desc)
