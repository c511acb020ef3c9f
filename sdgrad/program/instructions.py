"""Straight-line scalar code over parameters: loads of elements, elementary computations, and stores.

The instructions of a :class:`~sdgrad.program.tree.Leaf`, printed as they read::

    v = x[i, 0]
    w = sin(v)
    y[i] += w
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import sympy

from sdgrad.symbolic.code import names_in
from sdgrad.symbolic.expr import free_names

Expr: TypeAlias = "sympy.Expr"
Index: TypeAlias = "tuple[sympy.Expr, ...]"


@dataclass(frozen=True)
class Param:
    """A parallel parameter ``start, start+step, ... <= stop`` (``stop`` included; ``step`` may be negative)."""

    name: str
    start: Expr
    stop: Expr
    step: Expr

    def __str__(self) -> str:
        step = "" if self.step == 1 else f":{self.step}"
        return f"{self.name}={self.start}:{self.stop + 1}{step}"

    @cached_property
    def count(self) -> Expr:
        """Return the number of values the parameter takes."""
        return sympy.floor((self.stop - self.start) / self.step) + 1 if self.step != 1 else self.stop - self.start + 1


class _Subscripted:
    """An access to an element: what its subscript mentions is found once, for all passes that ask."""

    index: Index

    @cached_property
    def index_names(self) -> frozenset[str]:
        """Return the names and symbols that the subscript mentions."""
        return frozenset(free_names(*self.index))


@dataclass(frozen=True)
class Load(_Subscripted):
    """``name = container[index]``; the subscript may mention parameters, symbols and earlier integer names.

    With a ``guard`` (the name of a condition) the element is read only if the guard holds; else the value is 0.
    """

    name: str
    container: str
    index: Index
    guard: str | None = None

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names and symbols that the subscript and the guard mention."""
        return self.index_names | ({self.guard} if self.guard else set())

    def __str__(self) -> str:
        guard = f" if {self.guard}" if self.guard else ""
        return f"{self.name} = {self.container}[{', '.join(map(str, self.index))}]{guard}"


@dataclass(frozen=True)
class Let:
    """``name = expr``: one elementary function, one polynomial, one choice, or a value without derivative."""

    name: str
    expr: ast.expr

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names that the expression mentions."""
        return frozenset(names_in(self.expr))

    @cached_property
    def parts(self) -> tuple[ast.AST, ...]:
        """Return the expression and all parts of it, once for all passes that look for one."""
        return tuple(ast.walk(self.expr))

    @cached_property
    def text(self) -> str:
        """Return the expression as Python writes it."""
        return ast.unparse(self.expr)

    def __str__(self) -> str:
        return f"{self.name} = {self.text}"


@dataclass(frozen=True)
class Store(_Subscripted):
    """``container[index] <mode> value``, if ``guard`` holds.

    ``mode`` is ``set`` or a reduction (``sum``, ``prod``, ``max``, ``min``, ``and``, ``or``, ...). A ``fresh``
    reduction starts from its identity: the leaf *defines* the elements it writes. ``streamed`` elements go around the
    cache.
    """

    container: str
    index: Index
    value: str
    mode: str = "set"
    guard: str | None = None
    fresh: bool = False
    streamed: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names and symbols that the subscript, the guard and the value mention."""
        return self.index_names | {self.value} | ({self.guard} if self.guard else set())

    def __str__(self) -> str:
        op = {"set": "=", "sum": "+=", "prod": "*="}.get(self.mode, f"{self.mode}=")
        guard = f" if {self.guard}" if self.guard else ""
        fresh = " (fresh)" if self.fresh else " (streamed)" if self.streamed else ""
        return f"{self.container}[{', '.join(map(str, self.index))}] {op} {self.value}{guard}{fresh}"


Instr = Load | Let | Store
