"""Adjoint containers: created on demand, known to be zero until something is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import dace
import sympy

from sdgrad.companions import Companions
from sdgrad.names import Names
from sdgrad.program.tree import Container, Expr, Leaf, Let, Load, Node, Param, Source, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
WIDER = {dace.float16: dace.float32}


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


@dataclass
class Adjoints(Companions):
    """The adjoint of every container of a program.

    ``state`` of a container's memory is absent (known zero: nothing is stored), ``seed`` (given by the caller and not
    to be changed) or ``live``.
    """

    stem = "gradient"
    wider = WIDER
    state: dict[str, str] = field(default_factory=dict)
    straight: frozenset[str] | None = None  # containers that may go back to known zero here; None: all

    def may_forget(self, name: str) -> bool:
        """Whether the code being reversed runs exactly once for this container: no loop, branch or map around it."""
        return self.straight is None or self.program.root(name) in self.straight

    def is_zero(self, name: str) -> bool:
        """Whether the adjoint is known to be zero everywhere."""
        return self.program.root(name) not in self.state

    def read(self, name: str) -> Container:
        return self.container(name)

    def writable(self, name: str, zero: bool = True) -> list[Node]:
        """Make the adjoint of ``name`` a container that may be added to; returns the nodes that prepare it.

        With ``zero`` false, a known-zero adjoint is not cleared: the caller defines every element.
        """
        root = self.program.root(name)
        state = self.state.get(root)
        if state == "live":
            return []
        if state == "seed":
            seed = self.container(root)
            self._forget_views(root)
            copied = seed.local(self.names.fresh(f"{seed.name}_work"))
            self.register(root, copied)
            self.state[root] = "live"
            return [assign(copied, seed, "set", self.names, f"copy_{seed.name}")]
        target = self.container(root)
        self.state[root] = "live"
        return [fill(target, "0", self.names, f"zero_{target.name}")] if zero else []

    def _forget_views(self, root: str) -> None:
        for name in [n for n in self.of if n != root and self.program.root(n) == root]:
            del self.of[name]

    def forget(self, name: str) -> None:
        """The adjoint is known to be zero again: its container was overwritten as a whole."""
        self.state.pop(self.program.root(name), None)
