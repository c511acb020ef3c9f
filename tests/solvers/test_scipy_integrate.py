"""``scipy.integrate`` inside of programs: SciPy's values, derivatives in closed form or by differences of SciPy's."""

import numpy as np
import pytest
from scipy import integrate, optimize, special
from scipy.integrate import dblquad, fixed_quad, nquad, odeint, quad, quad_vec, solve_ivp, tplquad

import sdgrad
from sdgrad.errors import ConvergenceError, ParseError
from sdgrad.solvers import scipy_ivp
from sdgrad.specialize import signature
from sdgrad.testing import check_grads

P = np.array([1.7, 0.6])
EXACT = 1e-9
TIMES = np.linspace(0.0, 2.0, 5)


@pytest.fixture(autouse=True)
def _compiled_fast():
    with sdgrad.config.override(optimization_level=0):
        yield


def differences(f, p, step=1e-3):
    unit = np.eye(len(p)) * step
    return np.array([(8 * (f(p + d) - f(p - d)) - (f(p + 2 * d) - f(p - 2 * d))) / (12 * step) for d in unit])


def finite(p):
    """Both ends move; arguments, an array of the closure, and the estimate of the error, which has no derivative."""
    value, error = quad(lambda x, a, b: np.exp(-a * x * x) * b[0] + p[1] * x, p[1], p[0], args=(p[0], p * 2.0))
    return value + 0.0 * error


def infinite(p):
    up = quad(lambda x: np.exp(-p[0] * x) * np.sin(x), p[1], np.inf)[0]
    down = quad(lambda x: np.exp(p[0] * x), -np.inf, p[1])[0]
    both = quad(lambda x: np.exp(-p[0] * x * x + p[1] * x), np.inf, -np.inf)[0]
    return up * down + both


def arrays(p):
    found, _ = quad_vec(lambda x: np.array([np.sin(p[0] * x), np.exp(-x * p[1]), x ** p[0]]), 0, p[0], norm="max")
    fixed, nothing = fixed_quad(lambda x, q: np.exp(-q * x), 0.0, p[0], args=(p[1],), n=7)
    assert nothing is None
    return found @ np.arange(1.0, 4.0) * fixed


CASES = (finite, infinite, arrays)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_values_and_derivatives(f):
    value, gradient = sdgrad.value_and_grad(f)(P)
    np.testing.assert_allclose(value, f(P), rtol=1e-9)
    np.testing.assert_allclose(gradient, differences(f, P), rtol=1e-7)
    along = sdgrad.jvp(f, (P,), (np.array([1.0, -2.0]),))[1]
    np.testing.assert_allclose(along, gradient @ [1.0, -2.0], rtol=1e-9)


def test_second_derivatives():
    """In closed form: of an integral whose end and whose integrand move."""
    a, b = 0.7, 1.3

    def f(a, b):
        return quad(lambda x: np.exp(a * x), 0.0, b)[0]

    found = sdgrad.hvp(f, (a, b), (1.0, 2.0))
    e = np.exp(a * b)
    by_aa = e * (b * b / a - 2 * b / a**2 + 2 / a**3) - 2 / a**3
    np.testing.assert_allclose(found, [by_aa + 2 * b * e, b * e + 2 * a * e], rtol=1e-8)


def test_singular_integrands():
    """The derivatives are as exact where they are singular, and the integrand is not."""

    def f(p):
        gamma = quad(lambda x: x ** (p - 1.0) * np.exp(-x), 0.0, np.inf)[0]
        beta = quad(lambda x: x ** (p - 1.6) * (1.0 - x), 0.0, 1.0)[0]
        return gamma + 10.0 * beta

    value, slope = sdgrad.value_and_grad(f)(1.0)
    expected = special.gamma(1.0) + 10.0 * special.beta(0.4, 2.0)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    of_beta = special.beta(0.4, 2.0) * (special.digamma(0.4) - special.digamma(2.4))
    np.testing.assert_allclose(slope, special.digamma(1.0) + 10.0 * of_beta, rtol=1e-8)


