"""One sweep over a large matrix for all that reads or writes it: what shares one, what may not, and the results."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dace.libraries.blas import Gemv

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Loop, NodeCall, walk

jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True)
def small_matrices(monkeypatch):
    small = replace(config.machine, swept_bytes=1 << 10, swept_row=8, blas_multiplications=16)
    monkeypatch.setattr(config, "machine", small)


def atax(np, A, x):
    return np.sum((A @ x) @ A)


def both(np, A, x, y):
    return np.sum(np.sin(A @ x)) + np.sum((y @ A) * x)


def two(np, A, B, x):
    return np.sum(1.5 * A @ x + 1.2 * B @ x)


def updated(np, A, u, v, x, y):
    changed = A + np.outer(u, v)
    moved = x + 1.2 * (y @ changed)
    return np.sum(changed @ moved)


def again(np, A, x):
    """The second product has to wait for all of the first."""
    return np.sum(A @ (A @ x))


def part(np, A, x):
    B = A[1:, :-1]
    return np.sum((B @ x[:-1]) @ B)


def flipped(np, A, x):
    B = A[::-1, ::-1]
    return np.sum((B @ x) @ B)


def columns(np, A, y):
    """Rows of the transpose."""
    return np.sum((A.T @ y) @ A.T)


def chosen(np, A, x):
    y = A @ x
    return np.sum(np.where(y > 0, y, 0.1 * y) @ A) + np.sum(np.where(A > 0.5, A, 0.0) @ x)


def scaled(np, A, x, c):
    return np.sum(c[0] * (A @ x)) + np.sum(2.0 * (c[1] * x) @ A.T)


CASES = [atax, both, two, updated, part, flipped, columns, chosen, scaled, again]


def arguments(f, shape, dtype=np.float64):
    rng = np.random.default_rng(3)
    rows, cols = shape
    square = f in (again,)
    sizes = {"A": (rows, rows) if square else shape, "B": shape, "x": (rows if square else cols,), "c": (2,)}
    sizes |= {"y": (rows,), "u": (rows,), "v": (cols,)}
    names = f.__code__.co_varnames[1 : f.__code__.co_argcount]
    return names, [(rng.random(sizes[n]) - 0.3).astype(dtype) for n in names]


def numpy_version(f):
    """The function of arrays alone, as the frontend reads it."""
    import types

    names = ", ".join(f.__code__.co_varnames[1 : f.__code__.co_argcount])
    import inspect
    import linecache

    text = inspect.getsource(f).replace(f"def {f.__name__}(np, ", f"def {f.__name__}(")
    file = f"<{f.__name__} of {names}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict = {"np": np}
    exec(compile(text, file, "exec"), scope)
    found = scope[f.__name__]
    assert isinstance(found, types.FunctionType)
    return found


def swept(f, args, wrt):
    """How many products the loops of the optimised gradient have."""
    function = sdgrad.value_and_grad(f, wrt=wrt)
    signature, _, _, request = function.question(bind_arguments(function.f, tuple(args), {}))
    program = optimize(signature.gradient(request).result.program)
    loops = [n for n in walk(program.body) if isinstance(n, Loop)]
    return sum(isinstance(n, NodeCall) and isinstance(n.node, Gemv) for x in loops for n in walk(x.body))


@pytest.mark.parametrize("shape", [(64, 64), (67, 40), (9, 131), (130, 33)])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_against_jax(f, shape):
    names, args = arguments(f, shape)
    value, gradients = sdgrad.value_and_grad(numpy_version(f), wrt=names)(*args)
    argnums = tuple(range(len(args)))
    right, expected = jax.value_and_grad(lambda *a: f(jnp, *a), argnums=argnums)(*map(jnp.asarray, args))
    assert value == pytest.approx(float(right), rel=1e-12)
    for name, found, reference in zip(names, gradients, expected, strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("f", "least"), [(atax, 4), (both, 3), (two, 4), (updated, 4), (part, 4), (columns, 2)])
def test_what_shares_a_sweep(f, least):
    names, args = arguments(f, (67, 40))
    assert swept(numpy_version(f), args, names) >= least
    with config.override(without=("sweep-fusion",)):
        assert swept(numpy_version(f), args, names) == 0


def test_large_matrices_only(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, swept_bytes=1 << 22))
    names, args = arguments(atax, (67, 40))
    assert swept(numpy_version(atax), args, names) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_types(dtype):
    names, args = arguments(atax, (67, 40), dtype)
    f = numpy_version(atax_real if dtype == np.complex128 else atax)
    value, gradients = sdgrad.value_and_grad(f, wrt=names)(*args)
    with config.override(without=("sweep-fusion",)):
        right, expected = sdgrad.value_and_grad(f, wrt=names)(*args)
    assert value == pytest.approx(right, rel=1e-5)
    for found, reference in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-4)


def atax_real(np, A, x):
    return np.sum(np.real((A @ x) @ A))


def written_between(A, x):
    """The matrix changes between two products with it."""
    y = A @ x
    A += np.outer(y, x)
    z = A @ x
    A[3, :] = z[3] * x
    return np.sum(y) + np.sum(z) + np.sum(y @ A)


def in_a_loop(A, x):
    for _ in range(3):
        y = A @ x
        x = np.sin(0.01 * (y @ A))
    return np.sum(x)


@pytest.mark.parametrize("f", [written_between, in_a_loop])
def test_matrices_that_change(f):
    rng = np.random.default_rng(5)
    A, x = 0.1 * rng.random((35, 35)), rng.random(35)
    value, gradients = sdgrad.value_and_grad(f, wrt=("A", "x"))(A.copy(), x.copy())
    assert value == pytest.approx(f(A.copy(), x.copy()), rel=1e-12)
    with config.override(without=("sweep-fusion",)):
        _, expected = sdgrad.value_and_grad(f, wrt=("A", "x"))(A.copy(), x.copy())
    for found, reference, at in zip(gradients, expected, (0, 1), strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-10)
        direction = rng.random(found.shape)
        ends = [[A.copy(), x.copy()] for _ in range(2)]
        for sign, args in zip((1, -1), ends, strict=True):
            args[at] = args[at] + sign * 1e-6 * direction
        slope = (f(*ends[0]) - f(*ends[1])) / 2e-6
        assert np.sum(found * direction) == pytest.approx(slope, rel=1e-6)


def test_results_that_parts_fill_are_not_cleared():
    """Memory that is used again is full of other numbers."""
    names, args = arguments(atax, (515, 300))
    f = sdgrad.value_and_grad(numpy_version(atax), wrt=names)
    _, (first, _) = f(*args)
    kept = first.copy()
    first[:] = np.nan
    del first
    _, (second, _) = f(*args)
    np.testing.assert_array_equal(second, kept)
