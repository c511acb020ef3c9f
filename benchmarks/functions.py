"""Functions of arrays beside NumPy, SciPy and JAX: the time of a value, and of a gradient.

``python -m benchmarks.functions --reps 7 --out benchmarks/results``

One thread, calls of both sides interleaved, medians. The value is compared with NumPy's or SciPy's own function; value
and gradient in one call are compared with JAX's compiled ``value_and_grad``, which has no version of some functions.
Gradients are compared first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.clock import limit_threads, medians
from benchmarks.tables import options_of, publish

HEAD = """\
import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.special
"""
OF_JAX = """\
import jax.numpy as np
import jax.scipy
from jax.experimental.sparse import BCSR
scipy = jax.scipy
"""


@dataclass(frozen=True)
class Function:
    """A result of ``x``, which is summed with ``w``, for some sizes; ``jax`` is empty where JAX has none.

    ``make`` names what :func:`arguments` makes. JAX's version is the same text unless given.
    """

    name: str
    text: str
    make: str
    sizes: tuple[int, int]
    jax: str = "same"


FUNCTIONS = (
    Function("sort", "np.sort(x)", "vector", (10**4, 10**6)),
    Function("median", "np.median(x)", "vector", (10**4, 10**6)),
    Function("cumsum", "np.cumsum(x)", "vector", (10**4, 10**6)),
    Function("logsumexp", "scipy.special.logsumexp(x)", "vector", (10**4, 10**6)),
    Function("interp", "np.interp(x, GRID, VALUES)", "vector", (10**3, 10**5)),
    Function("convolve", "np.convolve(x, KERNEL, 'same')", "vector", (10**3, 10**5)),
    Function("cubic spline", "scipy.interpolate.CubicSpline(GRID, VALUES)(x)", "vector", (10**3, 10**5), ""),
    Function("rfft2", "np.abs(np.fft.rfft2(x))", "square", (128, 1024)),
    Function("gaussian_filter", "scipy.ndimage.gaussian_filter(x, 2.0)", "square", (128, 1024), ""),
    Function("svd", "np.linalg.svd(x, compute_uv=False)", "square", (100, 500)),
    Function("svd, vectors", "np.abs(np.linalg.svd(x, full_matrices=False)[0])", "tall", (100, 500)),
    Function("eigh", "np.abs(np.linalg.eigh(x + x.T)[1])", "square", (100, 500)),
    Function("qr", "np.abs(np.linalg.qr(x)[0])", "square", (200, 1000)),
    Function("cholesky", "np.linalg.cholesky(x @ x.T + BIG * np.eye(n))", "square", (100, 500)),
    Function("solve", "np.linalg.solve(x, x[0])", "regular", (100, 500)),
    Function("inv", "np.linalg.inv(x)", "regular", (100, 500)),
    Function("slogdet", "np.linalg.slogdet(x)[1]", "regular", (100, 500)),
    Function("lstsq", "np.linalg.lstsq(x, x[:, 0] ** 2)[0]", "tall", (100, 300)),
    Function("pinv", "np.linalg.pinv(x)", "tall", (100, 300)),
    Function("expm", "scipy.linalg.expm(x)", "small", (30, 100)),
    Function("sqrtm", "scipy.linalg.sqrtm(x)", "regular", (30, 100), ""),
    Function("spmv", "SPARSE @ x", "vector", (10**4, 10**6)),
    Function(
        "spmv, entries",
        "scipy.sparse.csr_array((x, *PATTERN), shape=(n, n)) @ RIGHT",
        "entries",
        (10**4, 10**6),
        "BCSR((x, *PATTERN), shape=(n, n)) @ RIGHT",
    ),
    Function(
        "cg",
        "scipy.sparse.linalg.cg(SPARSE, x, rtol=1e-8)[0]",
        "vector",
        (10**4, 10**5),
        "jax.scipy.sparse.linalg.cg(lambda v: SPARSE @ v, x, tol=1e-8)[0]",
    ),
    Function("gammaln", "scipy.special.gammaln(x)", "positive", (10**4, 10**6)),
    Function("erf", "scipy.special.erf(x)", "vector", (10**4, 10**6)),
    Function("betainc", "scipy.special.betainc(2.5, 1.5, x)", "positive", (10**4, 10**5)),
    Function("jv", "scipy.special.jv(1.5, x)", "positive", (10**4, 10**5), ""),
)


def arguments(make: str, n: int) -> Any:
    """The array by which the gradient is taken."""
    import numpy as np

    rng = np.random.default_rng(0)
    if make == "vector":
        return rng.uniform(-1.0, 1.0, n)
    if make == "entries":
        return sparse(n).data
    if make == "positive":
        return rng.uniform(0.05, 0.95, n)
    shape = (n, n // 2) if make == "tall" else (n, n)
    x = rng.standard_normal(shape)
    return {"regular": lambda: x + 3.0 * n**0.5 * np.eye(n), "small": lambda: x / n**0.5}.get(make, lambda: x)()


def module(f: Function, n: int, library: str) -> dict[str, Any]:
    """The result, and its sum with weights, in NumPy or in JAX."""
    import linecache

    import numpy as np

    text = f.text if f.jax == "same" or library == "numpy" else f.jax
    head = HEAD if library == "numpy" else OF_JAX
    source = f"{head}\ndef result(x):\n    return {text}\n\ndef total(x, w):\n    return np.sum(w * result(x))\n"
    file = f"<{library} {f.name} {n}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    grid = np.linspace(-1.0, 1.0, 200)
    found: dict[str, Any] = {"GRID": grid, "VALUES": np.sin(3.0 * grid), "n": n, "BIG": float(n), "__name__": file}
    found["KERNEL"] = np.exp(-(np.linspace(-2.0, 2.0, 64) ** 2))
    if "SPARSE" in text or "PATTERN" in text:
        found |= with_sparse(n, library)
    exec(compile(source, file, "exec"), found)  # noqa: S102
    return found


def sparse(n: int) -> Any:
    """A diffusion problem on a torus of ``n`` cells, five entries in each row, well conditioned."""
    import numpy as np
    import scipy.sparse

    side = int(n**0.5)
    found = scipy.sparse.diags_array(
        [4.5, *[-1.0] * 8], offsets=[0, 1, -1, side, -side, n - 1, 1 - n, n - side, side - n], shape=(n, n)
    ).tocsr()
    found.data *= np.random.default_rng(2).uniform(0.9, 1.0, found.nnz)
    symmetric = 0.5 * (found + found.T)
    return symmetric.tocsr()


def with_sparse(n: int, library: str) -> dict[str, Any]:
    """What the texts about sparse matrices name."""
    import numpy as np

    matrix = sparse(n)
    right = np.random.default_rng(3).standard_normal(n)
    if library == "numpy":
        return {"SPARSE": matrix, "PATTERN": (matrix.indices, matrix.indptr), "RIGHT": right}
    import jax.numpy as jnp
    from jax.experimental.sparse import BCSR

    pattern = jnp.asarray(matrix.indices), jnp.asarray(matrix.indptr)
    return {"SPARSE": BCSR((matrix.data, *pattern), shape=(n, n)), "PATTERN": pattern, "RIGHT": jnp.asarray(right)}


def versions(f: Function, n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed, by name: NumPy's value, ours, our gradient, and JAX's."""
    import jax
    import numpy as np

    import sdgrad

    x, own = arguments(f.make, n), module(f, n, "numpy")
    w = np.random.default_rng(1).uniform(0.5, 1.5, np.shape(own["result"](x)))[()]
    compiled, gradient = sdgrad.compile_forward(own["result"]), sdgrad.value_and_grad(own["total"], wrt="x")
    compiled(x), gradient(x, w)
    yield "NumPy's value", lambda: own["result"](x)
    yield "value", lambda: compiled(x)
    yield "gradient", lambda: gradient(x, w)
    if f.jax:
        theirs = jax.jit(jax.value_and_grad(module(f, n, "jax")["total"]))
        there = jax.device_put(x), jax.device_put(w)
        np.testing.assert_allclose(gradient(x, w)[1], np.asarray(theirs(*there)[1]), rtol=1e-5, atol=1e-7)
        yield "JAX's gradient", lambda: jax.block_until_ready(theirs(*there))


