"""Results that are written around the cache: which ones, and that every element arrives, wherever rows begin."""

from dataclasses import replace

import numpy as np
import pytest
from treetext import block, text
from treetext import program as tree

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.locality.nontemporal_stores import stream_results
from sdgrad.program.tree import Leaf, walk
from sdgrad.runtime.compile.nontemporal_stores import around_caches

LOOP = """\
    for (int i = 0; i < n; i += 1) {
        {
            double v = x[i];
            double streamed0;
            streamed0 = (v * v);
            y[(3 + i)] = streamed0;
        }
    }"""


@pytest.fixture(autouse=True)
def small_caches(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, last_level_cache=1 << 12, streamed_bytes=1 << 10))


def made(f, args, wrt):
    """The optimised program of a gradient."""
    function = sdgrad.value_and_grad(f, wrt=wrt)
    signature, _, _, request = function.question(bind_arguments(f, args, {}))
    return optimize(signature.gradient(request).result.program)


def streamed(program):
    return {s.container for n in walk(program.body) if isinstance(n, Leaf) for s in n.stores if s.streamed}


def squares(x, w):
    return np.sum(x * x * w)


@pytest.mark.parametrize("shape", [(256,), (300,), (3, 257), (2, 3, 300), (5, 384), (1031,)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_rows_of_any_length(shape, dtype):
    rng = np.random.default_rng(0)
    x, w = (rng.random(shape).astype(dtype) for _ in range(2))
    f = sdgrad.value_and_grad(real if np.dtype(dtype).kind == "c" else squares, wrt=("x", "w"))
    for _ in range(2):  # with memory that is used again
        _, (dx, dw) = f(x, w)
        np.testing.assert_allclose(dx, 2 * x * w if dtype != np.complex128 else 2 * x, rtol=1e-6)
        np.testing.assert_allclose(dw, x * x if dtype != np.complex128 else 2 * w, rtol=1e-6)
    if np.dtype(dtype).kind == "f":
        assert streamed(made(squares, (x, w), ("x", "w"))) == {"gradient_x", "gradient_w"}


def real(x, w):
    return np.sum(np.real(x * np.conj(x)) + np.real(w * np.conj(w)))


def test_memory_that_begins_anywhere():
    """Gradients in arrays of the user, which begin beside a line of the cache."""
    import dace

    @dace.program
    def scaled(x: dace.float64[700], y: dace.float64[700]):
        y[:] = 3 * x

    sdfg = scaled.to_sdfg(simplify=False)
    program = sdgrad.pipeline.normalize(sdfg)
    assert streamed(optimize(program)) == {"y"}
    f = sdgrad.compile_forward(tripled)
    for offset in range(9):
        memory = np.random.default_rng(offset).random(900)
        x = memory[offset : offset + 700]
        np.testing.assert_array_equal(f(x), 3 * x)


def tripled(x):
    return 3 * x


def shifted(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * x[1:]
    return np.sum(y)


def diagonal(x):
    return np.sum(x + np.tanh(x[0, 0]))


def conditional(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            y[i] = x[i] * x[i]
    return np.sum(y)


@pytest.mark.parametrize(("f", "shape"), [(shifted, (700,)), (diagonal, (20, 300)), (conditional, (700,))])
def test_against_what_is_not_streamed(f, shape):
    x = np.random.default_rng(1).random(shape)
    value, found = sdgrad.value_and_grad(f)(x)
    with config.override(without=("nontemporal-stores",)):
        right_value, right = sdgrad.value_and_grad(f)(x)
    assert value == right_value
    np.testing.assert_array_equal(found, right)


def test_what_is_read_again_is_not():
    x = np.random.default_rng(2).random((5, 300))
    assert "gradient_x" in streamed(made(squares, (x, x), ("x",)))
    program = made(recurrent, (x,), ("x",))
    assert "gradient_x" not in streamed(program)


def recurrent(x):
    """Its gradient is read where it is passed on from row to row."""
    for i in range(1, x.shape[0]):
        x[i] = np.sin(x[i - 1]) * x[i]
    return np.sum(x[-1])


def test_small_results_are_not(monkeypatch):
    monkeypatch.undo()
    x = np.random.default_rng(2).random(700)
    assert not streamed(made(squares, (x, x), ("x", "w")))


def test_generated_code():
    found = around_caches(LOOP)
    assert "sdgrad::stream(&y[(3 + i_part)], streamed0_i, i_end - i_part);" in found
    assert "streamed0_i[i - i_part] = streamed0;" in found and "y[(3 + i)]" not in found
    shared = around_caches("    #pragma omp parallel for\n" + LOOP)
    assert "for (int i_part = 0; i_part < n; i_part += 128) {" in shared


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("double streamed0;", "double streamed1;"),
        ("i += 1", "i += 2"),
        ("i < n", "i <= n"),
        ("double v = x[i];", "for (int k = 0; k < 2; k += 1) {\n}"),
        ("y[(3 + i)] = streamed0;", "y[(3 + i)] = streamed0 + 1;"),
    ],
)
def test_other_loops_stay(old, new):
    code = LOOP.replace(old, new)
    assert code != LOOP and around_caches(code) == code


# Programs in, programs out ----------------------------------------------------------------------------

DOUBLED = """
    argument x: float64[1000]
    argument y: float64[1000]
    body
      map i=0:1000:
        v = x[i]
        w = 2.0 * v
        y[i] = w
"""


def marked(source):
    return text(stream_results(tree(source)))


@pytest.fixture
def tiny_caches(monkeypatch):
    machine = replace(config.machine, last_level_cache=8000, streamed_bytes=8000, streamed_row=256)
    monkeypatch.setattr(config, "machine", machine)


def test_stores_of_a_large_result_are_marked(tiny_caches):
    assert marked(DOUBLED) == block("""
        map i=0:1000:
          v = x[i]
          w = 2.0 * v
          y[i] = w (streamed)
    """)


def test_results_that_fit_into_the_cache_are_not(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, last_level_cache=16001))
    assert marked(DOUBLED) == text(tree(DOUBLED))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x[i]", "y[i]"),  # reads what it writes
        ("y[i] =", "y[i] +="),
        ("y[i]", "y[2*i - i % 2]"),
        ("i=0:1000", "i=0:100"),  # a short row
        ("map i", "for i"),
    ],
)
def test_other_stores_are_not(old, new, tiny_caches):
    source = DOUBLED.replace(old, new)
    assert marked(source) == text(tree(source))
