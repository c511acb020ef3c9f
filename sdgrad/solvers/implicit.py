"""Record the solution of an equation as one node, with its derivative by the implicit function theorem.

Where ``F(x, p) = 0``, the cotangent of ``p`` is ``-(dF/dp)^T u``, with ``(dF/dx)^T u`` the cotangent of ``x``: one
linear system, however many iterations found ``x`` (Blondel et al. 2022, Efficient and modular implicit
differentiation).
The rule is a program like others, so that forward mode is its transpose, and higher orders its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from sdgrad.api.forward import in_place
from sdgrad.api.jacobian import jacobian
from sdgrad.api.jvp import jvp
from sdgrad.api.vjp import vjp
from sdgrad.errors import ConvergenceError
from sdgrad.program.custom_rule import COTANGENT, CustomRule
from sdgrad.program.tree import Node
from sdgrad.record.calls import WorksInside, works_inside
from sdgrad.record.custom import Variables
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.named_rule import NamedRule
from sdgrad.record.outside import shown_line
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.values import RULES
from sdgrad.solvers.algorithms import krylov
from sdgrad.solvers.closed import Equation, tolerance

RESULT, REACHED, RIGHT = "solution", "reached", "right"
DIRECT = 1024  # unknowns up to which a matrix of all derivatives is made: iterations may fail
NEWTON = 64  # unknowns up to which a minimum is searched with all second derivatives
RESTART = 40  # products that GMRES keeps
NEARER = "begin nearer to a solution, or allow more steps"
BRACKET = "the signs at the ends of the bracket have to be different, and the steps enough"
LINEAR = "the matrix may be singular, or not of the kind that the method takes; or allow more steps"

Find = Callable[[Callable, Any], tuple[Any, Any]]


def recorded(algorithm: Callable, *args: Any) -> Any:
    """Call an algorithm so that its loops and branches are recorded; functions that it takes are run as they are."""
    own = [works_inside(partial(a)) if isinstance(a, (FunctionType, MethodType)) else a for a in args]
    recorder: Any = active()
    site = ("algorithm", recorder.site())
    recorder.sites[site] = recorder.sites.get(site, -1) + 1
    before = recorder.ranges.trusted, recorder.within
    recorder.ranges.trusted, recorder.within = True, (*recorder.within, recorder.sites[site])
    try:
        return RecordingOperators().converted(algorithm)(*own)  # type: ignore[arg-type]
    finally:
        recorder.ranges.trusted, recorder.within = before


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """Return the elements of a vector as an array, or the only one as a number."""
    return np.reshape(x, shape) if shape else x[0]


@dataclass(frozen=True)
class Flat(WorksInside):
    """The left side of an equation as a function of a vector of unknowns and of operands: a vector."""

    left: Callable
    shape: tuple[int, ...]

    def __call__(self, x: Any, *operands: Any) -> Any:
        """Record the left side."""
        return np.reshape(array(self.left(shaped(x, self.shape), *operands)), -1)


@dataclass(frozen=True, eq=False)
class AtOperands(WorksInside):
    """The left side of an equation as a function of the vector of unknowns alone."""

    flat: Flat
    operands: Sequence[Any]

    def __call__(self, x: Any) -> Any:
        """Record the left side."""
        return self.flat(x, *self.operands)


@dataclass(frozen=True)
class ImplicitRule(NamedRule):
    """The adjoint of a solution: a function of the operands, the solution and its cotangent.

    :param names: the operands, and the right side if there is one; ``asked`` are those that are variables.
    """

    flat: Flat
    names: tuple[str, ...]
    asked: tuple[str, ...]
    symmetric: bool
    linear: bool
    direct: int = DIRECT

    label = "implicit"

    @property
    def taken(self) -> tuple[str, ...]:
        return (*self.asked, RESULT, COTANGENT + RESULT)

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of the operands that have one."""
        given = self.named(values)
        operands = [given[n] for n in self.names if n != RIGHT]
        x, seed = (np.reshape(array(given[n]), -1) for n in (RESULT, COTANGENT + RESULT))
        at = zeros(x.shape[0], x.dtype) if self.linear else x  # a solution that is read would be computed again
        u = adjoint_solution(self.flat, at, operands, seed, self.symmetric, self.direct)
        found = vjp(works_inside(lambda *p: self.flat(x, *p)), *operands)[1](u) if operands else ()
        right = (shaped(u, self.flat.shape),) if RIGHT in self.names else ()
        return (*(-c for c in found if c is not None), *right)