def measure(f: Function, n: int, reps: int) -> dict[str, Any]:
    """Milliseconds of each version, and what went wrong."""
    row: dict[str, Any] = {"name": f.name, "size": n}
    calls: dict[str, Callable[[], Any]] = {}
    try:
        for name, call in versions(f, n):
            calls[name] = call
    except Exception as error:  # noqa: BLE001 (the others still have a time)
        row["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return row | {name: 1e3 * t for name, t in medians(calls, reps).items()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Worst first, by the gradient beside JAX's, then by the value beside NumPy's."""

    def ratio(row: dict[str, Any], a: str, b: str) -> float | None:
        return row[a] / row[b] if a in row and b in row else None

    def shown(number: float | None) -> str:
        return "" if number is None else f"{number:.2f}" if number < 100 else f"{number:.0f}"

    columns = ("NumPy's value", "value", "gradient", "JAX's gradient")
    head = "| function | size | NumPy, ms | value, ms | gradient, ms | JAX's gradient, ms "
    lines = [head + "| value / NumPy | gradient / JAX |", "|---|---:|" + "---:|" * 6]
    with_ratios = [(r, ratio(r, "value", "NumPy's value"), ratio(r, "gradient", "JAX's gradient")) for r in rows]
    for row, value, gradient in sorted(with_ratios, key=lambda t: (-(t[2] or 0.0), -(t[1] or 0.0))):
        numbers = [*(row.get(c) for c in columns), value, gradient]
        lines.append(f"| {row['name']} | {row['size']:,} | {' | '.join(map(shown, numbers))} |")
    errors = [f"{r['name']} {r['size']:,}: {r['error']}" for r in rows if "error" in r]
    return "\n".join([*lines, *([""] if errors else []), *errors])


def main(given: Sequence[str] | None = None) -> int:
    options = options_of("functions", __doc__, "functions", 7, given)
    limit_threads(1)
    import jax

    jax.config.update("jax_enable_x64", True)
    rows = []
    for f in FUNCTIONS:
        for n in f.sizes if options.only in f.name else ():
            rows.append(measure(f, n, options.reps))
            print(rows[-1], file=sys.stderr, flush=True)
    publish("functions", __doc__, rows, table(rows), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
