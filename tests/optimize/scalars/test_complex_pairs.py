"""Complex numbers in two parts, half powers as roots, and sums side by side: the same numbers as NumPy and JAX."""

import ast
import types

import dace
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.kinds import infer
from sdgrad.program.tree import Leaf, NodeCall, Scope, walk

N = 37


def arithmetic(x, y):
    z = x + 1j * y
    w = (z * z - 2.0 * z) * np.conj(z) + (0.5 - 2j) * z / 3.0 - z
    return np.sum(w.real * y) + np.sum(w.imag * x)


def quotients(x, y):
    z = x + 1j * y
    w = z / (2.0 + z * z) + 1.0 / (z + 3.0)
    return np.sum(np.abs(w) ** 2) + np.sum((w / (1.0 + x)).imag)


def choices(x, y):
    z = x - 1j * y
    w = np.where(np.abs(z) < 1.0, z * z, 0.0)
    v = np.where(z == np.conj(z), z, np.where(x > y, w + z, 1j))
    return np.sum(np.abs(v)) + np.sum(w.real)


def functions(x, y):
    z = x + 1j * y
    w = np.exp(z * 0.3) * z + np.sqrt(z + 5.0) * z**2
    return np.sum(np.abs(w * np.conj(z)))


def counted(x, y):
    total = 0.0
    for k in range(4):
        z = (k + 1) * (x + 1j * y) + k
        total = total + np.sum((z * z / (k + 1)).real)
    return total


def product_over(x, y):
    z = np.prod(1.0 + 0.1 * (x + 1j * y))
    s = np.sum((x + 1j * y) * (y - 2j * x))
    return np.abs(z) + s.real * s.imag


CASES = [arithmetic, quotients, choices, functions, counted, product_over]


def arguments(dtype):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(N), rng.standard_normal(N)
    y[3] = 0.0
    return x.astype(dtype), y.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_gradients(f, dtype):
    x, y = arguments(dtype)
    of_jax = types.FunctionType(f.__code__, {"np": jnp, "range": range})
    right = jax.value_and_grad(of_jax, argnums=(0, 1))(jnp.asarray(x, np.float64), jnp.asarray(y, np.float64))
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "y"))(x, y)
    tolerance = 1e-11 if dtype == np.float64 else 2e-4
    assert value == pytest.approx(float(right[0]), rel=tolerance)
    for own, wanted in zip(gradients, right[1], strict=True):
        np.testing.assert_allclose(own, wanted, rtol=tolerance, atol=tolerance * np.max(np.abs(wanted)))


def moduli(z):
    return np.abs(z)


def test_absolute_values_at_the_ends():
    parts = np.array([0.0, -0.0, 1e-320, 3e-200, 1.0, -2.5, 4e200, 1.7e308, np.inf, -np.inf, np.nan])
    re, im = (p.ravel() for p in np.meshgrid(parts, parts))
    z = re + 0j
    z.imag = im
    found = sdgrad.compile_forward(moduli)(z)
    with np.errstate(over="ignore"):
        right = np.abs(z)
    np.testing.assert_allclose(found, right, rtol=4e-16)


def program_of(f, *args):
    function = sdgrad.value_and_grad(f, wrt=("x", "y"))
    signature, _, _, request = function.question(bind_arguments(function.f, args, {}))
    return optimize(signature.gradient(request).result.program)


def complex_steps(program):
    leaves = [n for n in walk(program.body) if isinstance(n, Leaf) and n.params]
    kinds = [(let, infer(n.body, program.containers)[let.name]) for n in leaves for let in n.lets]
    return [ast.unparse(let.expr) for let, kind in kinds if kind == "complex"]


def test_no_complex_arithmetic_is_left():
    found = complex_steps(program_of(arithmetic, *arguments(np.float64)))
    assert [step for step in found if not step.startswith("dace.complex128(")] == []
    with config.override(without=("complex-pairs",)):
        plain = complex_steps(program_of(arithmetic, *arguments(np.float64)))
    assert any("*" in step for step in plain)


def iterated(x, y):
    """Overwritten in a loop, so that it is kept; masked, shifted, and added to."""
    z = x + 1j * y
    w = np.zeros(N, dtype=np.complex128)
    for t in range(5):
        w[1:] += 0.1 * z[:-1] * z[1:]
        z[:] = np.where(np.abs(z) < 2.0, 0.5 * z * z + x, z)
        z[0] = 0.3j * z[0]
    return np.sum(np.abs(w + z) ** 2)


def with_products(x, y):
    """Arrays that BLAS reads stay whole."""
    z = np.outer(x + 1j * y, y - 0.5j * x)
    w = z @ np.conj(z)
    v = w * z
    return np.sum(v.real) + np.sum(v.imag * x)


