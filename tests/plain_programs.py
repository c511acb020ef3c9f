"""Print what DaCe makes of programs that have nothing to do with derivatives: ``plain_programs.py [module to import]``.

A line for each program: the hash of its graph, or the error.
"""

import importlib
import sys
import warnings

import dace
import numpy as np

if len(sys.argv) > 1:
    importlib.import_module(sys.argv[1])

N = dace.symbol("N")


@dace.program
def row_sums(A: dace.int32[4, 5], result: dace.int32[4]):
    result[:] = np.sum(A, axis=1)


@dace.program
def products(A: dace.float64[N, N], B: dace.float64[N, N]):
    return A @ B


@dace.program
def vector_products(A: dace.float64[6, 6], x: dace.float64[6]):
    return A @ x + np.dot(x, x)


@dace.program
def statistics(A: dace.float64[6, 5]):
    return np.mean(A, axis=0) + np.std(A, axis=0) + np.var(A, axis=0)


@dace.program
def deviation_by_method(A: dace.float64[6, 5]):
    return A.std() + A.mean()


@dace.program
def cumulative(A: dace.float64[6]):
    return np.cumsum(A)


@dace.program
def cumulative_by_method(A: dace.float64[6]):
    return A.cumsum()


@dace.program
def clipped(A: dace.float32[6]):
    return np.clip(A, 0.0, 1.0)


@dace.program
def clipped_by_method(A: dace.int32[6]):
    return A.clip(0, 3)


@dace.program
def shaped(A: dace.int64[6, 5]):
    return np.transpose(np.reshape(A, (5, 6))) + np.flip(A, axis=0)


@dace.program
def squeezed(A: dace.float64[1, 6]):
    return np.squeeze(A)


@dace.program
def squeezed_by_method(A: dace.float64[1, 6]):
    return A.squeeze()


@dace.program
def rounded(A: dace.float64[6]):
    return np.round(A)


@dace.program
def all_products(A: dace.int32[3, 4]):
    return np.prod(A, axis=0)


@dace.program
def determinant(A: dace.float64[3, 3]):
    return np.linalg.det(A)


@dace.program
def inverse(A: dace.float64[3, 3]):
    return np.linalg.inv(A)


@dace.program
def norm(A: dace.float64[6]):
    return np.linalg.norm(A)


@dace.program
def transformed(A: dace.complex128[8]):
    return np.fft.fft(A)


@dace.program
def tiled(A: dace.float64[3]):
    return np.tile(A, 2)


@dace.program
def sizes(A: dace.float64[3, 4]):
    return np.size(A) + np.ndim(A)


@dace.program
def hyperbolic(x: dace.float64):
    return np.sinh(x) + abs(x)


PROGRAMS = [p for p in list(globals().values()) if isinstance(p, dace.frontend.python.parser.DaceProgram)]


def told(program) -> str:
    """Return what DaCe makes of a program, as one line."""
    try:
        return program.to_sdfg(simplify=True).hash_sdfg()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for program in PROGRAMS:
        print("told", program.name, told(program))
