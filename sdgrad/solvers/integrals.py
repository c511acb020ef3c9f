"""Record integrals, each as one node: halving reads values only, and the derivative is that of the sum over the parts.

The sum is taken at points that are fixed parts of the range, so that its derivative by an end moves all of them: it
needs no value of the integrand at the end, which may be infinite there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.api.vjp import vjp
from sdgrad.errors import ConvergenceError
from sdgrad.program.custom_rule import COTANGENT, CustomRule
from sdgrad.program.tree import Node
from sdgrad.record.calls import WorksInside, works_inside
from sdgrad.record.custom import Variables
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.outside import shown_line
from sdgrad.record.values import RULES
from sdgrad.solvers.algorithms.kronrod import Points
from sdgrad.solvers.algorithms.quadrature import over_parts, search, variable
from sdgrad.solvers.closed import Closed
from sdgrad.solvers.implicit import recorded, shaped

RESULT, ERROR, REACHED = "integral", "error", "reached"
WAY, COUNT, PLACES, LEVELS = "way", "count", "places", "levels"
PARTS = (WAY, COUNT, PLACES, LEVELS)
BEGIN, END = "begin", "end"
NODES, FINE = "nodes", "weights"
NORMS: dict[str, Callable[[Any], Any]] = {
    "2": lambda x: np.sqrt(np.sum(np.abs(x) ** 2)),
    "max": lambda x: np.max(np.abs(x)),
}


@dataclass(frozen=True, eq=False)
class Integral:
    """An integral of a function.

    :param closed: a function of a number, and of operands.
    :param ends: the finite ends of the range, by name: begin, end, both, or none.
    :param points: at which a part of the range is summed.
    :param most: the most parts.
    """

    closed: Callable
    ends: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: Any
    points: Points
    norm: str
    tolerances: tuple[Any, Any]
    most: int

    def place(self, given: Sequence[Any], q: Any, r: Any) -> tuple[Any, Any]:
        """Return a place in the range, and how fast it moves: from the variable and how far that is from 1."""
        ends = dict(zip(self.ends, given, strict=False))
        if len(ends) == 2:
            a, b = ends[BEGIN], ends[END]
            return np.where(q < 0.5, a + (b - a) * q, b - (b - a) * r), b - a
        if not ends:
            return 1.0 / r - 1.0 / q, 1.0 / q**2 + 1.0 / r**2
        return (ends[BEGIN] + r / q if BEGIN in ends else ends[END] - r / q), 1.0 / q**2

    def integrand(self, given: Sequence[Any]) -> Callable:
        """Return the integrand as a vector, a function of the variable and how far it is from 1."""

        def integrand(way: Any, u: Any, v: Any) -> Any:
            q, r, slope = variable(way, u, v)
            x, speed = self.place(given, q, r)
            values = self.closed(x, *given[len(self.ends) :])
            return np.reshape(array(values), -1).astype(self.dtype) * (slope * speed)

        return works_inside(integrand)

    def zeros(self, *shape: int) -> Any:
        """Return memory of the recording."""
        recorder: Any = active()
        room = recorder.array(recorder.declare("room", shape, self.dtype))
        room[...] = 0.0
        return room

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return int(np.prod(self.shape))

    def find(self, given: Sequence[Any], places: Any, levels: Any) -> tuple:
        """Record the search for parts."""
        real = np.zeros(self.most)
        values, at_points = self.zeros(self.most, self.size), self.zeros(len(self.points.nodes), self.size)
        errors, rounding = known(real.copy()), known(real.copy())
        tables = (places, levels, values, errors, rounding, at_points)
        norm = works_inside(lambda x: NORMS[self.norm](x))
        points = Points(*map(known, self.points))
        return recorded(search, self.integrand(given), norm, points, tables, *self.tolerances)

    def total(self, given: Sequence[Any], parts: Mapping[str, Any]) -> Any:
        """Record the sum over parts that were found."""
        found = [parts[n] for n in (NODES, FINE, WAY, PLACES, LEVELS, COUNT)]
        return shaped(recorded(over_parts, self.integrand(given), *found, self.zeros(self.size)), self.shape)


@dataclass(frozen=True, eq=False)
class IntegralRule(WorksInside):
    """The adjoint of an integral: that of the sum over its parts."""

    integral: Integral
    names: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return "integral"

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind) for n in (NODES, FINE, *self.names, *PARTS, COTANGENT + RESULT)])

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of the ends and operands that have one."""
        found = dict(zip(self.__signature__.parameters, values, strict=True))
        given = [found[n] for n in self.names]
        total = works_inside(lambda *moving: self.integral.total(moving, found))
        cotangents = vjp(total, *given)[1](values[-1]) if given else ()
        none = known(np.zeros(len(self.integral.points.nodes)))
        return (none, none, *(c for c in cotangents if c is not None))


def integral(name: str, own: Integral, ends: Sequence[Any], operands: Sequence[Any], needed: bool) -> tuple:
    """Record an integral, and the estimate of its error.

    :param needed: it has to be as exact as asked for; if not, and it is not, it is no number.
    :raises ConvergenceError: at the call, where it is not.
    """
    recorder: Any = active()
    variables = Variables(recorder)
    names = (*own.ends, *(f"operand_{k}" for k in range(len(operands))))
    given = [variables.add(n, value) for n, value in zip(names, (*ends, *operands), strict=True)]
    for n, values in ((NODES, own.points.nodes), (FINE, own.points.fine)):
        variables.add(n, known(values))
    shape, most = own.shape, (own.most,)
    results = {RESULT: (shape, own.dtype), ERROR: ((), float), REACHED: ((), int), WAY: ((), int)}
    results |= {COUNT: ((), int), PLACES: (most, int), LEVELS: (most, int)}
    made = {n: recorder.declare(n, s, np.dtype(t)) for n, (s, t) in results.items()}
    block: list[Node] = []
    with recorder.inside(block):
        total, error, way, count, done = own.find(given, *(recorder.array(made[n]) for n in (PLACES, LEVELS)))
        total = shaped(np.where(done, total, np.nan), shape)
        if shape:
            recorder.copy(tensor_of(array(total)), made[RESULT])
        else:
            recorder.write(made[RESULT], (), total)
        for n, value in ((ERROR, error), (REACHED, done), (WAY, way), (COUNT, count)):
            recorder.write(made[n], (), value * 1)
    for n, tensor in made.items():
        variables.operands[n] = variables.operand(tensor, not tensor.shape)
    asked = tuple(n for n in names if n in variables.operands or n in variables.symbols)
    rule = CustomRule("integral", (NODES, FINE, *names), vjp=IntegralRule(own, asked), results=tuple(made))
    recorder.append(variables.call(rule, block))
    found = {n: recorder.array(t) if t.shape else recorder.read(t, ()) for n, t in made.items()}
    if needed:
        told = f"{shown_line(recorder.where())}{name} did not reach its tolerance"
        more = ": give the places where the integrand jumps or is infinite as points=, or allow larger errors"
        RULES.require(recorder, found[REACHED] == 1, ConvergenceError(told + more))
    return found[RESULT], detached(found[ERROR])
