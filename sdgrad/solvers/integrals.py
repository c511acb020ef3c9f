"""Record integrals, each as one node: its derivatives are integrals as well, and as exact.

The points are fixed parts of the range, so that a derivative by an end moves all of them: it needs no value of the
integrand at the end, which may be infinite there. Parts that are small enough for an integrand need not be so for its
derivative, as at kinks: therefore each integral divides the range anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.api.jvp import jvp
from sdgrad.api.vjp import vjp
from sdgrad.errors import ConvergenceError
from sdgrad.program.custom_rule import COTANGENT, TANGENT, CustomRule
from sdgrad.program.tree import Node
from sdgrad.record.calls import works_inside
from sdgrad.record.custom import Variables
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.named_rule import NamedRule
from sdgrad.record.outside import shown_line
from sdgrad.record.values import RULES
from sdgrad.solvers.algorithms.quadrature import search
from sdgrad.solvers.implicit import recorded
from sdgrad.solvers.initial_value.problem import moves

RESULT, ERROR, POINTS = "integral", "error", "points"
ELEMENTS = 1 << 22  # of integrals of parts
FEWEST = 16  # parts of integrals of many elements
TINY = 1e-300
Density = Callable[..., Any]
"""A function of a variable between 0 and 1, how far that is from 1, and what an integral takes: a vector."""


@dataclass(frozen=True)
class Exactness:
    """How exact an integral is.

    :param norm: of the errors: "2", "max", or "each" for every element by itself.
    :param most: the most parts of the range.
    """

    epsabs: float
    epsrel: float
    norm: str
    most: int

    def allowed(self, total: Any, scale: Any) -> Any:
        """Return the errors that are allowed of each element."""
        sizes = np.abs(total)
        if self.norm == "2":
            sizes = np.sqrt(np.sum(sizes**2)) + 0.0 * sizes
        elif self.norm == "max":
            sizes = np.max(sizes) + 0.0 * sizes
        return np.maximum(np.maximum(self.epsabs * scale, self.epsrel * sizes), TINY)

    def excess(self, quotients: Any) -> Any:
        """Return one number for quotients of errors and what is allowed."""
        return np.sqrt(np.sum(quotients**2)) if self.norm == "2" else np.max(quotients)


@dataclass(frozen=True, eq=False)
class Integral:
    """The integral of a density.

    :param scale: how large the density is, apart from the integrand: a function of what the integral takes.
    """

    density: Density
    size: int
    dtype: Any
    exactness: Exactness
    scale: Callable[[Sequence[Any]], Any]

    def record(self, points: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
        """Record the node, and return the integral, and its error: infinite where that is too large.

        :param points: nodes between -1 and 1, in rows: and the weights of a fine and a coarse sum.
        """
        recorder: Any = active()
        variables = Variables(recorder)
        taken = {n: variables.add(n, value) for n, value in ((POINTS, points), *given.items())}
        made = {RESULT: recorder.declare(RESULT, (self.size,), np.dtype(self.dtype))}
        made[ERROR] = recorder.declare(ERROR, (), np.dtype(float))
        block: list[Node] = []
        with recorder.inside(block):
            total, error = self._find(taken[POINTS], [taken[n] for n in given])
            recorder.array(made[RESULT])[...] = total
            recorder.write(made[ERROR], (), error * 1.0)
        for n, tensor in made.items():
            variables.operands[n] = variables.operand(tensor, not tensor.shape)
        names = (POINTS, *(n for n in given if n in variables.operands or n in variables.symbols))
        moving = tuple(n for n in names[1:] if moves(given[n]))
        common = (self, names, moving)
        rule = CustomRule(
            "integral", names, vjp=CotangentsRule(*common), jvp=TangentsRule(*common), results=(RESULT, ERROR)
        )
        recorder.append(variables.call(rule, block))
        return recorder.array(made[RESULT]), recorder.read(made[ERROR], ())

    def _find(self, points: Any, given: Sequence[Any]) -> tuple[Any, Any]:
        """Record the search for parts of the range."""
        most = max(min(self.exactness.most, ELEMENTS // max(self.size, 1)), FEWEST)
        shapes = [((most,), int)] * 2 + [((most, self.size), t) for t in (self.dtype, float, float)]
        tables = tuple(_room(*s) for s in (*shapes, ((points.shape[1], self.size), self.dtype)))
        scale = self.scale(given)
        total, errors, relative = recorded(
            search,
            works_inside(lambda q, r: self.density(q, r, *given)),
            works_inside(lambda total: self.exactness.allowed(total, scale)),
            works_inside(lambda quotients: self.exactness.excess(quotients)),
            points,
            tables,
        )
        error, excess = (self.exactness.excess(v) for v in (errors, relative))
        amount = relative if self.exactness.norm == "each" else excess
        return np.where(amount <= 1.0, total, np.nan), np.where(excess <= 1.0, error, np.inf)


def _room(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return memory of the recording."""
    recorder: Any = active()
    room = recorder.array(recorder.declare("room", shape, np.dtype(dtype)))
    room[...] = 0
    return room


