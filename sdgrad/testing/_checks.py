"""check_grads: derivatives in directions and of elements, compared one by one."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from sdgrad.api.gradient import grad
from sdgrad.api.jvp import jvp
from sdgrad.api.vjp import vjp
from sdgrad.record.nests import OfLeaves, restored
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.communicating import OF_ONE_RANK, refuse_communication
from sdgrad.specialize.signature import Signature
from sdgrad.testing._differences import (
    Derivative,
    Problem,
    copied,
    derivative,
    is_active,
    make_problem,
    name_of,
    random_like,
    widened,
)
from sdgrad.testing._report import ArgumentReport, Comparison, GradientCheckError, GradientReport

Gradient = Callable[..., Sequence[Any]]
"""``gradient(args, cotangents)``: one gradient for each positional argument, None for those that have
none."""

TOLERANCES = {"float16": (2e-2, 1e-2), "float32": (5e-4, 1e-5), "float64": (1e-6, 1e-8)}
"""Relative and absolute tolerance for each precision; a complex type has that of its parts."""

SMALL = 64
"""Inputs of up to this many elements are checked element by element, larger ones at SAMPLE random
elements."""
SAMPLE = 12


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("rev",),
    *,
    wrt: Sequence[int | str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    gradient: Gradient | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    directions: int = 4,
    comm: Any = None,
) -> GradientReport:
    """Compare the gradient of `f` at `args` with differences of `f`, and raise if it is wrong.

    Every floating-point argument (or those in `wrt`) is checked along random directions, and element by
    element if it has at most 64 elements (a sample of the elements otherwise). Outputs that are not scalars
    get random cotangents. The outputs of the compiled function are compared too.

    Arguments may be nests; their leaves are checked.

    Of a function that communicates, all ranks of `comm` call the check together: it compares sums over the ranks, along
    directions of all and of single ranks. The ranks check the same arguments; shapes may differ.

    :param order: 2 also checks the gradient of the gradient (of a function with a scalar output).
    :param modes: ``"rev"`` for :func:`sdgrad.vjp`, ``"fwd"`` for :func:`sdgrad.jvp`.
    :param reference: what differences are taken of, if not `f` run as plain Python (for a ``@dace.program``,
        the function it decorates). A Python function is called with double precision whatever the type of
        `args`.
    :param gradient: what to check in place of sdgrad's reverse mode: ``gradient(args, cotangents)``.
    :param rtol, atol: the error allowed for an element ``e`` is ``rtol * abs(e) + atol * min(1, largest
        element)``; without them, :data:`TOLERANCES` of the least precise type among arguments.
    :param comm: the communicator, from mpi4py.
    :returns: a report to print.
    :raises GradientCheckError: with the argument, the element, both values and the reference used.
    """
    _check_modes(modes, order)
    kwargs = dict(kwargs or {})
    call = Call.of(f, args, kwargs)
    if call.nests:
        leaves = None if wrt is None else [n for w in wrt for n in call.leaves(w)]
        plain = None if reference is None else replace(cast(OfLeaves, call.f), function=reference)
        given = list(call.arguments.values())
        own = _of_nests(gradient, call) if gradient is not None else None
        return check_grads(
            call.f, given, order, modes, wrt=leaves, reference=plain, gradient=own,
            rtol=rtol, atol=atol, seed=seed, directions=directions, comm=comm,
        )  # fmt: skip
    f, kwargs = call.f, {n: v for n, v in kwargs.items() if n not in call.symbols}
    rng = begun(f, args, kwargs, seed, comm)
    problem = make_problem(f, args, kwargs, reference, wrt, rng, comm)
    tolerance = tolerances(args, rtol, atol)
    reports: list[ArgumentReport] = []
    known = {i: _references(problem, args[i], i, rng, directions, tolerance[0]) for i in problem.active}
    for mode in modes:
        found = reverse_gradients(f, args, kwargs, problem, gradient, tolerance) if mode == "rev" else ()
        for i, references in known.items():
            if mode == "rev":
                comparisons = _compare_gradient(problem, references, found[i], tolerance)
            else:
                comparisons = _compare_tangents(f, args, kwargs, problem, i, references, tolerance)
            reports.append(_argument_report(problem, args, i, mode, order=1, comparisons=comparisons))
    report = GradientReport(tuple(reports))
    _raise_unless_passed(f, report)
    if order == 2:
        report = GradientReport(report.arguments + _second_order(f, args, kwargs, problem, modes, rtol, atol, seed))
    return report


def begun(
    f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], seed: int, comm: Any
) -> np.random.Generator:
    """Return the random numbers of a check: each rank has its own.

    :raises ArgumentError: the function communicates, and the check is not told with whom.
    """
    if comm is None and "mpi4py.MPI" in sys.modules:
        refuse_communication(Signature.of(f, Call.of(f, args, kwargs).arguments), OF_ONE_RANK)
    return np.random.default_rng(seed if comm is None else [seed, comm.rank])


def _of_nests(gradient: Gradient, call: Call) -> Gradient:
    """Return a gradient of nests as one of their leaves."""

    def of_leaves(leaves: Sequence[Any], cotangents: Any) -> Sequence[Any]:
        given = restored(dict(zip(call.arguments, leaves, strict=True)), call.order, call.nests)
        found = call.matching(gradient(list(given.values()), cotangents))
        return [found.get(n) for n in call.arguments]

    return of_leaves


def _check_modes(modes: Sequence[str], order: int) -> None:
    for mode in modes:
        if mode not in ("rev", "fwd"):
            raise ValueError(f"a mode is 'rev' or 'fwd', not {mode!r}")
    if order not in (1, 2):
        raise ValueError(f"order is 1 or 2, not {order!r}")


def tolerances(args: Sequence[Any], rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Relative and absolute tolerance: as given, or those of the least precise argument."""
    kinds = {np.finfo(np.asarray(a).dtype).dtype.name for a in args if is_active(a)}
    default = max(TOLERANCES.get(kind, TOLERANCES["float64"]) for kind in kinds)
    return default[0] if rtol is None else rtol, default[1] if atol is None else atol


