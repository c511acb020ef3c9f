"""The continuous adjoint of an integration: an initial value problem of its own, that runs backwards.

It is solved as exactly as the problem was, so that derivatives are as exact, but are not those of the steps that were
taken. It keeps nothing but the states that are asked for, and computes those between them again, backwards: where
trajectories move apart in that direction, it is wrong. That shows where they do not come back to where they began:
derivatives are NaN then.

Source: Chen et al., Neural Ordinary Differential Equations (2018), appendices B and C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sdgrad.api.vjp import vjp
from sdgrad.program.custom_rule import COTANGENT
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.table import array
from sdgrad.record.named_rule import NamedRule
from sdgrad.solvers.algorithms.adaptive import walk_intervals
from sdgrad.solvers.implicit import recorded, shaped, zeros
from sdgrad.solvers.initial_value.problem import AT, BEGIN, END, RESULT, START, Problem, moves

APART = 1e-3  # what results may change by, relative to states, if they begin where the way back has ended


@dataclass(frozen=True, eq=False)
class ContinuousRule(NamedRule):
    """Cotangents of what is asked for, to cotangents of what the integration takes.

    :param integrate: records the integration of a problem.
    :param names: what the integration takes; of ``moving`` there are derivatives.
    """

    problem: Problem
    integrate: Callable[[Problem, Mapping[str, Any]], Mapping[str, Any]]
    names: tuple[str, ...]
    moving: tuple[str, ...]

    label = "solve_ivp"

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.names, RESULT, COTANGENT + RESULT)

    def __call__(self, *values: Any) -> tuple:
        """Record the way back."""
        return Adjoint(self, self.named(values)).record()


class Adjoint:
    """Record the adjoint equation along a solution: of the state, its cotangent, and those of the operands."""

    def __init__(self, rule: ContinuousRule, given: Mapping[str, Any]) -> None:
        self.rule, self.given = rule, given
        self.n = rule.problem.size
        self.operands = {n: given[n] for n in rule.names if n not in (START, BEGIN, END, AT)}
        self.sizes = {n: int(np.prod(np.shape(v))) for n, v in self.operands.items() if moves(v)}
        size = 2 * self.n + sum(self.sizes.values())
        self.problem = replace(rule.problem, slope_of=works_inside(partial(self.slope)), shape=(size,))

    def record(self) -> tuple:
        """Return the cotangents of what the integration takes, in order."""
        g, n = self.given, self.n
        seed, result = (np.reshape(array(g[k]), (-1, n)) for k in (COTANGENT + RESULT, RESULT))
        self.seed, self.result = seed, result
        self.times = g[AT] if AT in g else np.reshape(array(g[END] * 1.0), 1)
        self.of_times = zeros(self.times.shape, float)
        found = recorded(walk_intervals, self.pull, zeros(self.problem.size - n, float), self.times.shape[0])
        start = np.reshape(array(g[START]), -1)
        of_begin = -np.sum(found[:n] * self.slope_at(g[BEGIN], start))
        of_end = self.of_times[0] if AT not in g else g[END] * 0.0
        at, parts = n, {}
        for name, size in self.sizes.items():
            parts[name] = np.reshape(found[at : at + size], np.shape(g[name])) if np.shape(g[name]) else found[at]
            at += size
        parts |= {START: shaped(found[:n], self.rule.problem.shape), BEGIN: of_begin, END: of_end, AT: self.of_times}
        return tuple(parts[n] for n in self.rule.names if n in self.rule.moving)

    def pull(self, q: Any, cotangents: Any) -> Any:
        """Take the cotangents of the state and the operands from one time to that before."""
        n, y = self.n, self.result[q]
        self.of_times[q] = np.sum(self.seed[q] * self.slope_at(self.times[q], y))
        whole = np.concatenate([y, cotangents[:n] + self.seed[q], cotangents[n:]])
        before = np.where(q == 0, self.given[BEGIN], self.times[np.maximum(q - 1, 0)])
        given = {START: whole, BEGIN: self.times[q], END: before, **self.operands}
        found = np.reshape(array(self.rule.integrate(self.problem, given)[RESULT]), -1)
        start = np.reshape(array(self.given[START]), -1)
        known = np.where(q == 0, start, self.result[np.maximum(q - 1, 0)])
        size = np.max(np.abs(whole[n : 2 * n])) * np.maximum(np.max(np.abs(known)), np.max(np.abs(y)))
        # what is asked for would change by as much, began it where the way back has ended
        change = np.sum(np.abs(found[n : 2 * n] * (found[:n] - known)))
        return np.where(change <= APART * size, found[n:], np.nan)

    def slope(self, t: Any, whole: Any, *operands: Any) -> Any:
        """Return the slope of the state, its cotangent, and those of the operands."""
        n = self.n
        slope = lambda y, *p: self.rule.problem.slope(p)(t, y)  # noqa: E731
        found, pull = vjp(works_inside(slope), whole[:n], *operands)
        of_y, *others = pull(whole[n : 2 * n])
        parts = [np.reshape(array(c), -1) for c in others if c is not None]
        return np.concatenate([found, -of_y, *(-c for c in parts)])

    def slope_at(self, t: Any, y: Any) -> Any:
        """Return the slope of the state."""
        return self.rule.problem.slope(tuple(self.operands.values()))(t, y)