def adjoint_solution(
    flat: Flat, x: Any, operands: Sequence[Any], seed: Any, symmetric: bool, direct: int = DIRECT
) -> Any:
    """Record the solution of ``(dF/dx)^T u = seed``; where it is not found, it is no number.

    The product is that of the transpose also where the matrix is said to be symmetric: if it is not, MINRES fails.

    Iterations are not linear in the seed. Their solution is: it is an implicit function as well.
    """
    n = x.shape[0]
    if n <= direct:
        return np.linalg.solve(derivatives(flat, x, operands).T, seed)

    def product(u: Any, x: Any, *operands: Any) -> Any:
        return vjp(works_inside(lambda y: flat(y, *operands)), x)[1](u)[0]

    def find(multiply: Callable, u: Any) -> tuple[Any, Any]:
        method, more = (krylov.minres, ()) if symmetric else (krylov.gmres, (min(n, RESTART),))
        found, size = recorded(method, multiply, seed, u, tolerance(1e-12, seed), 4 * n, *more)
        return np.where(size <= tolerance(1e-12, seed) ** 0.5, found, np.nan), True

    equation = Equation(product, (x, *operands), seed, linear=True)
    return implicit("adjoint", equation, zeros(n, x.dtype), find, symmetric)[0]


def zeros(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return zeros of the recording: an array of NumPy's would be an argument of a rule."""
    return known(np.zeros(shape, dtype))


def sums(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros in memory, for loops to add to: a loop that reads known ones is recorded twice."""
    recorder: Any = active()
    found = recorder.array(recorder.declare("sums", shape, dtype))
    found[...] = 0
    return found


def derivatives(flat: Callable, x: Any, operands: Sequence[Any]) -> Any:
    """Record the matrix ``dF/dx``."""
    if isinstance(flat, AtOperands):
        return derivatives(flat.flat, x, flat.operands)
    if isinstance(flat, Flat):  # equal ones have one derivative, which is made once
        return in_place(jacobian(flat, wrt="x"), (x, *operands), {})
    return in_place(jacobian(works_inside(lambda y: flat(y, *operands))), (x,), {})


def products(flat: Callable, x: Any, operands: Sequence[Any]) -> Callable[[Any], Any]:
    """Return the function that records products of ``dF/dx`` with a vector."""
    return lambda v: jvp(works_inside(lambda y: flat(y, *operands)), (x,), (v,))[1]


def solution(
    name: str, equation: Equation, first: Any, find: Find, symmetric: bool = False, advice: str = NEARER
) -> Any:
    """Record the solution of an equation, which has to be reached.

    :param advice: what to do where it is not.
    :raises ConvergenceError: at the call, where it was not.
    """
    found, reached = implicit(name, equation, first, find, symmetric)
    recorder: Any = active()
    where = shown_line(recorder.where())
    full = name if "." in name else f"sdgrad.{name}"
    told = f"{where}{full} did not converge: {advice}"
    RULES.require(recorder, reached == 1, ConvergenceError(told))
    if equation.check is not None:
        equation.check(found)
    return found


def implicit(
    name: str, equation: Equation, first: Any, find: Find, symmetric: bool, direct: int = DIRECT
) -> tuple[Any, Any]:
    """Record the solution of an equation, and whether it was reached: 1 or 0.

    :param find: records the search: from the left side as a function of a vector, and a vector to begin with, to the
        solution and whether it was reached.
    :param symmetric: the matrix ``dF/dx`` is.
    :param direct: unknowns up to which the adjoint has that matrix.
    """
    recorder: Any = active()
    start = array(first)
    shape = tuple(start.shape)
    variables = Variables(recorder)
    names = tuple(f"operand_{k}" for k in range(len(equation.operands)))  # not called as the solution is
    operands = [variables.add(n, value) for n, value in zip(names, equation.operands, strict=True)]
    if equation.right is not None:
        names = (*names, RIGHT)
        variables.add(RIGHT, equation.right)
    flat = Flat(equation.left, shape)
    made = recorder.declare(RESULT, shape, start.dtype)
    reached = recorder.declare(REACHED, (), np.int64)
    block: list[Node] = []
    with recorder.inside(block):
        found, done = find(AtOperands(flat, operands), np.reshape(start, -1))
        recorder.copy(tensor_of(array(np.reshape(found, shape))), made)
        recorder.write(reached, (), done * 1)
    variables.operands[RESULT] = variables.operand(made, not shape)
    variables.operands[REACHED] = variables.operand(reached, True)
    asked = tuple(n for n in names if n in variables.operands or n in variables.symbols)
    rule = ImplicitRule(flat, names, asked, symmetric, equation.linear, direct)
    custom = CustomRule(name.rpartition(".")[2], names, vjp=rule, results=(RESULT, REACHED), rough=equation.rough)
    recorder.append(variables.call(custom, block))
    found = recorder.array(made) if shape else recorder.read(made, ())
    return found, recorder.read(reached, ())
