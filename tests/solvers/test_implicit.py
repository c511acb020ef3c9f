"""Solutions as functions: values against SciPy, derivatives by differences and closed forms, in both modes."""

import numpy as np
import pytest
import scipy.optimize

import sdgrad
from sdgrad.errors import ArgumentError, ConvergenceError, ParseError

RNG = np.random.default_rng(0)
GENERAL = RNG.standard_normal((5, 5)) + 3 * np.eye(5)
POSITIVE, SYMMETRIC = GENERAL @ GENERAL.T, GENERAL + GENERAL.T - 6 * np.eye(5)
RIGHT = np.arange(1.0, 6.0)
BAND = np.eye(80) * 3 + np.diag(np.ones(79), 1)
P = np.array([2.0, 3.0])


def system(p):
    a = p * 1.0

    def residual(v, shift):
        return [v[0] ** 2 + v[1] - a[0], v[0] * v[1] - a[1] + v[1] ** 3 * shift]

    v = sdgrad.root(residual, np.array([1.0, 1.0]) * (1.0 + p[0] / 100), (p[1] / 3,))
    return v[0] * v[1] ** 2


def in_a_loop(p):
    total = 0.0
    for k in range(3):
        total += sdgrad.root(lambda x, k: x**3 + x - p[0] * k - p[1], 1.0, (k,)) ** 2
    return total


def bracketed(p):
    return sdgrad.root(lambda x: np.exp(x) + p[0] * x - p[1], 0.0, bracket=(-10.0, p[1])) ** 2


def contraction(p):
    return np.sum(sdgrad.fixed_point(lambda x: np.cos(x * p[0] / 4 + p[1] / 5), np.zeros(4)) ** 2)


def least(p):
    x = sdgrad.minimize(
        lambda x, q: np.sum((x - p[0]) ** 4) + np.sum(x[1:] * x[:-1]) * q * 0.1 + np.sum(x**2), np.ones((2, 2)), (p[1],)
    )
    return np.sum(x**3)


def derivative_of_a_root(p):
    return sdgrad.grad(lambda t: sdgrad.root(lambda x: np.exp(x) + x * t - p[1], 1.0))(p[0])


def large(p):
    return np.sum(sdgrad.root(lambda x: BAND @ x + x**3 * p[0] - p[1], np.zeros(80)) ** 2)


