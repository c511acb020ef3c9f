"""One thread and two give the same numbers, bit by bit: nothing races, and sums have an order."""

import os
import subprocess
import sys
from pathlib import Path

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, Loop, Scope, walk

HERE = Path(__file__).parents[1]
TAGS = (("loop", "stencil"), ("loop", "map"), ("map", "inplace"), ("reduction",), ("gather",), ("matmul",))
SCRIPT = """
import sys
from dataclasses import replace

import numpy as np

from programs import select
from references import Parts, Run, engine
from sdgrad.config import config

config.machine = replace(config.machine, parallel_instructions=0)  # even the smallest map runs in threads
tags = [t.split("+") for t in sys.argv[1:]]
chosen = {p.name: p for t in tags for p in select(*t, without=("nojax",))[:3]}
with config.override(optimization_level=0):
    parts = Parts(list(chosen.values()))
    for name, program in sorted(chosen.items()):
        parts.compile(program)
        run = Run.of(program)
        for repetition in range(2):
            result, gradients = engine(run)
            arrays = [*result, *gradients.values()]
            print(name, *(np.asarray(a).tobytes().hex() for a in arrays), flush=True)
"""


def run(threads: int, tmp_path: Path, script: str = SCRIPT) -> list[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "SDGRAD_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent)])
    command = [sys.executable, "-W", "ignore", "-c", script, *("+".join(t) for t in TAGS)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line]


def test_threads_do_not_change_a_bit(tmp_path):
    one = run(1, tmp_path)
    assert len(one) >= 24
    assert one[0::2] == one[1::2], "a second call gives other numbers than the first"
    for a, b in zip(one, run(2, tmp_path), strict=True):
        if a != b:
            pytest.fail(f"{a.split()[0]} depends on the number of threads")


def waves(x):
    return np.exp(np.sin(x)) * np.tanh(x) + np.log(2.0 + x)


VECTORIZED = """
import hashlib

import numpy as np
from tests.runtime.test_threads import waves

import sdgrad

rng = np.random.default_rng(0)
for _ in range(100):
    x = rng.random(20_003)
    y, pullback = sdgrad.vjp(waves, x)
    (g,) = pullback(np.ones_like(x))
    for a in (y, g):
        print(hashlib.sha256(a.tobytes()).hexdigest())
    e, t = np.exp(np.sin(x)), np.tanh(x)
    for found, wanted in ((y, e * t + np.log(2.0 + x)), (g, e * (np.cos(x) * t + 1 - t * t) + 1 / (2.0 + x))):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
"""


def test_vectorized_functions_do_not_depend_on_the_threads(tmp_path):
    """The last numbers of a thread's share are computed by other code than those before them."""
    one, three = (run(n, tmp_path, VECTORIZED) for n in (1, 3))
    assert one == three


def triangular(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, :j] += A[j, :j] * A[i, j]
    return np.sum(A)


def of_unknown_length(A, n):
    for i in range(A.shape[0]):
        A[i, : n[i]] = 2.0 * A[i, : n[i]]
    return np.sum(A)


def of_a_sparse_matrix(A, n):
    """Each trip begins where the one before it ended."""
    total = 0.0
    for i in range(n.shape[0] - 1):
        total += np.sum(np.exp(A[0, n[i] : n[i + 1]]))
    return total


LENGTHS = np.arange(40) % 7
ENDS = np.linspace(0, 80_000, 2001).astype(int)


@pytest.mark.parametrize(
    ("function", "args", "size", "threads"),
    [
        (triangular, (), 40, False),
        (of_unknown_length, (LENGTHS,), 40, False),
        (of_unknown_length, (LENGTHS,), 160_000, True),
        (of_a_sparse_matrix, (ENDS,), 80_000, False),
        (of_a_sparse_matrix, (2 * ENDS[::1000],), 160_000, True),
    ],
)
def test_rows_of_loops_run_in_threads_only_where_they_can_be_long(function, args, size, threads):
    """A parallel region in each trip takes longer than a short row."""
    differentiated = sdgrad.value_and_grad(function, wrt=("A",))
    given = bind_arguments(function, (np.ones((40, size)), *args), {})
    signature, _, _, request = differentiated.question(given)
    program = optimize(signature.gradient(request).result.program)
    inside = [n for loop in walk(program.body) if isinstance(loop, Loop) for n in walk(loop.body)]
    maps = [n for n in inside if isinstance(n, (Leaf, Scope)) and n.params and not n.sequential]
    assert ({n.schedule for n in maps} == {dace.ScheduleType.Sequential}) is not threads


def succeeds(folder, text, seconds, **variables):
    """Run a script in a process of its own, with some variables of the environment."""
    script = folder / "script.py"
    script.write_text(text)
    environment = {**os.environ, **variables, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stderr[-2000:]


PRODUCTS = """
import numpy as np

import sdgrad
from sdgrad.specialize.signature import Signature


def plain(A, B):
    return A @ B


def left(A, B):
    return A.T @ B


def right(A, B):
    return A @ B.T


def both(A, B):
    return A.T @ B.T


def many(A, B):
    C = np.zeros((A.shape[0], A.shape[1], B.shape[2]), A.dtype)
    for i in range(A.shape[0]):
        C[i] = A[i] @ B[i]
    return C


r = np.random.default_rng(0)
for kind in (np.float32, np.float64, np.complex64, np.complex128):
    for m, n, k in ((131, 67, 71), (3, 1000, 200), (1000, 2, 333))[: 3 if kind is np.float64 else 1]:
        A = r.normal(size=(m, k)).astype(kind) + (1j * r.normal(size=(m, k)) if kind().dtype.kind == "c" else 0)
        B = r.normal(size=(k, n)).astype(kind)
        A = A.astype(kind)
        wanted = A.astype(np.complex128) @ B
        operands = {plain: (A, B), left: (A.T, B), right: (A, B.T), both: (A.T, B.T)}
        for f, (x, y) in operands.items() if m == 131 else ((plain, (A, B)),):
            given = dict(zip("AB", map(np.ascontiguousarray, (x, y))))
            signature = Signature.of(f, given)
            (found,) = (v for n, v in signature.primal()(given).items() if n == "__return")
            apart = np.abs(found - wanted).max()
            assert apart < (1e-3 if kind in (np.float32, np.complex64) else 1e-10), (f.__name__, kind, m, n, k, apart)
A, B = r.normal(size=(8, 70, 70)), r.normal(size=(8, 70, 70))
found = Signature.of(many, {"A": A, "B": B}).primal()({"A": A, "B": B})["__return"]
assert np.allclose(found, A @ B)
"""


@pytest.mark.parametrize("threads", [2, 6])
def test_products_are_shared_out(threads, tmp_path):
    """Parts of results, for every order of the operands and every kind of numbers."""
    succeeds(tmp_path, PRODUCTS, 300, OPENBLAS_NUM_THREADS=str(threads))


FACTORS = """
import numpy as np

import sdgrad
from sdgrad.runtime.libraries.blas import get_blas_threads


def factor(A):
    return np.linalg.cholesky(A)


def solved(A, B):
    return np.linalg.solve(A, B)


r, before = np.random.default_rng(0), get_blas_threads()
for kind in (np.float64, np.complex128):
    for n in (3, 150, 1300 if kind is np.float64 else 151):
        A = (r.normal(size=(n, n)) + (1j * r.normal(size=(n, n)) if kind is np.complex128 else 0)).astype(kind)
        B = A[:, : n // 2]
        assert np.allclose(sdgrad.compile_forward(solved)(A, B), np.eye(n)[:, : n // 2], atol=1e-7)
        if kind is np.float64:
            C = A @ A.T + n * np.eye(n)
            L = np.tril(sdgrad.compile_forward(factor)(C))
            assert np.allclose(L @ L.T, C)
        assert get_blas_threads() == before
"""


def test_factorizations_leave_the_number_of_threads(tmp_path):
    """Small ones run on one of OpenBLAS's threads, large ones on all."""
    succeeds(tmp_path, FACTORS, 300, OPENBLAS_NUM_THREADS="2", OMP_NUM_THREADS="2")


FORKED = """
import multiprocessing

import numpy as np

import sdgrad


def f(A, B):
    return np.sum((A @ B) ** 2) + np.sum(np.tanh(A))


A = np.ones((600, 600))
gradient = sdgrad.grad(f)


def work(_):
    return float(np.sum(gradient(A, A)))


if __name__ == "__main__":
    first = work(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(work, range(4)).get(timeout=60) == [first] * 4
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_forked_processes(tmp_path):
    """OpenMP's threads stay behind in a fork; nobody waits for them."""
    succeeds(tmp_path, FORKED, 200, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
