"""Derivatives that NumPy-style programs call, compared with the same programs in JAX."""

import dace
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.errors import NotScalarError

WEIGHTS = np.array([2.0, 1.0, 0.5, 0.3])
W, X = np.linspace(0.1, 0.9, 4), np.linspace(-0.5, 1.0, 4)


def loss(w, x):
    return np.sum(np.sin(w * x)) + np.sum(w**3)


def weighted(w, x):
    y = WEIGHTS * w
    y[0] = x[1]
    return np.sum(np.sin(y * x))


def writes_its_argument(w, x):
    w[0] = w[1] * x[0]
    w *= 2.0
    return np.sum(w * w * x)


def of_a_number(t):
    return np.sin(t) * t * t


def vector(w):
    return np.sin(w) * w[0]


def of_the_first(w, x, n):
    return np.sum(w[:n] * x[:n]) ** 2


slope, both = sdgrad.grad(loss), sdgrad.value_and_grad(loss)
by_both, value_by_both = sdgrad.grad(loss, wrt=("w", "x")), sdgrad.value_and_grad(loss, wrt=(0, 1))
weighted_slope, written_slope, number_slope = map(sdgrad.grad, (weighted, writes_its_argument, of_a_number))
matrix, curvature, rows, few = (
    sdgrad.jacobian(vector), sdgrad.hessian(loss), sdgrad.vmap(loss), sdgrad.grad(of_the_first)
)  # fmt: skip


def once(w, x):
    return np.sum(slope(w, x) * x)


def descent(w, x):
    for _ in range(3):
        w = w - 0.1 * slope(w, x)
    return np.sum(w * w)


def descent_with_values(w, x):
    total = 0.0
    for _ in range(3):
        v, d = both(w, x)
        w = w - 0.1 * d
        total += v
    return total


def written_where_it_is_called(w, x):
    return np.sum(sdgrad.grad(loss, wrt="x")(w, x) ** 2) + np.sum(sdgrad.grad(loss)(x=x, w=w))


def by_several(w, x):
    dw, dx = by_both(w, x)
    v, (a, b) = value_by_both(w, x)
    return np.sum(dw * dx) + v * np.sum(a * b)


def with_a_global_array(w, x):
    return np.sum(weighted_slope(w, x) * x)


def arguments_stay(w, x):
    y = written_slope(w, x)
    return np.sum(y * w)


def newton(w, x):
    t = w[0]
    for _ in range(4):
        t = t - 0.1 * number_slope(t)
    return t + np.sum(x)


def jacobian_and_hessian(w, x):
    return np.sum(matrix(w) @ x) + np.sum(np.linalg.solve(curvature(w, x), x))


def over_rows(w, x):
    return np.sum(rows(np.outer(w, x), np.outer(x, x)) ** 2)


def of_sizes(w, x):
    s = 0.0
    for n in range(1, 3):
        s += np.sum(few(w, x, n) * x)
    return s


def in_a_branch(w, x):
    if w[0] > -5.0:
        d = sdgrad.grad(loss)(w, x)
    else:
        d = 2 * w
    return np.sum(d * d)


def of_parts(w, x):
    return np.sum(slope(w[1:], x[:3]) * slope(w[::2][:2], x[1:3])[0])


PROGRAMS = [
    once, descent, descent_with_values, written_where_it_is_called, by_several, with_a_global_array, arguments_stay,
    newton, jacobian_and_hessian, over_rows, of_sizes, in_a_branch, of_parts,
]  # fmt: skip


def jax_loss(w, x):
    return jnp.sum(jnp.sin(w * x)) + jnp.sum(w**3)


def jax_written(w, x):
    w = 2.0 * w.at[0].set(w[1] * x[0])
    return jnp.sum(w * w * x)


def jax_descent(w, x, values):
    total = 0.0
    for _ in range(3):
        v, d = jax.value_and_grad(jax_loss)(w, x)
        w, total = w - 0.1 * d, total + v
    return total if values else jnp.sum(w * w)


