"""What solvers, and functions of SciPy without a rule, say of arguments that they do not take."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse.linalg

import sdgrad
from sdgrad.errors import ArgumentError, ConvergenceError, ParseError


def grad(f, *args):
    return sdgrad.grad(f)(*(args or (2.0,)))


def test_unknowns_in_nests():
    for first in ({"x": 1.0}, (np.ones(2), 1.0), None):
        with pytest.raises(ParseError, match="put all unknowns in one array"):
            grad(lambda a, first=first: sdgrad.root(lambda x: x, first))
    with pytest.raises(ParseError, match="sdgrad.linear_solve takes an array or a number, not dict"):
        grad(lambda a: sdgrad.linear_solve(lambda x: x, {"x": a}))


def test_no_function():
    with pytest.raises(ArgumentError, match="takes a function, not a matrix: for a matrix use np.linalg.solve"):
        grad(lambda a: np.sum(sdgrad.linear_solve(a, np.ones(2))), np.eye(2))
    with pytest.raises(ArgumentError, match="sdgrad.root takes a function, not Number"):
        grad(lambda a: sdgrad.root(a, 1.0))


def test_one_more_argument_needs_no_tuple():
    assert np.isclose(grad(lambda a: sdgrad.root(lambda x, b: x**2 - b, 1.0, args=a)), 0.5 / np.sqrt(2.0))
    assert np.isclose(sdgrad.root(lambda x, b: x**2 - b, 1.0, args=9.0), 3.0)


def test_what_to_do_where_no_solution_is_found():
    with pytest.raises(ConvergenceError, match="signs at the ends of the bracket"):
        grad(lambda a: scipy.optimize.brentq(lambda x: x**2 + a, 0.0, 3.0))
    with pytest.raises(ConvergenceError, match="signs at the ends of the bracket"):
        grad(lambda a: sdgrad.root(lambda x: x**2 + a, 0.0, bracket=(0.0, 3.0)))
    with pytest.raises(ConvergenceError, match="may be singular"):
        grad(lambda a: np.sum(sdgrad.linear_solve(lambda v: np.sum(v) * np.array([a, a]), np.array([1.0, 2.0]))))


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda a: scipy.integrate.tanhsinh(lambda x: a * x, 0.0, 1.0).integral, "use scipy.integrate.quad"),
        (lambda a: scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: a * v), "use sdgrad.linear_solve"),
        (lambda a: scipy.optimize.differential_evolution(lambda x: x[0] * a, [(0, 1)], seed=0).x[0], "pure_callback"),
    ],
)
def test_functions_without_a_rule_that_call_functions(f, instead):
    with pytest.raises(ParseError, match=f"has no derivative here.*{instead}") as error:
        grad(f)
    assert "test_arguments.py" in str(error.value)


def test_quadrature_by_fixed_points_calls_functions():
    found = grad(lambda a: scipy.integrate.fixed_quad(lambda x: np.exp(-a * x), 0.0, 1.0)[0], 1.0)
    assert np.isclose(found, 2 / np.e - 1, rtol=1e-7)


def test_one_argument_needs_no_tuple():
    def decayed(k):
        return sdgrad.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), np.ones(1), args=k, rtol=1e-8, atol=1e-10).y[0, -1]

    assert np.isclose(decayed(0.7), np.exp(-0.7), rtol=1e-6)
    assert np.isclose(grad(decayed, 0.7), -np.exp(-0.7), rtol=1e-6)
