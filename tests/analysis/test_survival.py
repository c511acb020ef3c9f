"""What is overwritten, and when: accesses and time as integer sets."""

import inspect
import time

import numpy as np
import pytest

from benchmarks.kernels import load
from sdgrad.analysis.paths import nodes_with_paths
from sdgrad.analysis.survival import Memory
from sdgrad.program.tree import Leaf, Program
from sdgrad.specialize.signature import Signature

X = np.linspace(0.1, 1.0, 8)


def program_of(function, *args) -> Program:
    names = list(inspect.signature(function).parameters)
    return Signature.parse(function, dict(zip(names, args, strict=True))).program


def lost_loads(function, *args) -> set[str]:
    """The loads of a function's argument ``A`` that something overwrites later, as text."""
    program = program_of(function, *args)
    memory = Memory.of(program)
    return {
        str(load).partition(" = ")[2]
        for path, node in nodes_with_paths(program.body)
        if isinstance(node, Leaf)
        for load in node.loads
        if load.container == "A" and not memory.survives(load, node, path)
    }


def forwards(A):
    for i in range(1, 8):
        A[i] = A[i] + A[i - 1]
    return np.sum(A)


def backwards(A):
    for i in range(6, -1, -1):
        A[i] = A[i] + A[i + 1]
    return np.sum(A)


def ahead(A):
    for i in range(7):
        A[i] = A[i] + A[i + 1]
    return np.sum(A)


def every_other(A):
    for i in range(0, 7, 2):
        A[i] = A[i] * A[i + 1]
    return np.sum(A)


def two_sweeps(A):
    for _ in range(2):
        for i in range(1, 8):
            A[i] = A[i] + A[i - 1]
    return np.sum(A)


def triangle(A):
    for i in range(8):
        for j in range(i):
            A[i] = A[i] * A[j]
    return np.sum(A)


def upper_half(A):
    for i in range(4):
        A[i + 4] = A[i] * 2.0
    return np.sum(A)


def pointers(A, index):
    for i in range(8):
        A[index[i]] = A[index[i]] * A[i]
    return np.sum(A)


def until(A):
    k = 0
    while A[k] < 0.9:
        A[k + 1] = A[k + 1] * A[k]
        k += 1
    return np.sum(A)


INDEX = np.arange(8)
CASES = [
    (forwards, (X,), {"A[i]"}),
    (backwards, (X,), {"A[i]"}),
    (ahead, (X,), {"A[i]", "A[i + 1]"}),
    (every_other, (X,), {"A[i]"}),
    (two_sweeps, (X,), {"A[i]", "A[i - 1]"}),
    (triangle, (X,), {"A[i]"}),
    (upper_half, (X,), set()),
]


@pytest.mark.parametrize(("function", "args", "lost"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_reads_that_a_later_write_destroys(function, args, lost):
    assert lost_loads(function, *args) == lost


@pytest.mark.parametrize(("function", "args"), [(pointers, (X, INDEX)), (until, (X,))], ids=lambda v: "")
def test_what_is_not_affine_stands_for_the_whole_array(function, args):
    lost = lost_loads(function, *args)
    assert lost, "nothing is known of these indices, so that every read may be overwritten"


def test_writes_that_destroy_are_plain_data():
    program = program_of(ahead, X)
    memory = Memory.of(program)
    (path, leaf) = next((p, n) for p, n in nodes_with_paths(program.body) if isinstance(n, Leaf) and n.stores)
    load = next(x for x in leaf.loads if str(x.index[0]) == "i + 1")
    (write,) = memory.clobbers(memory.element(load, leaf, memory.places[path]))
    assert (write.path, write.container) == (path, "A")
    assert str(memory.relation(write)) == "{ [v_i] -> [e0 = v_i] : 0 <= v_i <= 6 }"


@pytest.mark.parametrize("name", ["vadv", "nbody"])
def test_large_kernels_are_analysed_in_seconds(name):
    kernel = load(name)
    args = kernel.inputs(kernel.sizes["small"], np.random.default_rng(0))
    program = program_of(kernel.numpy_version, *args)
    start = time.process_time()
    memory = Memory.of(program)
    for path, node in nodes_with_paths(program.body):
        for load_ in node.loads if isinstance(node, Leaf) else ():
            memory.survives(load_, node, path)
    assert time.process_time() - start < 2.0
