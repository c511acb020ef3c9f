"""Identities that a right derivative satisfies: the transpose, and Taylor's theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.testing._checks import Gradient, begun, inner, reverse_gradients, tangent_product, tolerances
from sdgrad.testing._differences import Problem, derivative, make_problem, name_of, random_like
from sdgrad.testing._report import GradientCheckError, table


@dataclass(frozen=True)
class DotProduct:
    """Both sides of ``<v, J u> = <J* v, u>``, and where the left one came from."""

    forward: float
    reverse: float
    method: str

    @property
    def error(self) -> float:
        """The difference, relative to the larger side."""
        size = max(abs(self.forward), abs(self.reverse))
        return abs(self.forward - self.reverse) / size if size else 0.0


def dot_product_test(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    wrt: Sequence[int | str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    gradient: Gradient | None = None,
    rtol: float | None = None,
    seed: int = 0,
    comm: Any = None,
) -> DotProduct:
    """Check ``<v, J u> = <J* v, u>`` for random ``u`` over all arguments at once, and random ``v``.

    ``J u`` comes from forward mode; from differences where ``gradient`` is given. Of a function that communicates, all
    ranks of ``comm`` call the test together, and both sides are sums over them.
    """
    kwargs = dict(kwargs or {})
    rng = begun(f, args, kwargs, seed, comm)
    problem = make_problem(f, args, kwargs, reference, wrt, rng, comm)
    tolerance = tolerances(args, rtol, None)
    direction = {i: random_like(args[i], rng) for i in problem.active}
    found = reverse_gradients(f, args, kwargs, problem, gradient, tolerance)
    reverse = problem.total(sum(inner(found[i], u) for i, u in direction.items()))
    if gradient is None:
        result = DotProduct(tangent_product(f, args, kwargs, problem, direction), reverse, "forward mode")
    else:
        d = derivative(problem, direction)
        result = DotProduct(d.value, reverse, d.method)
    if not result.error <= tolerance[0]:
        raise GradientCheckError(
            f"<v, J u> = {result.forward:.12g} by {result.method}, and <J* v, u> = {reverse:.12g}: "
            f"relative error {result.error:.3g}, allowed {tolerance[0]:.3g}",
            result,
        )
    return result


@dataclass(frozen=True)
class Taylor:
    """Steps, the remainders after the linear term, and the power of the step with which they shrink."""

    steps: tuple[float, ...]
    remainders: tuple[float, ...]
    order: float

    def __str__(self) -> str:
        rows = [(f"{h:.3g}", f"{r:.6g}") for h, r in zip(self.steps, self.remainders, strict=True)]
        return table(("step", "remainder"), rows) + f"\norder {self.order:.3f}"


def taylor_test(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    wrt: Sequence[int | str] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    gradient: Gradient | None = None,
    steps: Sequence[float] = (1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5),
    least_order: float = 1.9,
    seed: int = 0,
    comm: Any = None,
) -> Taylor:
    """Check that ``L(x + h u) - L(x) - h <g, u>`` shrinks as ``h**2``: with a wrong gradient it shrinks as
    ``h``.

    The order is infinite where the remainder is nothing but rounding, as for a linear function. Of a function that
    communicates, all ranks of ``comm`` call the test together, and all is summed over them.
    """
    kwargs = dict(kwargs or {})
    rng = begun(f, args, kwargs, seed, comm)
    problem = make_problem(f, args, kwargs, reference, wrt, rng, comm)
    direction = {i: random_like(args[i], rng) for i in problem.active}
    found = reverse_gradients(f, args, kwargs, problem, gradient, tolerances(args, None, None))
    result = _remainders(problem, direction, found, steps)
    if not result.order >= least_order:
        raise GradientCheckError(
            f"the remainder of {name_of(f)} shrinks with the power {result.order:.3f} of the step, "
            f"not {least_order}: the gradient is wrong, or the function is not smooth here\n\n{result}",
            result,
        )
    return result


def _remainders(
    problem: Problem, direction: Mapping[int, np.ndarray], found: Sequence[Any], steps: Sequence[float]
) -> Taylor:
    """Return what the linear term leaves unexplained at each step."""
    slope = problem.total(sum(inner(found[i], u) for i, u in direction.items()))
    size = problem.total(sum(_size(found[i], u) for i, u in direction.items()))
    start, rounding = problem.scalar(problem.args)
    precision = max(float(np.finfo(np.asarray(found[i]).dtype).eps) for i in problem.active)
    remainders, noise = [], []
    for h in steps:
        value, _ = problem.scalar(problem.moved(h, direction))
        remainders.append(abs(value.real - start.real - h * slope))
        noise.append(20 * rounding + 20 * precision * h * size)
    return Taylor(tuple(steps), tuple(remainders), _order(steps, remainders, noise))


def _size(g: Any, u: np.ndarray) -> float:
    return float(np.sum(np.abs(np.asarray(g)).astype(np.float64) * np.abs(u)))


def _order(steps: Sequence[float], remainders: Sequence[float], noise: Sequence[float]) -> float:
    """The slope of log remainder over log step, from the three smallest steps above rounding."""
    kept = [(h, r) for h, r, n in zip(steps, remainders, noise, strict=True) if not r <= n]
    if any(math.isnan(r) for _, r in kept):
        return math.nan
    if len(kept) < 2:
        return math.inf if not kept else 0.0 if kept[0][0] == min(steps) else math.inf
    x, y = np.log([h for h, _ in kept[-3:]]), np.log([r for _, r in kept[-3:]])
    return float(np.polyfit(x, y, 1)[0])
