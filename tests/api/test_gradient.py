"""``grad``, ``value_and_grad`` and ``vjp`` as a user calls them: what goes in, what comes out, what stays unchanged."""

import dace
import numpy as np
import pytest
import torch
from references import assert_close

import sdgrad
from sdgrad.testing import check_grads

N = dace.symbol("N")
RNG = np.random.default_rng(5)
X, Y = RNG.uniform(0.3, 1.5, 6), RNG.uniform(0.3, 1.5, 6)


def weighted(x, y, scale=2.0, power=3):
    return np.sum(x**power * y) * scale


def by_hand(x, y, scale=2.0, power=3):
    """The gradients of ``weighted`` by x, y and scale."""
    return power * x ** (power - 1) * y * scale, x**power * scale, np.sum(x**power * y)


# What to differentiate by ----------------------------------------------------------------------------

WRT = {  # wrt: positions of the gradients, in order; a number alone gives no tuple
    0: 0,
    1: 1,
    -3: 1,
    "x": 0,
    "scale": 2,
    (0,): (0,),
    ("y", "x"): (1, 0),
    (2, "y", 0): (2, 1, 0),
}


@pytest.mark.parametrize("wrt", WRT, ids=str)
def test_wrt(wrt):
    value, found = sdgrad.value_and_grad(weighted, wrt)(X, Y, 0.5)
    wanted = by_hand(X, Y, 0.5)
    assert np.isclose(value, weighted(X, Y, 0.5), rtol=1e-14)
    positions = WRT[wrt] if isinstance(WRT[wrt], tuple) else (WRT[wrt],)
    assert isinstance(found, tuple) == isinstance(wrt, tuple)
    for f, k in zip(found if isinstance(found, tuple) else (found,), positions, strict=True):
        assert_close(f, wanted[k], 1e-12, f"gradient {k}")


def test_wrt_may_be_a_list():
    found = sdgrad.grad(weighted, ["y"])(X, Y)
    assert_close(found[0], by_hand(X, Y)[1], 1e-12, "gradient")


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((X, Y), {}), ((X,), {"y": Y}), ((), {"y": Y, "x": X}), ((X, Y, 2.0), {"power": 3}), ((X, Y, 2.0, 3), {})],
)
def test_keywords_and_defaults(args, kwargs):
    assert_close(sdgrad.grad(weighted)(*args, **kwargs), by_hand(X, Y)[0], 1e-12, "gradient")


@pytest.mark.parametrize("power", [2, 3, 4])
def test_integers_are_arguments(power):
    assert_close(sdgrad.grad(weighted)(X, Y, power=power), by_hand(X, Y, power=power)[0], 1e-12, "gradient")


# Compilation -----------------------------------------------------------------------------------------


@pytest.fixture
def compilations(monkeypatch):
    """The graphs that are compiled or loaded during a test."""
    from sdgrad import pipeline

    seen, original = [], pipeline.compile_together
    monkeypatch.setattr(pipeline, "compile_together", lambda sdfgs: seen.extend(sdfgs) or original(sdfgs))
    return seen


def cubes(x, a):
    return np.sum(x * x * x) * a


def test_one_program_for_each_signature(compilations):
    both, other = sdgrad.value_and_grad(cubes), sdgrad.grad(cubes)
    for k in range(3):
        both(X + k, 1.0 + k)
        other(X - k, 3.0)
    assert len(compilations) == 1
    both(X[:3], 1.0)
    both(X.reshape(2, 3), 1.0)
    both(X.astype(np.float32), 1.0)
    assert len(compilations) == 4
    sdgrad.grad(cubes, "a")(X, 1.0)
    assert len(compilations) == 5
    both(X[:3] * 2, 4.0)
    assert len(compilations) == 5


@dace.program
def inner_product(x: dace.float64[N], y: dace.float64[N]):
    return np.sum(x * y * y)


def test_one_program_for_all_sizes_of_a_symbol():
    for n in (1, 4, 17):
        x, y = np.linspace(1, 2, n), np.linspace(0, 1, n)
        value, (by_x, by_y) = sdgrad.value_and_grad(inner_product, (0, 1))(x, y)
        assert np.isclose(value, np.sum(x * y * y), rtol=1e-14)
        assert_close(by_x, y * y, 1e-12, "x")
        assert_close(by_y, 2 * x * y, 1e-12, "y")


