"""Evaluate the integers of a program: sizes, symbols, subscripts and the contents of integer containers.

What depends on floating-point data has no value here: its evaluation raises :class:`Unknown`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dace import data as dt

from sdgrad.program.kinds import kind_of
from sdgrad.program.tree import Expr, Program, Store, Value
from sdgrad.symbolic import code
from sdgrad.symbolic.evaluate import evaluated
from sdgrad.symbolic.expr import to_ast


class Unknown(Exception):
    """Say that a value depends on floating-point data."""


@dataclass
class Integers:
    """Hold the integers of a program that are known at one point of its run."""

    program: Program
    symbols: dict[str, int]  # those with a known value
    values: dict[str, np.ndarray] = field(default_factory=dict)  # of integer containers, where they are known

    def number(self, expr: Expr) -> int:
        """Return the value of an index expression."""
        return int(self.evaluate(to_ast(expr), {}))

    def size(self, container: str) -> int:
        """Return the number of elements in a container's memory."""
        desc = self.program.containers[container].desc
        return self.number(desc.total_size) if isinstance(desc, dt.Array) else 1

    def address(self, container: str, index: tuple, count: int) -> np.ndarray:
        """Return the positions of elements in the memory of the root container."""
        c = self.program.containers[container]
        strides = c.desc.strides if isinstance(c.desc, dt.Array) else (1,)
        found = np.zeros(count, np.int64)
        for i, s in zip(index, strides, strict=False):
            found += np.asarray(i, np.int64) * self.number(s)
        if c.view_of is not None and c.view_subset is not None:
            start = tuple(self.number(b) for b, _, _ in c.view_subset.ranges)
            found += self.address(c.view_of, start, 1)[0]
        return found

    def evaluate(self, expr: ast.expr, env: Mapping[str, object]) -> Any:
        """Return the value of an expression over symbols and given values."""
        known = {**self.symbols, **env}
        if code.names_in(expr) - known.keys():
            raise Unknown
        try:
            return evaluated(expr, known)
        except (NameError, TypeError, ZeroDivisionError, ValueError) as error:
            raise Unknown from error

    def value(self, value: Value) -> Any:
        """Return the value of a condition or bound."""
        env: dict[str, object] = {}
        for load in value.loads:
            index = tuple(self.evaluate(to_ast(i), env) for i in load.index)
            env[load.name] = self.content(load.container, self.address(load.container, index, 1))[0]
        return self.evaluate(value.expr, env)

    def content(self, container: str, address: np.ndarray) -> np.ndarray:
        """Return elements of an integer container."""
        root = self.program.root(container)
        if root not in self.values or address.size and address.max() >= self.values[root].size:
            raise Unknown
        return self.values[root][address]

    def remember(
        self, store: Store, root: str, address: np.ndarray, env: Mapping[str, object], chosen: np.ndarray | None
    ) -> None:
        """Record the integers that a store leaves, if they are known."""
        if kind_of(self.program.containers[store.container].dtype) not in ("int", "bool"):
            return
        if store.mode != "set" or store.value not in env:
            self.values.pop(root, None)
            return
        values = np.broadcast_to(np.asarray(env[store.value]), address.size if chosen is None else chosen.size)
        if root not in self.values:
            if self.size(root) != np.unique(address).size:
                return
            self.values[root] = np.zeros(self.size(root), np.int64)
        self.values[root] = self.values[root].copy()
        self.values[root][address] = values if chosen is None else values[chosen]
