"""Second derivatives beside JAX: Hessian-vector products and Hessians of ten objectives.

``python -m benchmarks.second_order --reps 7 --out benchmarks/results``

One thread, calls of both sides interleaved, medians. Products are forward over reverse on both sides (``sdgrad.hvp``;
``jax.jvp`` of ``jax.grad``, compiled), and so are Hessians (``sdgrad.hessian``; ``jax.hessian``, compiled). Each
objective is one text: NumPy's and JAX's functions have the same names. Results are compared first.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.clock import limit_threads, medians
from benchmarks.tables import options_of, publish

HEAD = {
    "numpy": "import numpy as np\nfrom scipy.special import logsumexp\n",
    "jax": "import jax.numpy as np\nfrom jax.scipy.special import logsumexp\n",
}


@dataclass(frozen=True)
class Objective:
    """A body of ``f(x)`` that returns a number, and the sizes of ``x`` for a product and for a Hessian."""

    name: str
    body: str
    product: tuple[int, ...]
    hessian: tuple[int, ...]


OBJECTIVES = (
    Objective(
        "rosenbrock", "return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)", (10**5,), (300,)
    ),
    Objective(
        "logistic regression",
        "z = DATA[:, :x.shape[0]] @ x\nreturn np.mean(np.logaddexp(0.0, z) - z * LABELS) + 0.01 * np.sum(x ** 2)",
        (200,),
        (100,),
    ),
    Objective("log-sum-exp", "return logsumexp(np.sin(x) * x)", (10**5,), (300,)),
    Objective(
        "lennard-jones",
        "d = x[:, None, :] - x[None, :, :]\nr = np.sum(d * d, axis=2) + np.eye(x.shape[0]) * 1e3\n"
        "return np.sum(1.0 / r ** 6 - 1.0 / r ** 3)",
        (200, 3),
        (30, 3),
    ),
    Objective(
        "neural network",
        "h = np.tanh(DATA[:200, :20] @ x[:, :20].T)\nreturn np.mean((h @ x[:, 20] - LABELS[:200]) ** 2)",
        (100, 21),
        (10, 21),
    ),
    Objective(
        "gaussian process",
        "k = np.exp(x[0]) * np.exp(-(GRID[:, None] - GRID[None, :]) ** 2 * np.exp(x[1])) + np.exp(x[2]) * np.eye(150)\n"
        "c = np.linalg.cholesky(k)\nw = np.linalg.solve(k, np.sin(9.0 * GRID))\n"
        "return 0.5 * np.sum(np.sin(9.0 * GRID) * w) + np.sum(np.log(np.diag(c)))",
        (3,),
        (3,),
    ),
    Objective(
        "heat equation",
        "u = x\nfor _ in range(10):\n"
        "    u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)) * (1.0 + u ** 2)\nreturn np.sum((u - 0.3) ** 2)",
        (10**4,),
        (100,),
    ),
    Objective(
        "minimal surface",
        "a, b = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]\nreturn np.sum(np.sqrt(1.0 + a * a + b * b))",
        (300, 300),
        (16, 16),
    ),
    Objective(
        "mixture of gaussians",
        "d = DATA[:, None, :5] - x[None, :, :5]\n"
        "return -np.sum(logsumexp(x[:, 5] - 0.5 * np.sum(d * d * np.exp(x[:, 6:]), axis=2), axis=1))",
        (20, 11),
        (8, 11),
    ),
    Objective(
        "attention",
        "s = x @ x.T / 8.0\np = np.exp(s - np.max(s, axis=1)[:, None])\n"
        "return np.sum(((p / np.sum(p, axis=1)[:, None]) @ x) ** 2)",
        (128, 64),
        (16, 8),
    ),
)


def function(objective: Objective, library: str) -> Callable[[Any], Any]:
    """The objective in NumPy or in JAX."""
    import numpy as np

    rng = np.random.default_rng(1)
    lines = "\n".join(f"    {line}" for line in objective.body.splitlines())
    source = f"{HEAD[library]}\ndef f(x):\n{lines}\n"
    file = f"<{library} {objective.name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    data = {"DATA": rng.standard_normal((1000, 200)), "LABELS": rng.integers(0, 2, 1000) * 1.0}
    found: dict[str, Any] = {**data, "GRID": np.linspace(0.0, 1.0, 150), "__name__": file}
    exec(compile(source, file, "exec"), found)  # noqa: S102
    return found["f"]


def versions(objective: Objective, what: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed, by name: ours, and JAX's."""
    import jax
    import numpy as np

    import sdgrad

    rng = np.random.default_rng(0)
    shape = objective.product if what == "product" else objective.hessian
    x, v = rng.uniform(-1.0, 1.0, shape), rng.standard_normal(shape)
    own, theirs = function(objective, "numpy"), function(objective, "jax")
    there = jax.device_put(x), jax.device_put(v)
    if what == "product":
        ours = lambda: sdgrad.hvp(own, (x,), (v,))  # noqa: E731
        compiled = jax.jit(lambda x, v: jax.jvp(jax.grad(theirs), (x,), (v,))[1])
    else:
        hessian = sdgrad.hessian(own)
        ours = lambda: hessian(x)  # noqa: E731
        compiled = jax.jit(lambda x, v: jax.hessian(theirs)(x))
    right = np.asarray(compiled(*there))
    np.testing.assert_allclose(ours(), right, rtol=1e-7, atol=1e-9 * np.abs(right).max())
    yield "sdgrad", ours
    yield "JAX", lambda: jax.block_until_ready(compiled(*there))