@pytest.mark.parametrize("f", [system, in_a_loop, bracketed, contraction, least, derivative_of_a_root])
def test_derivatives(f):
    """By differences of compiled values and gradients: outside of a program, each call of a solver compiles."""
    both, step = sdgrad.value_and_grad(f), 1e-5
    around = [(both(P + step * d), both(P - step * d)) for d in np.eye(2)]
    gradient = both(P)[1]
    np.testing.assert_allclose(gradient, [(a[0] - b[0]) / (2 * step) for a, b in around], rtol=1e-7, atol=1e-9)
    second = [(a[1] - b[1]) / (2 * step) for a, b in around]
    np.testing.assert_allclose(sdgrad.hessian(f)(P), second, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(sdgrad.jvp(f, (P,), (np.array([1.0, -2.0]),))[1], gradient @ [1.0, -2.0], rtol=1e-11)


def test_many_unknowns_by_products():
    """Newton's method and the adjoint by GMRES."""
    x = scipy.optimize.fsolve(lambda x: BAND @ x + x**3 * P[0] - P[1], np.zeros(80), xtol=1e-13)
    value, gradient = sdgrad.value_and_grad(large)(P)
    np.testing.assert_allclose(value, np.sum(x**2), rtol=1e-11)
    u = np.linalg.solve((BAND + np.diag(3 * x**2 * P[0])).T, 2 * x)
    np.testing.assert_allclose(gradient, [-u @ x**3, u.sum()], rtol=1e-9)


def test_minimum_of_many_unknowns():
    """By L-BFGS, with the adjoint by MINRES."""

    def smoothed(y):
        return np.sum(sdgrad.minimize(lambda x: np.sum((x - y) ** 2) + np.sum(np.cosh(np.diff(x))), np.zeros(70)) ** 2)

    y = RNG.standard_normal(70)
    value, gradient = sdgrad.value_and_grad(smoothed)(y)
    D = np.diff(np.eye(70), axis=0)
    x = scipy.optimize.root(lambda x: 2 * (x - y) + D.T @ np.sinh(D @ x), np.zeros(70), tol=1e-14).x
    np.testing.assert_allclose(value, x @ x, rtol=1e-8)
    hessian = 2 * np.eye(70) + D.T @ np.diag(np.cosh(D @ x)) @ D
    np.testing.assert_allclose(gradient, 2 * np.linalg.solve(hessian, 2 * x), rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "A"),
    [("cg", POSITIVE), ("minres", SYMMETRIC), ("gmres", GENERAL), ("bicgstab", GENERAL), ("direct", GENERAL)],
)
def test_linear_systems(method, A):
    def solved(A, b):
        return np.sum(sdgrad.linear_solve(lambda x: A @ x, b, method=method) ** 3)

    value, (of_A, of_b) = sdgrad.value_and_grad(solved, wrt=("A", "b"))(A, RIGHT)
    x = np.linalg.solve(A, RIGHT)
    u = np.linalg.solve(A.T, 3 * x**2)
    np.testing.assert_allclose(value, np.sum(x**3), rtol=1e-9)
    np.testing.assert_allclose(of_b, u, rtol=1e-8)
    np.testing.assert_allclose(of_A, -np.outer(u, x), rtol=1e-8)


def test_outside_of_functions():
    assert abs(sdgrad.root(lambda x: x * x - 2.0, 1.0) - np.sqrt(2.0)) < 1e-14
    assert abs(sdgrad.root(lambda x, c: x * x - c, np.float64(1.0), (3.0,)) - np.sqrt(3.0)) < 1e-14
    assert abs(sdgrad.fixed_point(np.cos, 1.0) - 0.7390851332151607) < 1e-11
    np.testing.assert_allclose(sdgrad.minimize(lambda x: np.sum((x - RIGHT) ** 2), np.zeros(5)), RIGHT, rtol=1e-12)
    np.testing.assert_allclose(sdgrad.linear_solve(lambda x: GENERAL @ x, RIGHT), np.linalg.solve(GENERAL, RIGHT))


def test_single_precision():
    found = sdgrad.root(lambda x: x * x - np.float32(2), np.float32(1))
    assert found.dtype == np.float32 and abs(found - np.sqrt(2)) < 1e-6
    band, b = BAND.astype(np.float32), np.ones(80, np.float32)
    of_b = sdgrad.grad(lambda b: np.sum(sdgrad.linear_solve(lambda x: band @ x, b)))(b)
    assert of_b.dtype == np.float32
    np.testing.assert_allclose(of_b, np.linalg.solve(BAND.T, np.ones(80)), rtol=1e-4)


def test_where_a_search_begins_is_real():
    """An integer, or a list: ``f`` takes real numbers all the same."""
    assert abs(sdgrad.root(lambda x: x * x - 2, 1) - np.sqrt(2.0)) < 1e-14
    np.testing.assert_allclose(sdgrad.root(lambda x: x * x - 2, [1, -1]), [np.sqrt(2.0), -np.sqrt(2.0)])
    np.testing.assert_allclose(sdgrad.root(lambda x: x * x - 2, np.array([1, -1])), [np.sqrt(2.0), -np.sqrt(2.0)])
    ends = [0.0, 2.0]

    def f(x):
        return x * x - 2

    assert abs(sdgrad.root(f, 1, bracket=ends) - np.sqrt(2.0)) < 1e-11
    ends[:] = [-2.0, 0.0]
    assert abs(sdgrad.root(f, 1, bracket=ends) + np.sqrt(2.0)) < 1e-11