def _argument_report(problem: Problem, args, position: int, mode: str, order: int, comparisons) -> ArgumentReport:
    array = np.asarray(args[position])
    return ArgumentReport(problem.names[position], str(array.dtype), array.shape, mode, order, tuple(comparisons))


def _raise_unless_passed(f: Any, report: GradientReport) -> None:
    if report.passed:
        return
    bad = max((a for a in report.arguments if not a.passed), key=lambda a: (a.verdict == "WRONG", a.worst.excess))
    worst = bad.worst
    if bad.verdict == "WRONG":
        what = f"the gradient of {name_of(f)} with respect to {bad.name!r} is wrong at {worst.where}"
    else:
        what = f"the gradient of {name_of(f)} with respect to {bad.name!r} cannot be judged: is it smooth here?"
    raise GradientCheckError(
        f"{what}\n  expected {worst.expected:.12g}\n  found    {worst.found:.12g}\n"
        f"  error    {abs(worst.found - worst.expected):.3g}, allowed {worst.tolerance:.3g}\n"
        f"  reference: {worst.method}, known to {worst.uncertainty:.1g}\n\n{report}",
        report,
    )


def reverse_gradients(f, args, kwargs, problem: Problem, gradient: Gradient | None, tolerance) -> Sequence[Any]:
    """The gradients under test, after a check of their shapes and of the outputs that came with them."""
    copies = [copied(a) for a in args]
    if gradient is None:
        outputs, pullback = vjp(f, *copies, **kwargs)
        values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        _check_outputs(f, problem, values, tolerance)
        cotangents = [np.asarray(v, np.asarray(y).dtype)[()] for v, y in zip(problem.cotangents, values, strict=True)]
        found: Sequence[Any] = pullback(*cotangents)
    else:
        found = gradient(copies, problem.cotangents)
    if len(found) != len(args):
        raise GradientCheckError(f"{len(found)} gradients came for {len(args)} arguments of {name_of(f)}")
    for i in problem.active:
        _check_form(f, problem.names[i], args[i], found[i])
    return found