def measure(objective: Objective, what: str, reps: int) -> dict[str, Any]:
    """Milliseconds of each side, and what went wrong."""
    size = objective.product if what == "product" else objective.hessian
    row: dict[str, Any] = {"name": objective.name, "what": what, "size": "x".join(map(str, size))}
    calls: dict[str, Callable[[], Any]] = {}
    try:
        for name, call in versions(objective, what):
            calls[name] = call
    except Exception as error:  # noqa: BLE001 (the other one still has a time)
        row["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return row | {name: 1e3 * t for name, t in medians(calls, reps).items()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Worst first, by the times of JAX's that ours is as fast as."""
    ratios = {id(r): r["JAX"] / r["sdgrad"] for r in rows if "JAX" in r and "sdgrad" in r}
    lines = ["| objective | | size of x | sdgrad, ms | JAX, ms | JAX / sdgrad |", "|---|---|---:|---:|---:|---:|"]
    for row in sorted(rows, key=lambda r: ratios.get(id(r), 0.0)):
        times = [f"{row[n]:.3g}" if n in row else "-" for n in ("sdgrad", "JAX")]
        ratio = f"{ratios[id(row)]:.2f}" if id(row) in ratios else row.get("error", "-")
        lines.append(f"| {row['name']} | {row['what']} | {row['size']} | {' | '.join(times)} | {ratio} |")
    for what in ("product", "Hessian"):
        own = [ratios[id(r)] for r in rows if r["what"] == what and id(r) in ratios]
        if own:
            lines.append(f"\nGeometric mean of {len(own)} {what}s: {geometric_mean(own):.2f}")
    return "\n".join(lines)


def geometric_mean(numbers: Sequence[float]) -> float:
    import numpy as np

    return float(np.exp(np.mean(np.log(numbers))))


def main(given: Sequence[str] | None = None) -> int:
    options = options_of("second_order", __doc__, "objectives", 7, given)
    limit_threads(1)
    import jax

    jax.config.update("jax_enable_x64", True)
    rows = []
    for objective in OBJECTIVES:
        for what in ("product", "Hessian") if options.only in objective.name else ():
            rows.append(measure(objective, what, options.reps))
            print(rows[-1], file=sys.stderr, flush=True)
    publish("second_order", __doc__, rows, table(rows), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