def test_checks_of_the_function_hold_at_the_solution():
    def f(x, c):
        assert x > 0.0, "negative"
        return x * x - c

    def solved(c, first):
        return sdgrad.root(f, first, (c,))

    assert abs(sdgrad.grad(solved)(4.0, 1.0) - 0.25) < 1e-14
    with pytest.raises(AssertionError, match="negative"):
        sdgrad.grad(solved)(4.0, -1.0)


def test_what_does_not_converge():
    with pytest.raises(ConvergenceError, match=r"sdgrad\.root did not converge"):
        sdgrad.grad(lambda p: sdgrad.root(lambda x: x * x + p, 1.0))(1.0)
    with pytest.raises(ConvergenceError):
        sdgrad.root(lambda x: x + 1.0, 0.0, bracket=(0.0, 1.0))
    with pytest.raises(ConvergenceError):
        sdgrad.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, maxiter=50)


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="returns shape"):
        sdgrad.root(lambda x: x[:2], np.zeros(3))
    with pytest.raises(ArgumentError, match="has to return a number"):
        sdgrad.minimize(lambda x: x, np.zeros(3))
    with pytest.raises(ParseError, match="real numbers"):
        sdgrad.root(lambda x: x * x + 1, 1j)
    with pytest.raises(ArgumentError, match="method is one of"):
        sdgrad.linear_solve(lambda x: x, RIGHT, method="qmr")
    with pytest.raises(ArgumentError, match="bracket"):
        sdgrad.root(lambda x: x, np.zeros(2), bracket=(0.0, 1.0))


def test_values_of_outer_functions_reach_inner_derivatives():
    """A number of the program as an argument of a derivative inside of one that is differentiated."""

    def inner(x, p, q):
        return sdgrad.grad(lambda y: (y - p) ** 2 * q[0] + np.exp(y))(x)

    def outer(x, p, q):
        return sdgrad.vjp(lambda *a: inner(x, *a), p, q)[1](1.0)[1][0]

    assert abs(sdgrad.compile_forward(outer)(1.67, 3.0, P) - 2 * (1.67 - 3.0)) < 1e-13


def test_systems_of_ninety_unknowns_have_a_matrix():
    """Iterations of Krylov's kind do not converge on these: a diffusion equation, a dense matrix, a rotation."""
    dense = np.random.default_rng(0).standard_normal((90, 90)) + 3 * np.eye(90)
    turned = np.linalg.qr(np.random.default_rng(1).standard_normal((90, 90)))[0]

    def means(k):
        def diffusion(u):
            padded = np.concatenate([[0.0], u, [0.0]])
            return k * (padded[2:] - 2 * u + padded[:-2]) * 91.0**2 + 1 - u**3

        of_dense = scipy.optimize.fsolve(lambda x: dense @ x + 0.01 * k * x**3 - 1, np.zeros(90), xtol=1e-13)
        rotated = sdgrad.linear_solve(lambda x: k * (turned @ x), np.ones(90), method="direct")
        return np.mean(scipy.optimize.fsolve(diffusion, np.zeros(90), xtol=1e-13)) + np.sum(of_dense) + np.sum(rotated)

    value, slope = sdgrad.value_and_grad(means)(1.0)
    assert value == pytest.approx(means(1.0), rel=1e-9)
    assert slope == pytest.approx((means(1.001) - means(0.999)) / 0.002, rel=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: sdgrad.fixed_point(lambda x: c * x + 1, 1.0),
        lambda c: sdgrad.fixed_point(lambda x: c * x * x + 1, 1.0),
        lambda c: np.sum(sdgrad.linear_solve(lambda x: c * np.sum(x) * np.ones(3), np.arange(3.0), method="direct")),
    ],
    ids=["runs away", "overflows", "singular"],
)
def test_what_has_no_solution_is_an_error(f):
    with pytest.raises(ConvergenceError):
        sdgrad.value_and_grad(f)(2.0)