def test_kinks_and_jumps():
    """The derivative by the place of a kink needs no more than the integrand; that of a jump is in ``points``."""

    def f(p):
        kink = quad(lambda x: np.abs(x - p) * x, 0.0, 3.0)[0]
        jump = quad(lambda x: np.where(x < p, 1.0, x), 3.0, 0.0, points=[p, 7.0])[0]
        return kink + 10.0 * jump

    p = 1.7
    value, slope = sdgrad.value_and_grad(f)(p)
    np.testing.assert_allclose(value, p**3 / 3 + 9.0 - 4.5 * p - 10.0 * (p + 4.5 - p * p / 2), rtol=1e-8)
    np.testing.assert_allclose(slope, p * p - 4.5 - 10.0 * (1.0 - p), rtol=1e-7)


def test_nested_integrals():
    def f(p):
        area = dblquad(lambda y, x, q: np.exp(-q * x * y), 0, p, lambda x: x * p / 4, lambda x: x * x + p, args=(p,))[0]
        box = nquad(lambda x, y: x * y**2 * p, [lambda y: (0.0, y), (0.0, p)], opts={"epsrel": 1e-9})[0]
        return area + box

    value, slope = sdgrad.value_and_grad(f)(1.7)
    np.testing.assert_allclose(value, f(1.7), rtol=1e-9)
    np.testing.assert_allclose(slope, differences(lambda p: f(p[0]), np.array([1.7]))[0], rtol=1e-8)


def test_three_variables_and_complex_integrands():
    def f(p):
        box = tplquad(lambda z, y, x: np.exp(-p * x) * y * z, 0.0, 1.0, 0.0, p, lambda x, y: 0.0, 2.0)[0]
        wave = quad(lambda x: np.exp(1j * p * x), 0.0, 1.0, complex_func=True)[0]
        return box + wave.imag

    def closed(p):
        return (1.0 - np.exp(-p)) * p + (1.0 - np.cos(p)) / p

    value, slope = sdgrad.value_and_grad(f)(1.3)
    np.testing.assert_allclose(value, closed(1.3), rtol=1e-9)
    np.testing.assert_allclose(slope, differences(lambda p: closed(p[0]), np.array([1.3]))[0], rtol=1e-8)


def test_in_loops_and_of_solutions():
    def f(p):
        total = 0.0
        for k in range(3):
            total = total + quad(lambda x, k, total: np.exp(-p * x * (k + 1)) * (1.0 + total), 0.0, p, (k, total))[0]
        return total + quad(lambda x: sdgrad.root(lambda y: y**3 + y - p * x, 0.5), 0.0, 1.0)[0]

    def by_newton(p):
        total = 0.0
        for k in range(3):
            total = total + (1.0 + total) * (1.0 - np.exp(-p * p * (k + 1))) / (p * (k + 1))
        root = float(np.real(np.roots([1.0, 0.0, 1.0, -p])[np.argmin(np.abs(np.imag(np.roots([1.0, 0.0, 1.0, -p]))))]))
        return total + (0.75 * root**4 + 0.5 * root**2) / p

    value, slope = sdgrad.value_and_grad(f)(1.3)
    np.testing.assert_allclose(value, by_newton(1.3), rtol=1e-9)
    np.testing.assert_allclose(slope, differences(lambda p: by_newton(p[0]), np.array([1.3]))[0], rtol=1e-8)


def pendulum(t, y, a):
    return [y[1], -a * np.sin(y[0])]


def flows(p):
    r = solve_ivp(pendulum, (0.0, 2.0), [p[1], 0.5], "DOP853", TIMES, True, args=(p[0],), rtol=EXACT, atol=EXACT)
    y = odeint(lambda y, t, a: pendulum(t, y, a), [p[1], 0.5], TIMES * p[1], args=(p[0],), rtol=EXACT, atol=EXACT)
    z = odeint(lambda t, y: -p[0] * y, p[1], TIMES[::-1], tfirst=True, rtol=EXACT, atol=EXACT)
    assert r.success and r.status == 0 and r.y.shape == (2, 5) and y.shape == (5, 2) and z.shape == (5, 1)
    return (
        np.sum(r.y * np.arange(10.0).reshape(2, 5))
        + np.sum(y * np.arange(10.0).reshape(5, 2))
        + r.t[1] * z[-1, 0]
        + r.sol(1.3)[0]
    )


