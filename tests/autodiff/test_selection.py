"""What a choice did not select contributes nothing; what it did contributes what the product says."""

import numpy as np
import pytest
import scipy.special

import sdgrad
from sdgrad.autodiff.selection import Condition, Cotangent, added, pulled, settled
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import Partial

INF, NAN = np.inf, np.nan
KEEP = np.array([True, False])
TIMES = np.array([1.0, -1000.0])
DATA = np.array([2.0, NAN])


def entropy(p):
    return np.sum(np.where(p > 0, p * np.log(p), 0))


def two_sided(a):
    return np.sum(np.where(a >= 0, 1 / (1 + np.exp(-a)), np.exp(a) / (1 + np.exp(a))))


def in_a_loop(p):
    total = 0.0
    for k in range(p.shape[0]):
        total += np.where(p[k] > 0, p[k] * np.log(p[k]), 0)
    return total


def overwritten(a):
    e = np.exp(a)
    e[1] = 3.0
    return np.sum(e * e)


def extreme(a):
    return np.max(np.minimum(np.exp(a), 4.0) * a)


NOT_SELECTED = {  # function: point, gradient
    entropy: ([0.0, 0.5], [0.0, 1 - np.log(2)]),
    in_a_loop: ([0.0, 0.5], [0.0, 1 - np.log(2)]),
    two_sided: ([1000.0, -1000.0, 0.0], [0.0, 0.0, 0.25]),
    overwritten: ([0.0, 800.0], [2.0, 0.0]),
    extreme: ([1.0, 800.0], [0.0, 4.0]),
    (lambda u: np.sum(np.logaddexp(0, u))): ([710.0, -710.0, 1000.0], [1.0, 0.0, 1.0]),
    (lambda u: np.logaddexp(u[0], -INF)): ([1.0], [1.0]),
    (lambda u: np.sum(scipy.special.expit(u))): ([-800.0, 800.0, 0.0], [0.0, 0.0, 0.25]),
    (lambda a: np.nansum(a * a)): ([1.0, NAN], [2.0, 0.0]),
    (lambda a: np.nanmean(a**2)): ([1.0, NAN], [2.0, 0.0]),
    (lambda a: np.sum(np.where(np.isnan(a), 0, a**2))): ([1.0, NAN], [2.0, 0.0]),
    (lambda a: np.sum(np.where(KEEP, np.exp(a), 0))): ([0.0, 800.0], [1.0, 0.0]),
    (lambda a: np.sum(np.where(KEEP, a * DATA, 0))): ([1.0, 1.0], [2.0, 0.0]),
    (lambda t: np.sum(np.where(TIMES > 0, np.exp(-TIMES / t[0]), 0))): ([1.0], [np.exp(-1.0)]),
    (lambda a: np.sum(np.where(a < 1, a * np.sqrt(1 - a), 0))): ([0.0, 2.0], [1.0, 0.0]),
    (lambda x: np.sum(np.minimum(np.exp(x), 1))): ([800.0, -1.0], [0.0, np.exp(-1)]),
    (lambda x: min(np.cosh(x[0]), 1)): ([800.0], [0.0]),
    (lambda x: np.sum(np.clip(np.exp(x), 0.5, 2.0))): ([800.0, 0.0], [0.0, 1.0]),
    (lambda x: np.sum(np.sqrt(np.maximum(x, 0.0)) * np.where(x > 0, 1.0, 0.0))): ([-1.0, 4.0], [0.0, 0.25]),
}
SATURATED = {
    (lambda x: np.sum(np.tanh(np.exp(x)))): ([800.0, 0.0], [0.0, np.cosh(1) ** -2]),
    (lambda x: np.sum(1 / (1 + np.exp(x)))): ([800.0, 0.0], [0.0, -0.25]),
    (lambda x: np.sum(np.exp(-np.exp(x)))): ([800.0, 0.0], [0.0, -np.exp(-1)]),
    (lambda x: np.sum(np.arctan(np.sinh(x)))): ([800.0, 0.0], [0.0, 1.0]),
    (lambda x: np.sum((1 + np.exp(x)) ** -2.0)): ([800.0, 0.0], [0.0, -0.25]),
    (lambda x: np.sum(scipy.special.erf(np.exp(x)))): ([800.0], [0.0]),
}
LIMITS = {
    (lambda u: np.sum(np.sqrt(u) ** 2)): ([0.0, 1.0], [1.0, 1.0]),
    (lambda u: np.sum(np.sqrt(u) * np.sqrt(u))): ([0.0, 1.0], [1.0, 1.0]),
    (lambda u: np.sum(np.sqrt(u) ** 3)): ([0.0, 1.0], [0.0, 1.5]),
    (lambda u: np.sum((u**0.25) ** 4)): ([0.0, 1.0], [1.0, 1.0]),
    (lambda u: np.sum(np.exp(np.log(u)))): ([0.0, 1.0], [1.0, 1.0]),
    (lambda u: np.sum(np.expm1(np.log1p(u)))): ([-1.0, 1.0], [1.0, 1.0]),
    (lambda u: np.sum(np.cbrt(u) ** 3)): ([0.0, 1.0], [1.0, 1.0]),
    (lambda c: np.sum(np.arccos(c) ** 2)): ([1.0, 0.5], [-2.0, -2 * np.arccos(0.5) / np.sqrt(0.75)]),
    (lambda c: np.sum(np.arccos(c) * -np.arccos(c))): ([1.0, 0.5], [2.0, 2 * np.arccos(0.5) / np.sqrt(0.75)]),
    (lambda u: np.sum(np.sqrt(u) * (np.sqrt(u) / -2.0))): ([0.0, 1.0], [-0.5, -0.5]),
    (lambda u: np.sum((-3.0 * np.sqrt(u)) ** 3)): ([0.0, 1.0], [0.0, -40.5]),
    (lambda u: np.sum((3.0 * np.sqrt(u)) ** 2.5)): ([0.0, 1.0], [0.0, 1.25 * 3**2.5]),
    (lambda u: np.sum(np.abs(u) * (-2.0 * np.abs(u)))): ([0.0, -1.5], [0.0, 6.0]),
    (lambda a: np.linalg.norm(a)): ([0.0, 0.0], [0.0, 0.0]),  # a kink, which docs/kinks.md lists
    (lambda a: np.sum(np.array([0.0, 1.0]) * np.sqrt(a))): ([0.0, 4.0], [0.0, 0.25]),  # of no weight at all
}