# Arguments -------------------------------------------------------------------------------------------


def overwrites(x, y):
    x[:] = np.sin(x)
    x *= y
    y[1:] = 0.0
    return np.sum(x * x)


def test_arguments_are_not_modified():
    x, y = X.copy(), Y.copy()
    sdgrad.value_and_grad(overwrites, (0, 1))(x, y)
    sdgrad.vjp(overwrites, x, y)[1](1.0)
    assert np.array_equal(x, X)
    assert np.array_equal(y, Y)


def test_arguments_are_modified_on_request():
    x, y, a, b = X.copy(), Y.copy(), X.copy(), Y.copy()
    value, (by_x, _) = sdgrad.value_and_grad(overwrites, (0, 1), inplace=True)(x, y)
    assert np.isclose(value, overwrites(a, b), rtol=1e-14)
    assert_close(x, a, 1e-14, "x")
    assert np.array_equal(y, b)
    assert_close(by_x, 2 * np.sin(X) * np.cos(X) * Y**2, 1e-12, "gradient")


VIEWS = {
    "reversed": X[::-1],
    "strided": np.repeat(X, 2)[::2],
    "column": np.stack((X, Y), axis=1)[:, 0],
    "slice": np.linspace(0.5, 2.0, 20)[7:13],
    "read-only": np.broadcast_to(np.float64(0.7), 6),
    "fortran": np.asfortranarray(np.stack((X, Y)))[0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    view = VIEWS[name]
    assert_close(sdgrad.grad(weighted)(view, Y), by_hand(view, Y)[0], 1e-12, "gradient")


def matrix_form(A, x):
    return x @ (A @ x)


@pytest.mark.parametrize("order", ["C", "F", "T"])
def test_layouts_of_a_matrix(order):
    A = RNG.standard_normal((6, 6))
    given = A.T if order == "T" else np.asarray(A, order=order)
    by_A, by_x = sdgrad.grad(matrix_form, (0, 1))(given, X)
    assert_close(by_A, np.outer(X, X), 1e-12, "A")
    assert_close(by_x, (given + given.T) @ X, 1e-12, "x")


def scalar_square(a):
    return a * a * a


SCALARS = [1.5, np.float64(1.5), np.array(1.5), np.float32(1.5)]


@pytest.mark.parametrize("value", SCALARS, ids=lambda v: type(v).__name__)
def test_scalars(value):
    def function(x):  # a new function each time: none is parsed for one of the others
        return x * x * x

    result, gradient = sdgrad.value_and_grad(function)(value)
    assert np.shape(result) == ()
    assert np.shape(gradient) == ()
    assert (result, gradient) == (3.375, 6.75)
    assert np.asarray(gradient).dtype == np.asarray(value).dtype


LAYOUTS = {
    "part": lambda a: np.vstack([a, a])[:3, :],
    "columns": lambda a: np.hstack([a, a])[:, 2:6],
    "steps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a: a[::-1, ::-1][::1],
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "broadcast": lambda a: np.broadcast_to(a[:1], (3, 4)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_need_not_be_contiguous(layout):
    def function(a, b):  # a new function each time: it is parsed for this layout
        return np.sum(np.sin(a) * b)

    a = LAYOUTS[layout](np.linspace(-1.0, 1.0, 12).reshape(3, 4))
    b = LAYOUTS[layout](np.linspace(0.5, 2.0, 12).reshape(3, 4))
    for first, second in ((a, b), (a.copy(), b.copy())):
        value, gradients = sdgrad.value_and_grad(function, wrt=(0, 1))(first, second)
        assert value == pytest.approx(np.sum(np.sin(a) * b), rel=1e-12)
        assert np.allclose(gradients[0], np.cos(a) * b, rtol=1e-12)
        assert np.allclose(gradients[1], np.sin(a), rtol=1e-12)


def test_an_array_of_one_element():
    gradient = sdgrad.grad(weighted)(X[:1], Y[:1])
    assert gradient.shape == (1,)
    assert_close(gradient, by_hand(X[:1], Y[:1])[0], 1e-12, "gradient")


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 2e-2)])
def test_precision_is_kept(dtype, tolerance):
    x, y = X.astype(dtype), Y.astype(dtype)
    value, gradients = sdgrad.value_and_grad(energy, (0, 1))(x, y)
    assert np.asarray(value).dtype == dtype
    for found, wanted in zip(gradients, (2 * x * y, x * x), strict=True):
        assert found.dtype == dtype
        assert_close(found, wanted, tolerance, "gradient")


def energy(x, y):
    return np.sum(x * x * y)


def modulus(z):
    return np.sum(np.real(z * np.conj(z)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(dtype):
    z = (X + 1j * Y).astype(dtype)
    found = sdgrad.grad(modulus)(z)
    assert found.dtype == dtype
    assert_close(found, 2 * z, 1e-6, "gradient")


def test_empty_arrays():
    value, (by_x, by_y) = sdgrad.value_and_grad(energy, (0, 1))(np.zeros(0), np.zeros(0))
    assert value == 0.0
    assert by_x.shape == by_y.shape == (0,)


# Torch -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_tensors(dtype):
    x, y = (torch.tensor(a, dtype=dtype, requires_grad=True) for a in (X, Y))
    value, (by_x, by_y) = sdgrad.value_and_grad(weighted, ("x", "y"))(x, y)
    assert all(isinstance(t, torch.Tensor) for t in (value, by_x, by_y))
    assert value.shape == ()
    (torch.sum(x**3 * y) * 2.0).backward()
    for found, tensor in ((by_x, x), (by_y, y)):
        assert found.dtype == dtype
        torch.testing.assert_close(found, tensor.grad, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=0)


def test_tensors_in_vjp():
    result, pullback = sdgrad.vjp(column_products, torch.tensor(np.stack((X, Y))))
    assert isinstance(result, torch.Tensor)
    assert_close(result.numpy(), X * Y, 1e-14, "result")
    (gradient,) = pullback(torch.ones(6, dtype=torch.float64))
    assert isinstance(gradient, torch.Tensor)
    assert_close(gradient.numpy(), np.stack((Y, X)), 1e-12, "gradient")


def column_products(A):
    return A[0] * A[1]


# vjp -------------------------------------------------------------------------------------------------


def several(A, x, n):
    y = A @ x
    return y, np.sum(x * x) * n, A * 2.0


def test_vjp_of_several_outputs():
    A, x = RNG.standard_normal((4, 6)), X.copy()
    (y, s, B), pullback = sdgrad.vjp(several, A, x, 3)
    assert_close(y, A @ X, 1e-12, "y")
    assert np.shape(s) == ()
    assert_close(B, 2 * A, 1e-14, "B")
    u, w = RNG.standard_normal(4), RNG.standard_normal((4, 6))
    for factor in (1.0, -2.0):
        by_A, by_x, by_n = pullback(factor * u, factor * 0.5, factor * w)
        assert by_n is None
        assert_close(by_A, factor * (np.outer(u, X) + 2 * w), 1e-12, "A")
        assert_close(by_x, factor * (A.T @ u + 3 * X), 1e-12, "x")


def test_vjp_remembers_the_arguments():
    A, x = RNG.standard_normal((4, 6)), X.copy()
    _, pullback = sdgrad.vjp(several, A, x, 3)
    x[:] = np.nan
    by_A, by_x, _ = pullback(np.ones(4), 0.0, np.zeros((4, 6)))
    assert_close(by_A, np.outer(np.ones(4), X), 1e-12, "A")
    assert_close(by_x, A.sum(axis=0), 1e-12, "x")


def in_place_only(x, y):
    x *= y
    y[0] = x[1]


def test_vjp_of_written_arguments():
    x, y = X.copy(), Y.copy()
    (a, b), pullback = sdgrad.vjp(in_place_only, x, y)
    assert np.array_equal(x, X)
    assert_close(a, X * Y, 1e-14, "x")
    assert_close(b, np.concatenate(([X[1] * Y[1]], Y[1:])), 1e-14, "y")
    u, v = RNG.standard_normal(6), RNG.standard_normal(6)
    total = u.copy()
    total[1] += v[0]
    by_x, by_y = pullback(u, v)
    assert_close(by_x, total * Y, 1e-12, "x")
    assert_close(by_y, total * X + np.concatenate(([0.0], v[1:])), 1e-12, "y")


def returns_its_input(x, y):
    return x, x * y


def test_an_output_that_is_an_input():
    (a, b), pullback = sdgrad.vjp(returns_its_input, X, Y)
    assert np.array_equal(a, X)
    assert_close(b, X * Y, 1e-14, "product")
    by_x, by_y = pullback(np.ones(6), 2 * np.ones(6))
    assert_close(by_x, 1 + 2 * Y, 1e-12, "x")
    assert_close(by_y, 2 * X, 1e-12, "y")


# Functions -------------------------------------------------------------------------------------------

WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25, 1.0, -3.0])


def globally_weighted(x):
    return np.sum(WEIGHTS * x * x)


def test_global_arrays():
    assert_close(sdgrad.grad(globally_weighted)(X), 2 * WEIGHTS * X, 1e-12, "gradient")


def make_weighted(weights, factor):
    def weighted_by(x):
        return np.sum(weights * x * x) * factor

    return weighted_by


@pytest.mark.parametrize(("weights", "factor"), [(WEIGHTS, 2.0), (Y, 2.0), (Y, 3.0)])
def test_closures(weights, factor):
    found = sdgrad.grad(make_weighted(weights, factor))(X)
    assert_close(found, 2 * factor * weights * X, 1e-12, "gradient")


def helper(x, k):
    return np.exp(x) * k


@dace.program
def helper_program(x):
    return x * x + 1.0


def calls_others(x):
    return np.sum(helper(helper_program(x), 0.5) + helper_program(2.0 * x))


def test_functions_that_call_functions():
    wanted = 0.5 * np.exp(X * X + 1) * 2 * X + 8 * X
    assert_close(sdgrad.grad(calls_others)(X), wanted, 1e-12, "gradient")


def ignores_second(x, y, z):
    return np.sum(x * z)


def test_an_unused_argument_has_gradient_zero():
    by_y, by_x = sdgrad.grad(ignores_second, ("y", "x"))(X, Y.reshape(2, 3), Y)
    assert np.array_equal(by_y, np.zeros((2, 3)))
    assert_close(by_x, Y, 1e-14, "x")
    by_x, by_y, by_z = sdgrad.vjp(ignores_second, X, Y.reshape(2, 3), Y)[1](1.0)
    assert np.array_equal(by_y, np.zeros((2, 3)))
    assert_close(by_z, X, 1e-14, "z")


def constant(x):
    return np.sum(np.floor(x))


def test_a_function_that_is_constant_has_gradient_zero():
    assert np.array_equal(sdgrad.grad(constant)(X), np.zeros(6))


def test_names_and_texts():
    gradient = sdgrad.grad(weighted)
    assert gradient.__name__ == "grad_weighted"
    assert "weighted" in gradient.__doc__


# Against differences ---------------------------------------------------------------------------------

CHECKED = {
    "weighted": (weighted, (X, Y, 0.5)),
    "several": (several, (RNG.standard_normal((4, 6)), X, 3)),
    "calls_others": (calls_others, (X,)),
    "modulus": (modulus, (X + 1j * Y,)),
    "single": (energy, (X.astype(np.float32), Y.astype(np.float32))),
    "scalar": (scalar_square, (1.25,)),
}


@pytest.mark.parametrize("name", CHECKED)
def test_check_grads(name):
    function, args = CHECKED[name]
    report = check_grads(function, args)
    assert report.passed
    assert len(report.arguments) == sum(np.asarray(a).dtype.kind in "fc" for a in args)


def only_first(x, y):
    return np.sum(x) + 0.0 * np.sum(np.round(y))


def test_arguments_that_do_not_matter():
    x, y = np.ones(3), np.ones(2)
    assert np.array_equal(sdgrad.grad(only_first, wrt=1)(x, y), np.zeros(2))
    first, second = sdgrad.grad(only_first, wrt=(0, 1), unused="none")(x, y)
    assert np.array_equal(first, np.ones(3)) and second is None
    with pytest.raises(sdgrad.errors.ArgumentError, match="'never'"):
        sdgrad.grad(only_first, unused="never")