def test_initial_value_problems():
    value, gradient = sdgrad.value_and_grad(flows)(P)
    np.testing.assert_allclose(value, flows(P), rtol=1e-5)
    np.testing.assert_allclose(gradient, differences(flows, P, 1e-2), rtol=1e-4)


def test_without_a_result():
    with pytest.raises(ConvergenceError, match="scipy.integrate.quad did not reach its tolerance"):
        sdgrad.grad(lambda p: quad(lambda x: p / x, 0.0, 1.0)[0])(1.0)


def test_outside_of_programs_nothing_changes():
    assert quad(np.sin, 0.0, 1.0)[0] == pytest.approx(1.0 - np.cos(1.0))
    assert solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0]).t.size > 2


def integral(p, **options):
    return quad(lambda x: p * x, 0.0, 1.0, **options)[0]


def flow(p, t_eval=TIMES, **options):
    return solve_ivp(lambda t, y: -p * y, (0.0, 2.0), [1.0], t_eval=t_eval, **options)


REFUSED = {
    "weight= is not": lambda p: integral(p, weight="cos", wvar=1.0),
    "complex_func=True": lambda p: quad(lambda x: p * x * 1j, 0.0, 1.0)[0],
    "quad_vec for arrays": lambda p: quad(lambda x: np.ones(3) * x * p, 0.0, 1.0)[0],
    "'gk21' or 'gk15'": lambda p: quad_vec(lambda x: x * p, 0.0, 1.0, quadrature="trapezoid")[0],
    "events= are not": lambda p: flow(p, events=lambda t, y: y[0]).y[0, -1],
    "min_step= is not": lambda p: flow(p, method="LSODA", min_step=1e-9).y[0, -1],
    "no recorded 'nfev'": lambda p: flow(p).nfev * p,
    "tcrit= is not": lambda p: odeint(lambda y, t: -p * y, 1.0, TIMES, tcrit=[1.0])[-1, 0],
}


@pytest.mark.parametrize("told", REFUSED)
def test_refused(told):
    with pytest.raises(ParseError, match=told):
        sdgrad.grad(REFUSED[told])(2.0)


def test_errors_of_scipy():
    for wrong in (
        lambda p: quad(lambda x: p / x**2, 1.0, np.inf, points=[2.0])[0],
        lambda p: integral(p, epsabs=0.0, epsrel=1e-20),
        lambda p: fixed_quad(lambda x: p / x**2, 1.0, np.inf)[0],
        lambda p: solve_ivp(lambda t, y: -p * y, (0.0, 2.0), np.eye(2), t_eval=TIMES).y[0, 0, -1],
        lambda p: solve_ivp(lambda t, y: -p * y, (0.0, 2.0), [1.0], "mine", TIMES).y[0, -1],
        lambda p: integrate.odeint(lambda y, t: -p * y, np.eye(2), TIMES)[-1, 0],
    ):
        with pytest.raises(ValueError):
            sdgrad.grad(wrong)(2.0)


def test_tolerances_that_nobody_gives_and_matrices_of_derivatives():
    """``jac=`` changes no result; that of LSODA is within the tolerance."""

    def f(p):
        y = odeint(lambda y, t: -p * y, [1.0, 2.0], TIMES)
        stiff = flow(p, method="Radau", jac=lambda t, y: -p * np.eye(1), t_eval=[0.5, 2.0], rtol=1e-6).y
        return y[-1, 1] + stiff[0, 0], flow(p, method="LSODA").y[0, -1]

    (found, loose), pull = sdgrad.vjp(f, 1.3)
    assert abs(found - 2 * np.exp(-2.6) - np.exp(-0.65)) < 1e-6
    assert abs(loose - np.exp(-2.6)) < 1e-3
    assert abs(pull(1.0, 0.0)[0] + 4 * np.exp(-2.6) + 0.5 * np.exp(-0.65)) < 1e-5


