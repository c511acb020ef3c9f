"""What a call costs beside its arithmetic: gradients of arrays of three numbers, by sdgrad and by JAX.

``python -m benchmarks.overhead``, one thread, calls of all interleaved; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.clock import limit_threads

CALLS, ROUNDS = 2000, 5
TARGET = Path(__file__).parent / "results" / "overhead.md"


def main() -> None:
    limit_threads(1)
    import jax
    import jax.numpy as jnp
    import numpy as np

    import sdgrad

    jax.config.update("jax_enable_x64", True)

    def weighted(x, w):
        return np.sum(np.sin(x) * w)

    def of_jax(x, w):
        return jnp.sum(jnp.sin(x) * w)

    x, w = np.linspace(0.0, 1.0, 3), np.ones(3)
    there = jnp.asarray(x), jnp.asarray(w)
    ours = sdgrad.value_and_grad(weighted, wrt=("x", "w"))
    theirs = jax.jit(jax.value_and_grad(of_jax, argnums=(0, 1)))
    for mine, own in zip(ours(x, w)[1], theirs(x, w)[1], strict=True):
        np.testing.assert_allclose(mine, own, rtol=1e-12)
    calls: dict[str, Callable] = {
        "sdgrad": lambda: ours(x, w),
        "JAX, its own arrays": lambda: jax.block_until_ready(theirs(*there)),
        "JAX, NumPy arrays": lambda: jax.block_until_ready(theirs(x, w)),
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(_median(call))
    lines = ["| | microseconds of a call |", "|---|---|"]
    lines += [f"| {name} | {statistics.median(each):.1f} |" for name, each in found.items()]
    print("\n".join(lines))
    TARGET.write_text(f"# Call overhead\n\n{__doc__.strip()}\n\n" + "\n".join(lines) + "\n")


def _median(call: Callable) -> float:
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


if __name__ == "__main__":
    main()
