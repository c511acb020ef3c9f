"""Resolve the data names of a (nested) SDFG to windows: containers seen through offsets, strides and views.

DaCe passes whole containers to nested SDFGs, so that only its views need offsets and strides of their own.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import dace
import sympy
from dace import data as dt
from dace import subsets

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.symbol_liveness import Live
from sdgrad.program.names import Names
from sdgrad.program.tree import Container
from sdgrad.program.window import Axis, FromEnd, Window, whole_window
from sdgrad.symbolic.expr import Expr, substitute, substitute_range, sym, to_expr


@dataclass
class Env:
    """The environment of one SDFG while it is read: its containers, data windows and symbol values."""

    names: Names
    containers: dict[str, Container]
    symbols: dict[str, dace.typeclass]
    free: frozenset[str] = frozenset()  # symbols that are arguments
    read_once: bool = False  # loops evaluate their bounds on entry
    windows: dict[str, Window] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    float_symbols: dict[str, str] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)  # symbols carried by loops, with their containers
    live: Live = field(default_factory=Live)
    counted: Counter[str] | None = None
    requests: dict[Any, Any] = field(default_factory=dict)  # of communications that began, by element

    def uses(self, sdfg: dace.SDFG) -> Counter[str]:
        """Return the number of access nodes of each container of the SDFG."""
        if self.counted is None:
            self.counted = Counter(n.data for state in sdfg.states() for n in state.data_nodes())
        return self.counted

    def inner(self) -> Env:
        """Return the environment of a nested SDFG: names of its own, in the same program."""
        return Env(self.names, self.containers, self.symbols, read_once=self.read_once, requests=self.requests)

    def expr(self, value: object) -> Expr:
        """Return an expression with the current values of its symbols."""
        return substitute(to_expr(value), self.values)

    def range(self, subset: subsets.Subset) -> subsets.Range:
        """Return a subset with the current values of its symbols."""
        return substitute_range(subset, self.values)

    def declare(self, name: str, desc: dt.Data, free_name: bool = True) -> Container:
        """Declare a container for a data descriptor, under a fresh name."""
        chosen = self.names.fresh(name) if free_name else name
        new = resolve_symbols(desc, self)
        self.containers[chosen] = Container(chosen, new)
        self.windows[name] = whole_window(chosen, new)
        return self.containers[chosen]


def resolve_symbols(desc: dt.Data, env: Env) -> dt.Data:
    """Return a descriptor with the current values of its symbols."""
    new = copy.deepcopy(desc)
    if isinstance(new, dt.Array):
        new.set_shape(
            tuple(env.expr(s) for s in desc.shape), tuple(env.expr(s) for s in desc.strides), env.expr(desc.total_size)
        )
    return new


def bind(name: str, desc: dt.Data, container: Container, subset: subsets.Range, env: Env) -> Window:
    """Return the window through which ``name`` sees ``container[subset]``.

    Offsets and steps are used if they suffice, else a view is declared.
    """
    inner = resolve_symbols(desc, env)
    window = _as_window(inner, container, subset)
    if window is None:
        return as_view(name, inner, container, subset, env)
    shape = tuple(sympy.sympify(n) for n in inner.shape)
    if env.read_once and not (window.whole and shape == container.shape):
        along = {axis.axis for axis in window.axes if axis is not None}
        sizes = enumerate(zip(window.base, container.shape, strict=True))
        base = tuple(b if d in along else FromEnd(b, n) for d, (b, n) in sizes)
        window = replace(window, shape=shape, base=base)
    return window


def _as_window(inner: dt.Data, container: Container, subset: subsets.Range) -> Window | None:
    """Match the dimensions of a descriptor with those of a subset, in order and by stride. None if they do not match.

    Dimensions of size one match nothing.
    """
    if inner.dtype != container.dtype:
        return None
    outer_strides = container.desc.strides
    wide_outer = [d for d, n in enumerate(subset.size()) if n != 1]  # 1:3:2 is one element
    wide_inner = [j for j, s in enumerate(inner.shape) if s != 1]
    base = tuple(b for b, _, _ in subset.ranges)
    axes: list[Axis | None] = [None] * len(inner.shape)
    if len(wide_inner) > len(wide_outer):
        # the subset may name one element of a larger window: DaCe passes the pointer
        wide_outer = _axes_by_stride([inner.strides[j] for j in wide_inner], outer_strides)
    if len(wide_outer) != len(wide_inner):
        return None
    for j, d in zip(wide_inner, wide_outer, strict=False):
        step = subset.ranges[d][2]
        if sympy.simplify(inner.strides[j] - outer_strides[d] * step) != 0:
            return None
        axes[j] = Axis(d, step)
    return Window(container.name, base, tuple(axes))


def _axes_by_stride(strides: list[Expr], outer: tuple[Expr, ...]) -> list[int]:
    """Return the dimension of an array with each stride. Empty if one has none."""
    found = []
    for s in strides:
        hits = [d for d, o in enumerate(outer) if o == s and d not in found]
        if not hits:
            return []
        found.append(hits[0])
    return found


def as_view(name: str, inner: dt.Data, container: Container, subset: subsets.Range, env: Env) -> Window:
    """Declare a view: the same memory under another shape.

    :raises UnsupportedNode: the element types differ.
    """
    if inner.dtype != container.dtype:
        raise UnsupportedNode(
            f"{name} reinterprets {container.name} ({container.dtype.to_string()}) as {inner.dtype.to_string()}"
        )
    shape = inner.shape if isinstance(inner, dt.Array) else (1,)
    strides = inner.strides if isinstance(inner, dt.Array) else (1,)
    view = dt.ArrayView(
        inner.dtype, shape, strides=strides, storage=container.desc.storage, transient=True, debuginfo=inner.debuginfo
    )
    chosen = env.names.fresh(name)
    env.containers[chosen] = Container(chosen, view, container.name, subset)
    return whole_window(chosen, view)


def param_symbols(names: list[str], env: Env) -> tuple[dict[str, Expr], list[str]]:
    """Return fresh program-wide names for map parameters or loop variables, and the substitution to them."""
    fresh = [env.names.fresh(n) for n in names]
    return {old: sym(new) for old, new in zip(names, fresh, strict=False)}, fresh
