"""One engine and one kernel in a process of their own, which does what it is told: a request and a reply are a line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.clock import enough, limit_threads, peak_memory, seconds

if TYPE_CHECKING:
    from benchmarks.engines import Engine

SETTLE = 0.1
"""Seconds before a sample: threads of the engine that ran before may look for work for a while, on the same cores."""


class Worker:
    """The requests, as methods."""

    def __init__(self, made: Engine) -> None:
        self.made = made
        self.calls: dict[str, Callable[[], Any]] = {"forward": self.made.forward, "gradient": self.made.gradient}
        self.times: dict[str, int] = {}

    def gradient(self, results: str) -> dict[str, Any]:
        """Seconds to the first gradient, and what it takes of memory; value and gradients are left in a file."""
        import numpy as np

        start = time.perf_counter()
        self.made.build_gradient()
        if self.made.compiles_when_called:
            self.made.gradient()
        built = time.perf_counter() - start
        kept: list[Any] = []
        memory = peak_memory(lambda: kept.append(self.made.gradient()))
        first = built + seconds(self.made.gradient)
        value, gradients = kept[0]
        named = {f"of_{n}": a for n, a in self.made.arrays(gradients).items()}
        if value is not None:
            named["value"] = np.real(np.asarray(value)).reshape(-1)
        np.savez(results, **named)
        return {"first": first, "memory": memory, "preparation": self.made.preparation}

    def forward(self) -> dict[str, Any]:
        """The value, and the seconds to it."""
        import numpy as np

        start = time.perf_counter()
        self.made.build_forward()
        value = np.real(np.asarray(self.made.forward())).reshape(-1).tolist()
        return {"first": time.perf_counter() - start, "value": value}

    def time(self, what: str) -> dict[str, Any]:
        """Seconds of one call, the mean of as many as a sample has."""
        call = self.calls[what]
        if what not in self.times:
            self.times[what] = enough(call)
        time.sleep(SETTLE)
        seconds(call, self.times[what])  # its own threads, caches and cores are awake again
        return {"seconds": seconds(call, self.times[what])}


def made(engine: str, kernel: str, size: str) -> Engine:
    import numpy as np

    from benchmarks.engines import ENGINES
    from benchmarks.kernels import load

    found = load(kernel)
    return ENGINES[engine](found, found.inputs(found.sizes[size], np.random.default_rng(0)))


def serve(made: Callable[[str, str, str], Engine]) -> None:
    """Answer requests about an engine with a kernel of a size, as the command says."""
    engine, kernel, size, threads, folder = sys.argv[1:]
    limit_threads(int(threads))
    os.chdir(folder)  # DaCe builds there
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print is no reply
    os.environ["SDGRAD_CACHE_DIR"] = str(Path(folder) / "cache")
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            worker = worker or Worker(made(engine, kernel, size))
            reply = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # noqa: BLE001 (an engine may refuse a kernel in many ways)
            reply = {"error": f"{type(error).__name__}: {str(error).strip()}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    serve(made)