def jax_several(w, x):
    v, (dw, dx) = jax.value_and_grad(jax_loss, (0, 1))(w, x)
    return jnp.sum(dw * dx) * (1 + v)


def jax_newton(w, x):
    t = w[0]
    for _ in range(4):
        t = t - 0.1 * jax.grad(lambda u: jnp.sin(u) * u * u)(t)
    return t + jnp.sum(x)


def jax_matrices(w, x):
    found = jax.jacobian(lambda u: jnp.sin(u) * u[0])(w) @ x
    return jnp.sum(found) + jnp.sum(jnp.linalg.solve(jax.hessian(jax_loss)(w, x), x))


REFERENCES = {
    "once": lambda w, x: jnp.sum(jax.grad(jax_loss)(w, x) * x),
    "descent": lambda w, x: jax_descent(w, x, False),
    "descent_with_values": lambda w, x: jax_descent(w, x, True),
    "written_where_it_is_called": lambda w, x: (
        jnp.sum(jax.grad(jax_loss, 1)(w, x) ** 2) + jnp.sum(jax.grad(jax_loss)(w, x))
    ),
    "by_several": jax_several,
    "with_a_global_array": lambda w, x: jnp.sum(
        jax.grad(lambda u: jnp.sum(jnp.sin((WEIGHTS * u).at[0].set(x[1]) * x)))(w) * x
    ),
    "arguments_stay": lambda w, x: jnp.sum(jax.grad(jax_written)(w, x) * w),
    "newton": jax_newton,
    "jacobian_and_hessian": jax_matrices,
    "over_rows": lambda w, x: jnp.sum(jax.vmap(jax_loss)(jnp.outer(w, x), jnp.outer(x, x)) ** 2),
    "of_sizes": lambda w, x: sum(jnp.sum(jax.grad(lambda u, n=n: jnp.sum(u[:n] * x[:n]) ** 2)(w) * x) for n in (1, 2)),
    "in_a_branch": lambda w, x: jnp.sum(jax.grad(jax_loss)(w, x) ** 2),
    "of_parts": lambda w, x: jnp.sum(jax.grad(jax_loss)(w[1:], x[:3]) * jax.grad(jax_loss)(w[::2][:2], x[1:3])[0]),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    """Value and gradients; the second ones differentiate through derivatives."""
    w, x = W.copy(), X.copy()
    value, found = sdgrad.value_and_grad(program, wrt=("w", "x"))(w, x)
    assert np.array_equal(w, W) and np.array_equal(x, X)
    wanted, gradients = jax.value_and_grad(REFERENCES[program.__name__], (0, 1))(jnp.asarray(W), jnp.asarray(X))
    assert abs(value - wanted) < 1e-12 * (1 + abs(wanted))
    for mine, right in zip(found, gradients, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-9, atol=1e-11)


def test_forward_mode():
    _, tangent = sdgrad.jvp(descent, (W, X), (X, W))
    _, wanted = jax.jvp(REFERENCES["descent"], (jnp.asarray(W), jnp.asarray(X)), (jnp.asarray(X), jnp.asarray(W)))
    assert abs(tangent - wanted) < 1e-10


def test_a_program_that_dace_runs():
    @dace.program
    def own(w: dace.float64[4], x: dace.float64[4]):
        return np.sum(slope(w, x) * x)

    with sdgrad.config.compiling():
        found = own(W.copy(), X.copy())
    assert abs(float(found[0]) - REFERENCES["once"](W, X)) < 1e-12


def test_a_graph():
    """``add_backward_pass`` on the graph of a program that calls a derivative."""

    @dace.program
    def own(w: dace.float64[4], x: dace.float64[4], out: dace.float64[1]):
        out[0] = np.sum(slope(w, x) * x)

    sdfg = own.to_sdfg(simplify=True)
    sdgrad.add_backward_pass(sdfg, inputs=["w"], outputs=["out"])
    gradient, out = np.zeros(4), np.zeros(1)
    with sdgrad.config.compiling():
        sdfg(w=W.copy(), x=X.copy(), out=out, gradient_w=gradient, gradient_out=np.ones(1))
    np.testing.assert_allclose(gradient, jax.grad(REFERENCES["once"])(jnp.asarray(W), jnp.asarray(X)), rtol=1e-9)


N = dace.symbol("N")


@dace.program
def of_open_size(w: dace.float64[N], x: dace.float64[N]):
    return np.sum(slope(w, x) * x)


def of_a_function_of_its_own(w, x):
    def own(u):
        return np.sum(u * u)

    return np.sum(sdgrad.grad(own)(w))


def of_an_array(w, x):
    return np.sum(sdgrad.grad(vector)(w))


def pulled_back(w, x):
    return sdgrad.vjp(loss, w, x)[0]


def of_a_size_that_is_data(w, x):
    return np.sum(few(w, x, int(x[0])))


@pytest.mark.parametrize(
    "program", [of_open_size.f, of_a_function_of_its_own, pulled_back, of_a_size_that_is_data], ids=lambda f: f.__name__
)
def test_against_differences(program):
    """Of DaCe's symbols, of a function in the function, pulled back, and for a size that is data."""
    x = np.array([2.5, *X[1:]])
    found = sdgrad.grad(program)(W.copy(), x)
    for k, step in enumerate(1e-5 * np.eye(W.size)):
        assert abs(found[k] - (program(W + step, x) - program(W - step, x)) / 2e-5) < 1e-7


def test_arrays_have_no_gradient():
    with pytest.raises(NotScalarError, match="vector(.|\n)*vjp"):
        sdgrad.grad(of_an_array)(W.copy(), X.copy())


def test_a_size_given_by_keyword():
    """The symbol of a local array's shape was an argument of the whole program, which nobody gave."""
    size, count = (dace.symbol(s, dtype=dace.int64) for s in ("size", "count"))

    @dace.program
    def squares(x: dace.float64[size]):
        found = np.zeros((count,), dtype=np.float64)
        for i in dace.map[0:count]:
            found[i] = x[i] * x[i]
        return found

    def first(x, n):
        return np.sum(squares(x, count=2)) + np.sum(squares(x, count=n))

    x = np.arange(1.0, 6.0)
    for n in (3, 4):
        value, gradient = sdgrad.value_and_grad(first, wrt="x")(x, n)
        assert value == np.sum(x[:2] ** 2) + np.sum(x[:n] ** 2)
        assert gradient.tolist() == (2 * x * (np.arange(5) < 2) + 2 * x * (np.arange(5) < n)).tolist()


def test_the_comparison_with_python_has_nothing_compiled_by_dace(monkeypatch):
    """DaCe ran the programs that a function calls, by its own code."""
    count = dace.symbol("count", dtype=dace.int64)

    @dace.program
    def squares(x: dace.float64[5]):
        found = np.zeros((count,), dtype=np.float64)
        for i in range(count):
            found[i] = x[i] * x[i]
        return found

    @dace.program
    def cubes(x: dace.float64[5]):
        found = np.zeros((5,), dtype=np.float64)
        for i in dace.map[0:5]:
            found[i] = x[i] ** 3
        return found

    monkeypatch.setattr(dace.SDFG, "compile", lambda *_, **__: pytest.fail("DaCe compiles"))
    x = np.arange(1.0, 6.0)
    with sdgrad.config.override(verify="always"):
        assert sdgrad.grad(lambda x: np.sum(squares(x, count=3)))(x).tolist() == [2.0, 4.0, 6.0, 0.0, 0.0]
        assert sdgrad.grad(lambda x: np.sum(cubes(x)))(x).tolist() == (3 * x**2).tolist()
