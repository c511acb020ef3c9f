"""The reference: derivatives of a function by differences of its values."""

from __future__ import annotations

import inspect
import math
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dace.frontend.python.parser import DaceProgram


@dataclass(frozen=True)
class Problem:
    """A function at a point, with cotangents of its outputs: everything the references need."""

    reference: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    cotangents: tuple[np.ndarray, ...]
    active: tuple[int, ...]
    names: tuple[str, ...]
    exact_types: bool
    comm: Any = None  # of the ranks that check together, as mpi4py has it

    def total(self, value: float) -> float:
        """Return the sum of a number over the ranks, the same to the last bit on all of them."""
        return value if self.comm is None else math.fsum(self.comm.allgather(float(value)))

    def largest(self, value: float) -> float:
        """Return the largest of a number's values on the ranks."""
        return value if self.comm is None else max(self.comm.allgather(float(value)))

    def outputs(self, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
        return _outputs(self.reference, args, self.kwargs)

    def scalar(self, args: Sequence[Any]) -> tuple[complex, float]:
        """``sum(conj(v) * y)``, over the ranks as well, and an estimate of its rounding error."""
        total, error = 0j, 0.0
        for v, y in zip(self.cotangents, self.outputs(args), strict=True):
            wide = np.complex128 if np.iscomplexobj(y) or np.iscomplexobj(v) else np.float64
            terms = np.conj(v) * y.astype(wide)
            total += complex(np.sum(terms))
            precision = np.finfo(y.dtype).eps if np.issubdtype(y.dtype, np.inexact) else 0.0
            error += float(precision) * float(np.sum(np.abs(terms)))
        return (total, error) if self.comm is None else (complex(self.total(total.real)), self.total(error))

    def moved(self, step: complex, direction: Mapping[int, np.ndarray]) -> list[Any]:
        """The arguments, some of them moved by ``step * direction``."""
        moved = [a + step * direction[i] if i in direction else copied(a) for i, a in enumerate(self.args)]
        if self.exact_types:
            return [np.asarray(m).astype(np.asarray(a).dtype)[()] for m, a in zip(moved, self.args, strict=True)]
        return moved


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _outputs(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """What a function returns, as a tuple of arrays; it works on copies of its arguments."""
    result = f(*(copied(a) for a in args), **kwargs)
    if result is None:
        raise TypeError(f"{name_of(f)} returns nothing to differentiate: wrap it in a function that returns its result")
    return tuple(np.asarray(y) for y in (result if isinstance(result, (tuple, list)) else (result,)))


def name_of(f: Any) -> str:
    return getattr(f, "__name__", None) or getattr(f, "name", None) or type(f).__name__


def _plain_python(f: Any) -> Any:
    """The Python function behind a ``@dace.program``; anything else as it is."""
    return f.f if isinstance(f, DaceProgram) else f


def is_active(value: Any) -> bool:
    return not isinstance(value, (bool, int, str)) and np.issubdtype(np.asarray(value).dtype, np.inexact)


def widened(value: Any) -> Any:
    """An inexact value in double precision: the same point, but differences there are accurate."""
    if not is_active(value):
        return value
    return np.asarray(value).astype(np.complex128 if np.iscomplexobj(value) else np.float64)


def _argument_names(f: Any, count: int) -> tuple[str, ...]:
    try:
        names = list(inspect.signature(_plain_python(f)).parameters)
    except (TypeError, ValueError):
        names = []
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))


def _positions(wrt: Sequence[int | str] | None, names: Sequence[str], args: Sequence[Any]) -> tuple[int, ...]:
    """The positions of the arguments to check: those asked for, or all inexact ones."""
    if wrt is None:
        found = tuple(i for i, a in enumerate(args) if is_active(a))
        if not found:
            raise ValueError("no argument is a floating-point number or array: there is no gradient to check")
        return found
    for w in wrt:
        if isinstance(w, str) and w not in names:
            raise ValueError(f"no argument is named {w!r}; there are {', '.join(names)}")
    return tuple(names.index(w) if isinstance(w, str) else w for w in wrt)