def test_sizes_and_times_are_checked_as_by_scipy():
    with pytest.raises(RuntimeError, match=r"returned by func \(1\) does not match the size of y0 \(2\)"):
        sdgrad.grad(lambda p: odeint(lambda y, t: -p * y[:1], np.ones(2), TIMES)[-1, 0])(1.0)
    with pytest.raises(ValueError, match=r"(?s)test_scipy_integrate.py:.*`t_eval` are not within `t_span`"):
        sdgrad.grad(lambda p: flow(p, [1.0, 5.0]).y[0, -1])(1.0)


def spring(k, **options):
    return solve_ivp(lambda t, y: [y[1], -k * y[0]], (0.0, 2.0), [1.0, k], rtol=1e-9, atol=1e-10, **options)


def of_the_ends(k):
    solution = spring(k)
    place, speed = solution.y
    ends = solution.y.T[-1] * solution.y[..., 0] + solution.y[1:, -1]
    return np.sum(ends) + place[-1] ** 2 * solution.t[-1] + speed[0] + solution.y[:, -1][1] * len(solution.y)


INNER = {
    "sum": lambda s: np.sum(s.y),
    "one of them": lambda s: s.y[0, -2],
    "mask": lambda s: s.y[0][s.y[0] > 0].sum(),
    "product": lambda s: (2 * s.y)[0, -1],
    "shape": lambda s: s.y[0, -1] / s.y.shape[1],
    "length": lambda s: s.y[0, -1] / len(s.t),
    "interpolation": lambda s: np.interp(1.0, s.t, s.y[0]),
    "loop": lambda s: sum(s.y[0, k] for k, _ in enumerate(s.t)),
}


def programs():
    """Count the programs that are known."""
    return sum(len(s) for made in signature._signatures.values() for s in made.values())


def test_ends_of_solutions_without_times():
    check_grads(of_the_ends, (1.3,), order=1)
    gradient = sdgrad.grad(of_the_ends)
    first, known = gradient(1.3), programs()
    assert gradient(1.3) == first and sdgrad.grad(of_the_ends)(1.3) == first and programs() == known


@pytest.mark.parametrize("case", INNER)
def test_what_lies_between_is_refused(case):
    with pytest.raises(ParseError, match=r"of which the first and the last can be taken, as y\[:, -1\]"):
        sdgrad.grad(lambda k: INNER[case](spring(k)))(1.3)


def test_methods_for_stiff_equations_are_ours():
    assert [scipy_ivp._method(m) for m in ("BDF", "LSODA", "Radau", "RK23")] == ["BDF", "Radau", "Radau", "RK23"]
    with pytest.raises(ValueError, match=r"`method` must be one of .*BDF, LSODA, not 'Euler'"):
        sdgrad.grad(lambda p: flow(p, method="Euler").y[0, -1])(1.0)


def of_carried_numbers(a, b):
    y, t = a, 0.0
    while t < 1.0:
        y = y + 0.1 * integrate.quad(lambda q, y: np.exp(-y * q) * b, 0.0, y, (y,))[0]
        t += 0.4
    return y


def of_roots_in_a_loop(a, b):
    s = 0.0
    for _ in range(2):
        s += optimize.brentq(lambda z, s: z - integrate.quad(lambda y: np.cos(s * y * z) * b, 0, a)[0], 0, 3, (s,))
    return s


def of_roots_of_each_place(a, b):
    return integrate.quad(lambda s: optimize.brentq(lambda x: b * x**3 + x - a * s, -5, 5), 0, 1)[0]


@pytest.mark.parametrize("f", [of_carried_numbers, of_roots_in_a_loop, of_roots_of_each_place])
def test_integrands_read_numbers_that_a_loop_carries(f):
    check_grads(f, (0.7, 1.3), order=1)