@dataclass(frozen=True, eq=False)
class IntegralRule(NamedRule):
    """Base of the derivatives.

    :param names: what the integral takes; of ``moving`` there are derivatives.
    """

    integral: Integral
    names: tuple[str, ...]
    moving: tuple[str, ...]

    label = "integral"

    @property
    def derivatives(self) -> tuple[str, ...]:
        """Return the names of the cotangents, or tangents, that the rule takes."""
        raise NotImplementedError

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.names, *self.derivatives)

    def of_moving(self, q: Any, r: Any, values: Sequence[Any]) -> tuple[Callable, list[Any]]:
        """Return the density as a function of what moves, and that."""
        own = self.names[1:]

        def density(*moving: Any) -> Any:
            given = {**dict(zip(own, values, strict=False)), **dict(zip(self.moving, moving, strict=True))}
            return self.integral.density(q, r, *given.values())

        return works_inside(density), [v for n, v in zip(own, values, strict=False) if n in self.moving]

    def integrate(self, density: Density, size: int, dtype: Any, values: Sequence[Any]) -> Any:
        """Record the integral of a derivative of the density."""
        count, e = len(self.names) - 1, self.integral.exactness
        exactness = Exactness(e.epsabs, e.epsrel, "each", e.most)

        def scale(given: Sequence[Any]) -> Any:
            sizes = [np.max(np.abs(array(v))) for v in given[count:]]
            return self.integral.scale(given[:count]) * sum(sizes[1:], sizes[0])

        seeds = (f"seed_{count}_{k}" for k in range(len(self.derivatives)))
        given = dict(zip((*self.names[1:], *seeds), values[1:], strict=True))
        return Integral(density, size, dtype, exactness, scale).record(values[0], given)[0]


class CotangentsRule(IntegralRule):
    """The adjoint: cotangents of all that moves, in one vector."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return (COTANGENT + RESULT,)

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of what the integral takes, in order."""
        given = dict(zip(self.names, values, strict=False))
        moving = [given[n] for n in self.moving]
        none = known(np.zeros(np.shape(values[0])))
        if not moving:
            return (none,)
        sizes = [int(np.size(v)) for v in moving]
        dtype = np.result_type(float, *(v.dtype for v in moving))
        total = self.integrate(self._density, sum(sizes), dtype, values)
        parts = np.split(total, np.cumsum(sizes)[:-1]) if len(sizes) > 1 else [total]
        return (none, *(_like(p, v) for p, v in zip(parts, moving, strict=True)))

    def _density(self, q: Any, r: Any, *values: Any) -> Any:
        density, moving = self.of_moving(q, r, values)
        found = vjp(density, *moving)[1](values[-1])
        return np.concatenate([np.reshape(array(c), -1) for c in found])


class TangentsRule(IntegralRule):
    """The tangent of the integral, and of its error: none."""

    @property
    def derivatives(self) -> tuple[str, ...]:
        return tuple(TANGENT + n for n in self.moving)

    def __call__(self, *values: Any) -> tuple:
        """Record the tangents of what the node makes."""
        return self.integrate(self._density, self.integral.size, self.integral.dtype, values), 0.0

    def _density(self, q: Any, r: Any, *values: Any) -> Any:
        density, moving = self.of_moving(q, r, values)
        return jvp(density, tuple(moving), tuple(values[len(self.names) - 1 :]))[1]


def _like(found: Any, value: Any) -> Any:
    """Return part of a vector in the shape and type of a value."""
    found = found.real if value.dtype.kind != "c" and found.dtype.kind == "c" else found
    return np.reshape(found, np.shape(value)).astype(value.dtype)


def require_exact(name: str, error: Any) -> Any:
    """Return the error of an integral, which has no derivative; it has to be as small as asked for."""
    recorder: Any = active()
    told = f"{shown_line(recorder.where())}{name} did not reach its tolerance"
    more = ": name places where the integrand jumps or is infinite in points=, or allow larger errors"
    RULES.require(recorder, error < np.inf, ConvergenceError(told + more))
    return detached(error)
