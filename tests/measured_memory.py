"""Print as JSON what calls within limits take, counted by the allocator; run with the meter loaded."""

import ctypes
import gc
import json
import sys

import long_tapes as programs
import numpy as np

import sdgrad
from sdgrad.runtime.call import persistent_workspace

LIMITS = ("100%", "75%", "50%", "25%", "min")


def flat(found):
    """Value and gradients as one list of arrays."""
    value, gradients = found
    return [np.asarray(v) for v in (value, *(gradients if isinstance(gradients, tuple) else (gradients,)))]


def measured(meter, f):
    """Rows of a limit, the bytes allowed and taken, and the error of the results relative to those without a limit."""
    args = programs.arguments(f)
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
    whole = flat(sdgrad.value_and_grad(f, wrt)(*args))
    curve = sdgrad.memory_plan(f, *args, wrt=wrt, points=3)
    for limit in LIMITS:
        most = curve.unlimited or curve.points[0].bytes
        allowed = curve.least if limit == "min" else int(most * float(limit[:-1]) / 100)
        try:
            given = allowed if curve.unlimited is None else limit
            limited = sdgrad.value_and_grad(f, wrt, memory_limit=given)
            found = flat(limited(*args))
        except sdgrad.errors.MemoryLimitError as error:
            yield {"limit": limit, "allowed": allowed, "least": error.least}
            continue
        error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, whole, strict=True))
        del found
        gc.collect()
        sdgrad.free_memory()
        before = meter.meter_start()
        limited(*args)
        yield {"limit": limit, "allowed": allowed, "taken": meter.meter_most() - before, "error": error}


if __name__ == "__main__":
    persistent_workspace.MOST = 0  # all memory is that of a call
    loaded = ctypes.CDLL(sys.argv[1])
    loaded.meter_start.restype = loaded.meter_most.restype = ctypes.c_long
    print(json.dumps({f.__name__: list(measured(loaded, f)) for f in programs.ALL}))
