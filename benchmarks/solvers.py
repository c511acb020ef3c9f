"""Solvers beside SciPy's, and beside diffrax, optimistix and lineax: time and error of a gradient.

``python -m benchmarks.solvers --reps 5 --out benchmarks/results``

One thread, calls of both sides interleaved, medians of value and gradient in one call, after compilation. Both sides
have the same tolerances; SciPy's time is that of its value alone. The error of a gradient is relative, against the same
problem solved by the other side with tolerances of 1e-13.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.clock import limit_threads, medians
from benchmarks.tables import options_of, publish

EXACT = 1e-13


@dataclass(frozen=True)
class Problem:
    """A problem: each side maps a tolerance to a function of the arrays ``given``, whose gradient is timed."""

    name: str
    tol: float
    given: tuple[Any, ...]
    own: Callable[[float], Callable]
    theirs: Callable[[float], Callable]
    scipy: Callable[[], Any]


# -- initial value problems: right sides in NumPy or JAX, by the library
def lotka_volterra(np: Any) -> Callable:
    return lambda t, y, p: np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])


def lorenz(np: Any) -> Callable:
    return lambda t, y, p: np.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


def pendulums(np: Any) -> Callable:
    def slope(t: Any, y: Any, p: Any) -> Any:
        n = y.shape[0] // 2
        q, v = y[:n], y[n:]
        pull = np.concatenate([q[1:], q[-1:]]) - 2.0 * q + np.concatenate([q[:1], q[:-1]])
        return np.concatenate([v, p[0] * pull - np.sin(q) - p[1] * v])

    return slope


def robertson(np: Any) -> Callable:
    def slope(t: Any, y: Any, p: Any) -> Any:
        a, b, c = p[0] * y[0], p[1] * y[1] ** 2, p[2] * y[1] * y[2]
        return np.stack([c - a, a - b - c, b])

    return slope


def initial_value(
    name: str,
    slope: Callable,
    y0: Sequence[float],
    p: Sequence[float],
    end: float,
    tol: float,
    method: str,
    solver: str,
) -> Problem:
    """The sum of the last state with weights, by the first state and by the parameters."""
    import diffrax
    import jax.numpy as jnp
    import numpy as np
    import scipy.integrate

    import sdgrad

    weights, given = np.linspace(1.0, 2.0, len(y0)), (np.array(y0), np.array(p))
    f, there = slope(np), slope(jnp)

    def own(tol: float) -> Callable:
        def total(y0: Any, p: Any) -> Any:
            found = sdgrad.solve_ivp(
                lambda t, y: f(t, y, p), (0.0, end), y0, method, rtol=tol, atol=tol, max_steps=100_000
            )
            return np.sum(weights * found.y[:, -1])

        return total

    def theirs(tol: float) -> Callable:
        term, steps = diffrax.ODETerm(there), diffrax.PIDController(rtol=tol, atol=tol)

        def total(y0: Any, p: Any) -> Any:
            found = diffrax.diffeqsolve(
                term, getattr(diffrax, solver)(), 0.0, end, None, y0, p, stepsize_controller=steps, max_steps=100_000
            )
            return jnp.sum(weights * found.ys[-1])

        return total

    def scipy_value() -> Any:
        return scipy.integrate.solve_ivp(f, (0.0, end), given[0], method, args=given[1:], rtol=tol, atol=tol).y[:, -1]

    return Problem(f"{name}, {method} / {solver}", tol, given, own, theirs, scipy_value)


# -- equations
def equation(name: str, n: int) -> Problem:
    """The sum of a solution with weights, by the right side."""
    import jax.numpy as jnp
    import numpy as np
    import optimistix
    import scipy.optimize

    import sdgrad

    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n)) / (4.0 * n**0.5)
    weights, given = np.linspace(1.0, 2.0, n), (rng.uniform(-1.0, 1.0, n),)
    start = np.zeros(n)

    def residual(np: Any) -> Callable:
        return lambda x, a: x + 0.3 * np.sin(A @ x) - a

    def contraction(np: Any) -> Callable:
        return lambda x, a: np.tanh(A @ x + a)

    def cost(np: Any) -> Callable:
        return lambda x, a: 0.5 * np.sum((x - a) ** 2) + np.sum(np.log(np.cosh(A @ x)))

    newton, picard, bfgs = optimistix.Newton, optimistix.FixedPointIteration, optimistix.BFGS
    of, solve, search, method, scipy_value = {
        "root": (residual, "root", optimistix.root_find, newton, lambda f, a: scipy.optimize.root(f, start, a).x),
        "fixed point": (contraction, "fixed_point", optimistix.fixed_point, picard,
                        lambda f, a: scipy.optimize.fixed_point(f, start, a)),
        "minimum": (cost, "minimize", optimistix.minimise, bfgs, lambda f, a: scipy.optimize.minimize(f, start, a).x),
    }[name]  # fmt: skip

    def own(tol: float) -> Callable:
        f = of(np)
        return lambda a: np.sum(weights * getattr(sdgrad, solve)(f, start, args=(a,), tol=tol))

    def theirs(tol: float) -> Callable:
        f = of(jnp)
        return lambda a: jnp.sum(weights * search(f, method(tol, tol), start, a, max_steps=10_000).value)

    return Problem(f"{name}, {n} unknowns", 1e-10, given, own, theirs, lambda: scipy_value(of(np), given))


def diffusion(side: int) -> Problem:
    """Conjugate gradients for a diffusion problem, by the right side and the coefficient."""
    import jax.numpy as jnp
    import lineax
    import numpy as np
    import scipy.sparse.linalg

    import sdgrad

    rng = np.random.default_rng(0)
    given = (rng.standard_normal(side * side), np.array(0.7))
    weights = rng.standard_normal(side * side)

    def product(np: Any) -> Callable:
        def of(x: Any, k: Any) -> Any:
            u = np.reshape(x, (side, side))
            near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            return np.reshape(u + k * (4.0 * u - near), -1)

        return of

    def own(tol: float) -> Callable:
        return lambda b, k: np.sum(weights * sdgrad.linear_solve(product(np), b, (k,), method="cg", tol=tol))

    def theirs(tol: float) -> Callable:
        def total(b: Any, k: Any) -> Any:
            of = lineax.FunctionLinearOperator(
                lambda x: product(jnp)(x, k), b, [lineax.symmetric_tag, lineax.positive_semidefinite_tag]
            )
            return jnp.sum(weights * lineax.linear_solve(of, b, lineax.CG(tol, tol)).value)

        return total

    def scipy_value() -> Any:
        n = side * side
        of = scipy.sparse.linalg.LinearOperator((n, n), lambda x: product(np)(x, 0.7))
        return scipy.sparse.linalg.cg(of, given[0], rtol=1e-10)[0]

    return Problem(f"cg, {side * side:,} unknowns", 1e-10, given, own, theirs, scipy_value)


def problems() -> Sequence[Callable[[], Problem]]:
    """All problems; they are made one after another."""
    rates, chain = [1.1, 0.4, 0.4, 0.1], [*[0.1 * (k % 7) for k in range(100)], *[0.0] * 100]
    return (
        lambda: initial_value("Lotka-Volterra", lotka_volterra, [10.0, 5.0], rates, 20.0, 1e-8, "RK45", "Dopri5"),
        lambda: initial_value("Lotka-Volterra", lotka_volterra, [10.0, 5.0], rates, 20.0, 1e-10, "DOP853", "Dopri8"),
        lambda: initial_value("Lorenz", lorenz, [1.0, 1.0, 1.0], [10.0, 28.0, 8 / 3], 3.0, 1e-8, "RK45", "Dopri5"),
        lambda: initial_value("100 pendulums", pendulums, chain, [1.0, 0.1], 20.0, 1e-8, "RK45", "Dopri5"),
        *(
            lambda m=m: initial_value(
                "Robertson", robertson, [1.0, 0.0, 0.0], [0.04, 3e7, 1e4], 100.0, 1e-7, m, "Kvaerno5"
            )
            for m in ("Radau", "BDF")
        ),
        *(lambda n=n, kind=kind: equation(kind, n) for kind in ("root", "fixed point", "minimum") for n in (20, 200)),
        lambda: diffusion(100),
    )


def measure(problem: Problem, reps: int) -> dict[str, Any]:
    """Milliseconds and errors of both sides."""
    import jax
    import numpy as np

    import sdgrad

    wrt = tuple(range(len(problem.given)))
    there = tuple(map(jax.device_put, problem.given))
    own = sdgrad.value_and_grad(problem.own(problem.tol), wrt=wrt)
    theirs, exact = (jax.jit(jax.value_and_grad(problem.theirs(tol), wrt)) for tol in (problem.tol, EXACT))

    def gradient(found: tuple) -> Any:
        return np.concatenate([np.ravel(np.asarray(g)) for g in found[1]])

    wanted = gradient(exact(*there))
    errors: Mapping[str, float] = {
        f"{side} error": float(np.max(np.abs(gradient(found) - wanted)) / np.max(np.abs(wanted)))
        for side, found in (("sdgrad", own(*problem.given)), ("theirs", theirs(*there)))
    }
    calls = {
        "SciPy's value": problem.scipy,
        "sdgrad": lambda: own(*problem.given),
        "theirs": lambda: jax.block_until_ready(theirs(*there)),
    }
    return {"name": problem.name, "tol": problem.tol, **errors, **{n: 1e3 * t for n, t in medians(calls, reps).items()}}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Worst first, by the time beside the others'."""
    head = (
        "| problem | tolerance | SciPy's value, ms | gradient, ms | theirs, ms | gradient / theirs | error | theirs |"
    )
    lines = [head, "|---|" + "---:|" * 7]
    for r in sorted(rows, key=lambda r: -r["sdgrad"] / r["theirs"]):
        times = " | ".join(f"{r[n]:.3g}" for n in ("SciPy's value", "sdgrad", "theirs"))
        errors = " | ".join(f"{r[n]:.1e}" for n in ("sdgrad error", "theirs error"))
        lines.append(f"| {r['name']} | {r['tol']:.0e} | {times} | {r['sdgrad'] / r['theirs']:.2f} | {errors} |")
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    options = options_of("solvers", __doc__, "problems", 5, given)
    limit_threads(1)
    import jax

    jax.config.update("jax_enable_x64", True)
    made = (make() for make in problems())
    rows = []
    for problem in made:
        if options.only in problem.name:
            rows.append(measure(problem, options.reps))
            print(rows[-1], file=sys.stderr, flush=True)
    publish("solvers", __doc__, rows, table(rows), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