def _check_outputs(f, problem: Problem, values: Sequence[Any], tolerance: tuple[float, float]) -> None:
    expected = problem.outputs(problem.args)
    if len(values) != len(expected):
        raise GradientCheckError(f"{name_of(f)} gives {len(values)} outputs, and {len(expected)} as plain Python")
    rtol, atol = tolerance
    for i, (y, e) in enumerate(zip(values, expected, strict=True)):
        y = np.asarray(y)
        scale = float(np.max(np.abs(e), initial=0.0))
        if y.shape != e.shape or not np.allclose(y, e, rtol=rtol, atol=max(atol, rtol * scale), equal_nan=True):
            raise GradientCheckError(
                f"output {i} of {name_of(f)} is not what plain Python gives, before any derivative:\n"
                f"  expected {_short(e)}\n  found    {_short(y)}"
            )


def _short(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)} " + np.array2string(array, threshold=8, edgeitems=3).replace("\n", "")


def _check_form(f, name: str, argument: Any, found: Any) -> None:
    """A gradient has the shape of its argument, and is complex only if that is."""
    if found is None:
        raise GradientCheckError(f"no gradient came for argument {name!r} of {name_of(f)}")
    array, like = np.asarray(found), np.asarray(argument)
    if array.shape != like.shape:
        raise GradientCheckError(f"the gradient of {name!r} has the shape {array.shape}, the argument {like.shape}")
    if np.iscomplexobj(array) and not np.iscomplexobj(like):
        raise GradientCheckError(f"the gradient of {name!r} is complex, the argument is {like.dtype}")


