"""One engine and one program in a process of their own: see :mod:`benchmarks.worker`."""

from __future__ import annotations

from benchmarks.engines import Engine
from benchmarks.worker import serve


def made(engine: str, name: str, size: str) -> Engine:
    import numpy as np

    from benchmarks.gradbench.engines import ENGINES
    from benchmarks.gradbench.program import load

    program = load(name)
    return ENGINES[engine](program, program.inputs(program.sizes[size], np.random.default_rng(0)))


if __name__ == "__main__":
    serve(made)