def random_like(value: Any, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers of the shape and type of a value, in double precision."""
    array = np.asarray(value)
    numbers = rng.standard_normal(array.shape)
    if np.iscomplexobj(array):
        return np.asarray(numbers + 1j * rng.standard_normal(array.shape))
    return np.asarray(numbers)


def make_problem(f, args, kwargs, reference, wrt, rng, comm=None) -> Problem:
    """The problem of checking `f` at `args`: what differences are taken of, where, with which cotangents."""
    source = _plain_python(f if reference is None else reference)
    names = _argument_names(f, len(args))
    active = _positions(wrt, names, args)
    # Compiled callables are bound to their types; plain Python runs in double precision.
    exact_types = not isinstance(source, types.FunctionType)
    points = tuple(args) if exact_types else tuple(widened(a) for a in args)
    outputs = _outputs(source, points, kwargs)
    for i, y in enumerate(outputs):
        if not np.issubdtype(y.dtype, np.inexact):
            raise TypeError(f"output {i} of {name_of(f)} is of type {y.dtype}: it has no derivative")
    cotangents = tuple(random_like(y, rng) for y in outputs)
    if len(outputs) == 1 and outputs[0].ndim == 0 and not np.iscomplexobj(outputs[0]):
        cotangents = (np.ones(()),)
    if comm is not None and len(set(comm.allgather(active))) > 1:
        raise ValueError("the ranks check different arguments: name those that all of them have in wrt")
    return Problem(source, points, kwargs, cotangents, active, names, exact_types, comm)


@dataclass(frozen=True)
class Derivative:
    """A reference value: `uncertainty` is its own estimate of its error."""

    value: float
    uncertainty: float
    method: str


def _central(
    problem: Problem, direction: Mapping[int, np.ndarray], step: float, enough: float, levels: int = 9
) -> Derivative:
    """Central differences with steps ``step / 4**k``, extrapolated to zero; the entry with the least error
    wins.

    Entry ``j`` of row ``k`` is free of the first ``j`` error terms ``h**2, h**4, ...``; two neighbours tell
    how far it is off. Small steps in later rows step around kinks, and rounding is part of every error.

    :param enough: the relative error that is small enough. Functions that nothing changes end as well.
    """
    value, least = math.nan, math.inf
    above: list[float] = []
    for k in range(levels):
        h = step / 4**k
        (plus, rounding), (minus, _) = (problem.scalar(problem.moved(s * h, direction)) for s in (1, -1))
        row = [(plus.real - minus.real) / (2 * h)]
        for j, old in enumerate(above):
            row.append(row[j] + (row[j] - old) / (16 ** (j + 1) - 1))
            error = max(abs(row[j + 1] - row[j]), abs(row[j + 1] - old)) + rounding / h
            if error < least:
                value, least = row[j + 1], error
        unchanged = len(above) > 1 and not any((*above, *row))
        above = row
        if unchanged or least < enough * abs(value):
            break
    return Derivative(value, least, "central difference")


def _complex_step(problem: Problem, direction: Mapping[int, np.ndarray]) -> float | None:
    """``Im L(x + i h u) / h``, or None where the function does not take complex numbers."""
    if any(np.iscomplexobj(problem.args[i]) for i in direction) or any(map(np.iscomplexobj, problem.cotangents)):
        return None
    if problem.comm is not None:  # buffers of real numbers are received
        return None
    h = 1e-30
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            value, _ = problem.scalar(problem.moved(1j * h, direction))
        except Exception:  # whatever a function does with numbers it was not written for
            return None
    return value.imag / h if math.isfinite(value.imag) else None


def derivative(problem: Problem, direction: Mapping[int, np.ndarray], accuracy: float = 1e-12) -> Derivative:
    """The derivative of the problem's scalar along a direction, by the best means there is.

    :param accuracy: the relative error that is asked for: each digit takes more values of the function.
    """
    points = [np.abs(np.asarray(problem.args[i]))[u != 0] for i, u in direction.items()]
    none = 1.0 if problem.comm is None else 0.0
    size = problem.largest(max((float(np.max(p)) for p in points if p.size), default=none))
    step = 2e-2 * max(size, 0.1)
    with np.errstate(all="ignore"):
        exact = _complex_step(problem, direction)
        if exact is not None:
            near = _central(problem, direction, step, 1e-6)
            if abs(exact - near.value) <= 10 * near.uncertainty + 1e-7 * abs(exact):
                return Derivative(exact, 1e-14 * abs(exact), "complex step")
        return _central(problem, direction, step, max(accuracy, 1e-12))