@pytest.mark.parametrize("f", [iterated, with_products], ids=lambda f: f.__name__)
def test_arrays_in_two_parts(f):
    x, y = arguments(np.float64)
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "y"))(x, y)
    with config.override(without=("complex-pairs",)):
        other, wanted = sdgrad.value_and_grad(f, wrt=("x", "y"))(x, y)
    assert value == pytest.approx(float(f(x, y)), rel=1e-12) == pytest.approx(other, rel=1e-12)
    direction, step = np.cos(np.arange(N)), 1e-6
    slope = (f(x + step * direction, y) - f(x - step * direction, y)) / (2 * step)
    np.testing.assert_allclose(gradients[0] @ direction, slope, rtol=1e-6)
    for own, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-10, atol=1e-10 * np.max(np.abs(right)))


def test_temporaries_are_real():
    program = program_of(iterated, *arguments(np.float64))
    assert not [n for n, c in program.containers.items() if c.dtype == dace.complex128 and c.shape != (1,)]


def powers(x, y):
    a = x * x + 0.1
    return np.sum(a**0.5 + a**-0.5 * y + a**1.5 - a**-1.5 + a**2.5 * y + a**-3.5 + a**4.5) + np.sum(a**1.25)


def test_half_powers():
    x, y = arguments(np.float64)
    found = sdgrad.value_and_grad(powers, wrt=("x", "y"))(x, y)
    a, da = x * x + 0.1, 2 * x
    slope = 0.5 * a**-0.5 - 0.5 * a**-1.5 * y + 1.5 * a**0.5 + 1.5 * a**-2.5 + 2.5 * a**1.5 * y
    slope = slope - 3.5 * a**-4.5 + 4.5 * a**3.5 + 1.25 * a**0.25
    assert found[0] == pytest.approx(powers(x, y), rel=1e-13)
    np.testing.assert_allclose(found[1][0], slope * da, rtol=1e-12)
    np.testing.assert_allclose(found[1][1], a**-0.5 + a**2.5, rtol=1e-13)
    assert config.machine.largest_half_power == 4.5


def root_of(x):
    return x**-1.5 + x**0.5 * 2.0


def test_half_powers_at_the_ends():
    x = np.array([0.0, 5e-324, 1e-300, 1e300, np.inf, -1.0, np.nan])
    with np.errstate(all="ignore"):
        right = root_of(x)
    np.testing.assert_allclose(sdgrad.compile_forward(root_of)(x), right, rtol=1e-14)


def beside(x, y):
    e = np.exp(np.add.outer(x, y))
    return np.sum(np.sum(e * e, axis=1) * x + np.sum(e * np.sin(e), axis=1) + np.sum(e, axis=1) ** 2)


def test_sums_over_the_same_rows_share_a_loop():
    x, y = arguments(np.float64)
    x, y = 0.3 * x, 0.3 * y
    found = sdgrad.value_and_grad(beside, wrt=("x", "y"))(x, y)

    def again(x, y):
        e = jnp.exp(x[:, None] + y)
        return (e**2).sum(1) @ x + (e * jnp.sin(e)).sum() + (e.sum(1) ** 2).sum()

    right = jax.value_and_grad(again, (0, 1))(x, y)
    assert found[0] == pytest.approx(float(right[0]), rel=1e-12)
    for own, wanted in zip(found[1], right[1], strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-11)
    with config.override(without=("row-fusion",)):
        scopes = [n for n in walk(program_of(beside, x, y).body) if isinstance(n, Scope)]
    sums = [[leaf for leaf in walk(n.body) if isinstance(leaf, Leaf) and leaf.sequential] for n in scopes]
    assert any(len(leaf.stores) == 3 for leaves in sums for leaf in leaves), "three sums in one loop"


def conjugated(x, y):
    A = np.outer(x, y) + 1j * np.cos(np.outer(y, x))
    B = np.exp(1j * np.outer(x, x))
    C = A @ np.conj(B)
    D = np.conj(C).T @ A
    return np.sum(np.abs(D) ** 2)


def test_products_with_conjugates_are_calls():
    x, y = (0.3 * a for a in arguments(np.float64))
    of_jax = types.FunctionType(conjugated.__code__, {"np": jnp})
    right = jax.value_and_grad(of_jax, argnums=(0, 1))(x, y)
    value, gradients = sdgrad.value_and_grad(conjugated, wrt=("x", "y"))(x, y)
    assert value == pytest.approx(float(right[0]), rel=1e-12)
    for own, wanted in zip(gradients, right[1], strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-10 * np.max(np.abs(wanted)))
    calls = [n for n in walk(program_of(conjugated, x, y).body) if isinstance(n, NodeCall)]
    assert len(calls) == 6, "each product, and two for its adjoint"