@pytest.mark.parametrize("function", [*NOT_SELECTED, *SATURATED, *LIMITS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients(function):
    point, gradient = (NOT_SELECTED | SATURATED | LIMITS)[function]
    x = np.array(point)
    value, found = sdgrad.value_and_grad(function)(x)
    np.testing.assert_allclose(value, function(x.copy()), rtol=1e-12)
    np.testing.assert_allclose(found, gradient, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("function", [*NOT_SELECTED, *SATURATED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_second_derivatives_are_finite(function):
    x = np.array((NOT_SELECTED | SATURATED)[function][0])
    hessian = sdgrad.hessian(function)(x)
    assert np.isfinite(hessian[np.isfinite(x)][:, np.isfinite(x)]).all()
    assert np.isfinite(sdgrad.hvp(function, (x,), (np.ones_like(x),))[np.isfinite(x)]).all()


def test_second_derivative_of_a_squared_norm():
    np.testing.assert_array_equal(sdgrad.hessian(lambda a: np.linalg.norm(a) ** 2)(np.zeros(2)), 2 * np.eye(2))


@pytest.mark.parametrize(
    "function",
    [
        lambda u: np.sum(u * np.sqrt(u)),
        lambda u: np.sum(np.arcsin(u - 1) * (np.sqrt(u) - u**2 * 3)),
        lambda u: np.sum(1 / (1 / u)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_undefined_is_not_zero(function):
    """A zero that was selected times an infinite derivative: what is not known to have a limit is NaN or infinite."""
    assert not np.isfinite(sdgrad.grad(function)(np.array([0.0, 1.0]))[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float32_and_cotangents_of_zero():
    u = np.array([89, -89, 0.0], np.float32)
    found = sdgrad.grad(lambda u: np.sum(np.logaddexp(np.float32(0), u)))(u)
    np.testing.assert_allclose(found, [1, 0, 0.5], rtol=1e-6, atol=1e-38)
    # a cotangent of zero that is given asks for nothing, whatever the derivative is
    _, pullback = sdgrad.vjp(np.sqrt, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(pullback(np.array([0.0, 1.0]))[0], [0.0, 0.5])
    np.testing.assert_array_equal(sdgrad.jacobian(np.sqrt)(np.array([0.0, 1.0])), [[INF, 0.0], [0.0, 0.5]])


# Conditions -----------------------------------------------------------------------------------------


class Lets(list):
    """Define names for expressions, and list both."""

    def __call__(self, expr):
        self.append(code.ast.unparse(expr))
        return f"t{len(self)}"


A, B = (Condition.of(code.parse(text)) for text in ("a > 0", "not b"))
NOT_A = Condition.of(code.parse("not a > 0"))
ZERO = code.constant(0)


def test_opposite_conditions_are_a_choice():
    let = Lets()
    total = added([Cotangent("g", (A,), exact=False), Cotangent("h", (NOT_A,), exact=False)], let, ZERO)
    assert (total.when, total.exact, list(let)) == ((), True, ["g if a > 0 else h"])


def test_shared_conditions_stay_to_be_applied():
    let = Lets()
    total = added([Cotangent("g", (A, B), exact=False), Cotangent("h", (A,), exact=False)], let, ZERO)
    assert (total.when, total.exact, list(let)) == ((A,), False, ["g if not b else 0", "t1 + h"])
    assert settled(total, let, ZERO).exact
    assert let[-1] == "t2 if a > 0 else 0"


def test_a_sum_was_selected_where_one_part_was():
    let = Lets()
    total = added([Cotangent("g", (A,)), Cotangent("h", (B,))], let, ZERO)
    assert [c.text for c in total.when] == ["t2"]
    assert list(let) == ["g + h", "(a > 0) | (not b)"]


def test_numbers_keep_zeros():
    g = Cotangent("g", (A,))
    assert pulled(g, "h", Partial("x", code.parse("2.0")), None).exact
    assert not pulled(g, "h", Partial("x", code.parse("y")), None).exact
    assert pulled(Cotangent("g"), "h", Partial("x", code.parse("y")), None).exact  # nothing to be applied


@pytest.mark.parametrize("steps", [1, 4])
def test_kinks_whose_conditions_are_kept(steps):
    """Operands that are overwritten: the tape holds what the conditions said."""

    def f(x):
        y, z = x * 1.0, x * 1.0
        for _ in range(steps):
            y = np.hypot(y, 0.0) * x
            z = np.maximum(z, x) * np.minimum(z * z, 4.0)
        return np.sum(y) + np.sum(z)

    x = np.array([0.0, 0.5, 1.2])
    value, found = sdgrad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x))
    assert found[0] == 0
    step = 1e-6
    wanted = [(f(x + step * d) - f(x - step * d)) / (2 * step) for d in np.eye(3)]
    # a tie at the start, where z and x are equal: one half to each, which differences of both do not tell apart
    np.testing.assert_allclose(found[1:], wanted[1:], rtol=1e-6)
