"""Zeros of splines and piecewise polynomials: SciPy's, with derivatives like differences of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as interpolate

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X = np.linspace(0.0, 6.0, 9)
Y = np.array([0.5, -0.7, -0.2, 0.6, 1.0, -0.3, -0.5, 0.4, 0.8])
CURVE = interpolate.CubicSpline(X, Y)


def of_cubics(y, level):
    s = interpolate.CubicSpline(X, y)
    found, other = s.roots(), s.solve(level, extrapolate=False)
    return np.sum(found**2) + np.sum(np.sin(other)) + found[0] * found.size


def of_others(x, y, level):
    found = np.sum(interpolate.sproot(interpolate.splrep(X, y)) ** 3)
    found = found + np.sum(interpolate.UnivariateSpline(X, y, s=0).roots() * level) + np.sum(CURVE.solve(level) ** 2)
    return found + np.sum(interpolate.PchipInterpolator(x, y).roots()) + np.sum(CURVE.derivative().roots() * y[0])


def with_steps(c, x):
    """Steps from one sign to the other, a zero at a breakpoint, and a piece that is zero."""
    p = interpolate.PPoly(c, x)
    found = p.roots(extrapolate=False)
    return np.sum(np.where(np.isnan(found), 0.0, found) * np.array([1.3])[0])


def test_values_and_derivatives():
    for program, given, mode in ((of_cubics, (Y, 0.1), "fwd"), (of_others, (X, Y, 0.1), "rev")):
        np.testing.assert_allclose(sdgrad.compile_forward(program)(*given), program(*given), rtol=1e-12)
        check_grads(program, given, modes=(mode,))


def test_second_derivative_of_a_root_in_closed_form():
    def root(a):
        return np.sum(interpolate.PPoly(np.stack([[1.0], [0.0], -a]), np.array([0.0, 9.0])).roots(extrapolate=False))

    a = np.array([2.0])
    assert np.isclose(sdgrad.grad(root)(a)[0], 0.5 * 2.0**-0.5, rtol=1e-12)
    assert np.isclose(sdgrad.hessian(root)(a)[0, 0], -0.25 * 2.0**-1.5, rtol=1e-12)


def test_steps_and_pieces_that_are_zero():
    c, x = np.array([[0.0, 1.0, 0.0], [-1.0, 0.5, 0.0]]), np.array([0.0, 1.0, 2.5, 3.0])
    assert np.isnan(interpolate.PPoly(c, x).roots(extrapolate=False)[-1])
    value, (dc, dx) = sdgrad.value_and_grad(with_steps, wrt=(0, 1))(c, x)
    assert np.isclose(value, 1.3 * (1.0 + 2.5))
    np.testing.assert_allclose(dx, [0.0, 1.3, 1.3, 0.0])
    np.testing.assert_array_equal(dc, np.zeros((2, 3)))


def test_no_zero_and_a_double_one():
    def total(c):
        return np.sum(interpolate.PPoly(c, np.array([-2.0, 2.0])).roots(extrapolate=False))

    value, gradient = sdgrad.value_and_grad(total)(np.array([[1.0], [0.0], [1.0]]))
    assert value == 0.0 and np.array_equal(gradient, np.zeros((3, 1)))
    gradient = sdgrad.grad(total)(np.array([[1.0], [-4.0], [4.0]]))  # of x^2
    assert not np.any(np.abs(gradient) < 1e200)


def of_columns(y, level):
    """One set of zeros for each column, of which there are different numbers."""
    found = interpolate.CubicSpline(X, np.stack([y, np.cos(y), -y], 1)).solve(level)
    total = sum(np.sum(np.sin(r)) for r in found) + len(found) * np.sum(found[1] ** 2) + np.sum(found[-1] * found.size)
    grid = interpolate.CubicSpline(X, np.stack([y, y**2 - 0.3], 1)[:, None, :]).roots(extrapolate=False)
    knots = interpolate.make_interp_spline(X, y)
    pair = interpolate.sproot((knots.t, [knots.c, knots.c - level], 3))
    return (
        total
        + np.sum(grid[0, 1] ** 2) * grid.ndim
        + np.sum(grid[0][0])
        + np.sum(grid.ravel()[1])
        + sum(map(np.sum, pair))
    )


def test_several_columns():
    given = (Y, 0.1)
    np.testing.assert_allclose(sdgrad.compile_forward(of_columns)(*given), of_columns(*given), rtol=1e-12)
    check_grads(of_columns, given, modes=("fwd", "rev"))


def test_refusals():
    with pytest.raises(ParseError, match="returns a Several"):
        sdgrad.compile_forward(lambda y: interpolate.CubicSpline(X, np.stack([y, y], 1)).roots())(Y)
    with pytest.raises(ParseError, match="'mean' of the zeros of several polynomials is not recorded"):
        sdgrad.grad(lambda y: interpolate.CubicSpline(X, np.stack([y, y], 1)).roots().mean())(Y)
    with pytest.raises(ValueError, match="must be a number"):
        sdgrad.grad(lambda y: np.sum(interpolate.CubicSpline(X, y).solve(y)))(Y)
    with pytest.raises(ValueError, match="several columns is not allowed"):
        sdgrad.grad(lambda y: np.sum(interpolate.sproot(interpolate.make_interp_spline(X, np.stack([y, y], 1)))))(Y)
    with pytest.raises(NotImplementedError, match="non-cubic"):
        sdgrad.grad(lambda y: np.sum(interpolate.UnivariateSpline(X, y, k=2, s=0).roots()))(Y)
