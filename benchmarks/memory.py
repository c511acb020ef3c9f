"""Gradients of simulations within limits of memory, beside JAX's with checkpoints by hand, and Equinox's.

``python -m benchmarks.memory --steps 1000 --size 512 --reps 3 --out benchmarks/results``

Two programs whose tapes are long, viscous Burgers' equation and Gray and Scott's: with everything kept, within 10% and
1% of that, and as little as JAX's loops take that are checkpointed at two levels by hand, or Equinox's. One thread,
calls interleaved, medians; the gradients are compared first, and memory is that by which the process grows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.clock import limit_threads, medians, peak_memory

NAMES = "burgers", "gray_scott"
SHARES = ("10%", "1%")
STATES = 64  # checkpoints of Equinox's loop


def in_jax(name: str, steps: int, how: str) -> Callable:
    """JAX's gradient of a simulation: with everything kept, with checkpoints at two levels by hand, or Equinox's."""
    import equinox.internal as eqxi
    import jax
    import jax.numpy as jnp
    import numpy as np

    from benchmarks.simulations import STEPS

    def body(state, _):
        return STEPS[name](*state, jnp), None

    def nested(state):
        inner = next(n for n in range(int(steps**0.5), 0, -1) if steps % n == 0)
        part = jax.checkpoint(lambda s, _: jax.lax.scan(jax.checkpoint(body), s, None, length=inner))
        return jax.lax.scan(part, state, None, length=steps // inner)[0]

    def online(state):
        return eqxi.while_loop(
            lambda s: s[0] < steps,
            lambda s: (s[0] + 1, body(s[1], None)[0]),
            (0, state),
            kind="checkpointed",
            checkpoints=STATES,
            max_steps=steps,
        )[1]

    def kept(state):
        return jax.lax.scan(body, state, None, length=steps)[0]

    run = {"all": kept, "nested": nested, "equinox": online}[how]
    gradient = jax.jit(jax.grad(lambda u, v: sum(jnp.sum(q * q) for q in run((u, v))), (0, 1)))
    return lambda u, v: [np.asarray(g) for g in gradient(u, v)]


@dataclass(frozen=True)
class Row:
    """One way to a gradient: seconds, and bytes."""

    name: str
    seconds: float
    bytes: int


def measure(name: str, size: int, steps: int, reps: int) -> list[Row]:
    """Measure all ways to one gradient.

    :raises AssertionError: they do not agree.
    """
    import jax
    import numpy as np

    import sdgrad
    from benchmarks.simulations import PROGRAMS

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    u, v = (0.5 + 0.1 * rng.random((size, size)) for _ in range(2))
    f, wrt = PROGRAMS[name], ("u", "v")
    calls: dict[str, Callable[[], Any]] = {}
    peaks: dict[str, int] = {}

    def add(label: str, gradient: Callable[[], Any]) -> None:
        """Note what a call takes, after the first one."""
        try:
            found = gradient()
        except sdgrad.errors.MemoryLimitError as error:
            print(f"{name}: {label} is refused: {error.least / 1e6:.0f} MB at least", flush=True)
            return
        if calls:
            for a, b in zip(found, wanted[0], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * float(np.max(np.abs(b))))
        else:
            wanted.append(found)
        sdgrad.free_memory()
        calls[label], peaks[label] = gradient, peak_memory(gradient) or 0
        print(f"{name}: {label} takes {peaks[label] / 1e6:.0f} MB", flush=True)

    def ours(limit: int | str | None, **more: Any) -> Callable[[], Any]:
        made = sdgrad.grad(f, wrt, memory_limit=limit, **more)
        return lambda: made(u, v, steps)

    wanted: list[Any] = []
    add("everything kept", ours(None) if steps * size * size < 2e7 else ours("100%"))
    for share in SHARES:
        add(share, ours(share))
    add("1%, and a disk", ours("1%", disk_limit="20GiB"))
    for how in ("nested", "equinox"):
        theirs = in_jax(name, steps, how)
        add(f"JAX, {how}", lambda theirs=theirs: theirs(u, v))
        add(f"as much as JAX, {how}", ours(peaks[f"JAX, {how}"]))
    times = medians(calls, reps)
    return [Row(label, times[label], peaks[label]) for label in calls]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| | MB | of everything | s | times as long |", "|---|---:|---:|---:|---:|"]
    for r in rows:
        share, ratio = r.bytes / rows[0].bytes, r.seconds / rows[0].seconds
        lines.append(f"| {r.name} | {r.bytes / 1e6:.0f} | {share:.1%} | {r.seconds:.2f} | {ratio:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--only", choices=NAMES, nargs="*", default=NAMES, help="programs")
    parser.add_argument("--out", type=Path, help="a folder for the table")
    options = parser.parse_args(arguments)
    limit_threads(1)
    texts = []
    for name in options.only:
        rows = measure(name, options.size, options.steps, options.reps)
        texts.append(f"## {name}\n\n{table(rows)}")
        print(texts[-1], flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        size = f"{options.size} x {options.size}, {options.steps} steps"
        head = f"# Within limits of memory\n\nGrids of {size}. One thread, {options.reps} repetitions.\n\n"
        (options.out / "memory.md").write_text(head + "\n\n".join(texts) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