def _units(argument: Any, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Directions along single elements: all of a small array, some of a large one; both parts of complex
    ones."""
    array = np.asarray(argument)
    places = np.arange(array.size)
    if array.size > SMALL:
        places = np.sort(rng.choice(array.size, SAMPLE, replace=False))
    parts = [("", 1.0)] if not np.iscomplexobj(array) else [(" real part", 1.0), (" imaginary part", 1j)]
    for place in places:
        index = np.unravel_index(place, array.shape)
        for label, unit in parts:
            direction = np.zeros(array.shape, np.complex128 if label else np.float64)
            direction[index] = unit
            yield f"[{', '.join(str(int(i)) for i in index)}]{label}", direction


def _of_ranks(problem: Problem, argument: Any, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Directions of one rank's argument each, which all ranks go along together; of many ranks, some."""
    for rank in range(0, problem.comm.size, -(-problem.comm.size // SAMPLE)):
        direction = widened(random_like(argument, rng).astype(np.asarray(argument).dtype))
        yield f"random direction of rank {rank}", direction * (problem.comm.rank == rank)


@dataclass(frozen=True)
class References:
    """What the derivatives of an argument are compared with: a place or a number, the direction, the derivative."""

    elements: tuple[tuple[str, np.ndarray, Derivative], ...]
    directions: tuple[tuple[str, np.ndarray, Derivative], ...]


def _references(problem: Problem, argument: Any, position: int, rng, directions: int, rtol: float) -> References:
    """The derivatives along elements and random directions, once for all modes: a thousandth of the tolerance off."""
    units = list(_units(argument, rng) if problem.comm is None else _of_ranks(problem, argument, rng))
    kind = np.asarray(argument).dtype
    randoms = [(f"random direction {k}", widened(random_like(argument, rng).astype(kind))) for k in range(directions)]

    def known(where: str, u: np.ndarray) -> tuple[str, np.ndarray, Derivative]:
        return where, u, derivative(problem, {position: u}, 1e-3 * rtol)

    return References(tuple(known(*x) for x in units), tuple(known(*x) for x in randoms))


def _compare_gradient(
    problem: Problem, references: References, found: Any, tolerance: tuple[float, float]
) -> list[Comparison]:
    g = np.asarray(found)
    rtol, atol = tolerance
    scale = max((abs(d.value) for _, _, d in references.elements), default=0.0)
    floor = atol * min(1.0, scale if math.isfinite(scale) else 1.0)
    comparisons = [
        _comparison(where, d, problem.total(inner(g, u)), floor + rtol * abs(d.value))
        for where, u, d in references.elements
    ]
    for where, u, d in references.directions:
        # Errors of single elements, each within rtol, add up to this much.
        spread = rtol * problem.total(float(np.sum(np.abs(np.nan_to_num(g.astype(u.dtype)) * u))))
        allowed = floor * math.sqrt(max(problem.total(g.size), 1)) + min(spread, 1e3 * rtol * max(scale, abs(d.value)))
        comparisons.append(_comparison(where, d, problem.total(inner(g, u)), allowed))
    return comparisons


def _comparison(where: str, reference: Derivative, found: float, tolerance: float) -> Comparison:
    allowed = _allowed(tolerance, reference)
    return Comparison(where, reference.value, found, allowed, reference.method, reference.uncertainty)


def _allowed(tolerance: float, reference: Derivative) -> float:
    """A tolerance that does not ask for more than the reference knows, as long as that is nearly enough."""
    return tolerance + min(3 * reference.uncertainty, tolerance)


def inner(g: Any, u: np.ndarray) -> float:
    """``Re(sum(conj(g) * u))`` in double precision."""
    with np.errstate(all="ignore"):
        g = np.asarray(g)
        wide = g.astype(np.complex128 if np.iscomplexobj(g) else np.float64)
        return float(np.sum(np.where(u != 0, np.conj(wide) * u, 0)).real)


def tangent_product(f, args, kwargs, problem: Problem, direction: Mapping[int, np.ndarray]) -> float:
    """``Re(sum(conj(v) * J u))`` from forward mode, summed over the ranks."""
    tangents = [
        direction.get(i, np.zeros(np.shape(a))).astype(np.asarray(a).dtype)[()] if is_active(a) else None
        for i, a in enumerate(args)
    ]
    _, result = jvp(f, tuple(copied(a) for a in args), tuple(tangents), **kwargs)
    results = result if isinstance(result, (tuple, list)) else (result,)
    return problem.total(sum(inner(v, np.asarray(t)) for v, t in zip(problem.cotangents, results, strict=True)))


def _compare_tangents(
    f, args, kwargs, problem: Problem, position: int, references: References, tolerance: tuple[float, float]
) -> list[Comparison]:
    rtol, atol = tolerance
    comparisons = []
    for where, u, d in (*references.elements[:SMALL], *references.directions):
        found = tangent_product(f, args, kwargs, problem, {position: u})
        comparisons.append(_comparison(where, d, found, atol + rtol * abs(d.value)))
    return comparisons


def _second_order(f, args, kwargs, problem: Problem, modes, rtol, atol, seed) -> tuple[ArgumentReport, ...]:
    """The check of the gradient function, against differences of its own values (which order 1 has
    checked)."""
    if len(problem.cotangents) != 1 or problem.cotangents[0].ndim:
        raise ValueError("order 2 needs a function with one scalar output")
    first = grad(f, wrt=problem.active)
    inner = check_grads(
        first,
        args,
        1,
        modes,
        wrt=problem.active,
        kwargs=kwargs,
        reference=first,
        rtol=rtol,
        atol=atol,
        seed=seed,
        comm=problem.comm,
    )
    return tuple(
        ArgumentReport(problem.names[i], a.dtype, a.shape, a.mode, 2, a.comparisons)
        for a, i in zip(inner.arguments, problem.active * len(modes), strict=True)
    )
