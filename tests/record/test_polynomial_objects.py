"""Polynomials as objects, ``np.poly1d`` and those of ``numpy.polynomial``, beside NumPy's and their differences."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
KINDS = {k.__name__: k for k in (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)}
NAMES = {
    **KINDS, "K": np.poly1d([1.0, -2.0, 0.5]), "KP": Polynomial([1.0, 2.0, -0.5], [0.0, 2.0]),
    "KC": Chebyshev([0.3, -1.0, 0.7]),
}  # fmt: skip
GIVEN = {
    "c": rng.standard_normal(4) + 0.2, "d": rng.standard_normal(3) - 0.3, "x": rng.uniform(-1, 1, 5),
    "m": rng.uniform(-1, 1, (2, 2)), "e": np.array([-0.7, 1.8]), "t": np.linspace(-1, 2, 6) + 0.1,
}  # fmt: skip
OF_FACTORS = [
    "np.poly1d(c)(x)", "(2.0 * np.poly1d(c)**2 - 1)(x)", "(np.poly1d(c) - np.poly1d(d) * K)(m)",
    "np.poly1d(c).integ(2, k=[1.0, 2.0]).coeffs", "(np.poly1d(c) / np.poly1d(d))[0](x)",
    "np.poly1d(c, True)(x)", "np.poly1d(c)(np.poly1d(d))(x)", "(K * x[0])(m)", "x[0] * np.poly1d(c)", "K(x)",
    "np.poly1d(c)([x[0], 1.0])", "np.poly1d(c)(x[0])", "(np.poly1d(c) + np.poly1d(d))(x)", "np.poly1d(c).deriv()(x)",
    "np.poly1d(c).deriv(2).c", "np.poly1d(c).c * np.poly1d(c).order", "(np.poly1d(c) / np.poly1d(d))[1](x)",
    "K(np.poly1d(d))(x)", "(K + c[0])(x)", "(1.5 - K)(x)", "np.polyval(np.poly1d(c), x)", "(K / 2.0)(x)",
    "np.polymul(np.poly1d(c), d)(x)", "np.polyder(np.poly1d(c))(x)", "np.poly1d(c)[1] + np.poly1d(c)[9]",
    "np.array([len(np.poly1d(c)), np.poly1d(c).o])", "K.deriv()(x)", "K.c * x[0]", "(np.poly1d(c) / c[0])(x)",
    "np.poly1d([1.0, 2.0])(x) * np.poly1d([1, 2]).order", "np.poly1d([c[0], 1.0, x[1]])(m)",
]  # fmt: skip
OF_ALL = [
    call
    for k in KINDS
    for call in (
        f"({k}(c, e) * {k}(d, e) + 1.5).integ()(x)", f"{k}(c, e, [0.0, 1.0]).deriv()(x)", f"{k}(c, e)(m)",
        f"{k}(c, [0.0, 3.0]).integ(2, [1.0, x[0]], lbnd=x[1])(m)", f"({k}(c)**3).coef", f"{k}(c).deriv(2).coef",
        f"{k}.fit(t, t**2 * c[0] + np.sin(t) * c[1], 2)(x)", f"{k}(c, [0.0, 3.0]).convert(kind=Chebyshev).coef",
    )
]  # fmt: skip
SERIES = [
    "(x[0] * KP - c[0])(m)", "(KC * KC.deriv() * c[1])(x)", "(Polynomial(c) // Polynomial(d)).coef",
    "Polynomial.fit(t, t**3 * c[0], 2, domain=[], w=t**2).coef", "Polynomial.fromroots(c, [0.0, 3.0]).coef",
    "KP(x)", "(KP * x[0])(m)", "KC(m)", "KP.convert()(x)", "(Polynomial(c) % Polynomial(d)).coef",
    "(Polynomial(c) / 2.0)(x)", "Polynomial(c, e).linspace(4)[1]", "Polynomial(c).cutdeg(2)(x)",
    "Polynomial(c).degree() * x[0]", "Polynomial.basis(2)(x)", "np.array([len(Polynomial(c))])", "KC.coef * x[0]",
    "Polynomial.fit(t, np.sin(t * c[0]), 2, domain=[0.0, 1.0]).convert().coef", "(1 - Polynomial(c))(x)",
    "(-Polynomial(c) + [1.0, 2.0])(x)", "Polynomial(c).mapparms()[1] * x[0]", "KP.coef * KP.domain[1]",
    "divmod(Polynomial(c), Polynomial(d))[1].coef", "Polynomial.identity()(x)", "Chebyshev(c).trim()(x)",
    "Polynomial(c, [0, 2])(Polynomial(d, [-2, 2]))(x)", "Polynomial(c)(Legendre(d)).coef",
    "Polynomial([1, 2, 3])(KP)(x)", "Chebyshev(c, [0, 1]).convert(kind=Chebyshev, domain=[-1, 2])(x)",
]  # fmt: skip
HARD = [*OF_FACTORS[:9], *OF_ALL[:8], OF_ALL[16], OF_ALL[46], *SERIES[:5]]


def test_values():
    texts = [*OF_FACTORS, *OF_ALL, *SERIES]
    assert value_differences(others(texts, HARD), NAMES, GIVEN) == []


def test_derivatives():
    assert differences(HARD, NAMES, GIVEN, loose=1e-6) == []


def test_zeros_that_numpy_leaves_out():
    def lengths(c, d):
        p, q = np.poly1d(c), Polynomial(c[::-1])
        return (p - np.poly1d(d))(2.0), (q - Polynomial(d[::-1]))(2.0), np.poly1d(np.array([0.0, 3.0])).order

    def factors(c):
        return np.poly1d(c).c, (Polynomial(c[::-1]) + 0.0).coef

    c = np.array([1.0, 2.0, 4.0])
    assert sdgrad.compile_forward(lengths)(c, c + np.array([0, 1.0, 0])) == (-2.0, -2.0, 0)
    found = sdgrad.compile_forward(factors)
    for value, wanted in zip(found(c), factors(c), strict=True):
        np.testing.assert_array_equal(value, wanted)
    with pytest.raises(ValueError, match="first factor of a poly1d is zero"):
        found(np.array([0.0, 1.0, 2.0]))


def test_objects_from_outside_are_read_again():
    held = {"p": Polynomial([1.0, 2.0]), "q": np.poly1d([3.0, 1.0])}

    def f(x):
        return held["p"](x) * held["q"](x)

    found = sdgrad.compile_forward(f)
    assert found(2.0) == f(2.0)
    held["p"] = Polynomial([5.0, 7.0])
    held["q"] = np.poly1d([4.0, 2.0])
    assert found(2.0) == f(2.0)


def test_types():
    def f(c, z):
        is_polynomial = isinstance(Chebyshev(c), Chebyshev) and isinstance(np.poly1d(c), np.poly1d)
        own = np.poly1d(c)(c), (2.0 * np.poly1d(c)).c, Polynomial(c)(c), Polynomial(c)(2), (Polynomial(c) * 2).coef
        return Chebyshev(c).deriv().coef, Polynomial(z)(1j), *(own if is_polynomial else ())

    c, z = np.array([1, 2, 3], np.float32), np.array([1, 2j])
    for value, wanted in zip(sdgrad.compile_forward(f)(c, z), f(c, z), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)
        assert np.asarray(value).dtype == np.asarray(wanted).dtype


REFUSED = {
    "whether two series are equal": lambda c: float(Polynomial(c) == Polynomial(c)),
    "a Legendre of a polynomial": lambda c: Legendre(c)(Polynomial(c))(1.0),
    "domain or window that only a run knows": lambda c: Polynomial(c, c[:2]).convert().coef[0],
    "writing a factor": lambda c: np.poly1d(c).__setitem__(0, 1.0),
    "sum of a Polynomial is not recorded": lambda c: np.sum(Polynomial(c)),
    "only a run knows how many coefficients": lambda c: Polynomial(c).trim(c[0])(1.0),
    "returns a Series": lambda c: Polynomial(c),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(np.array([1.0, 2.0, 3.0]))


def test_kinds_and_domains_must_agree():
    with pytest.raises(TypeError, match="Polynomial types differ"):
        sdgrad.grad(lambda c: (Polynomial(c) + Chebyshev(c))(1.0))(np.ones(3))
    with pytest.raises(TypeError, match="Domains differ"):
        sdgrad.grad(lambda c: (Polynomial(c) + Polynomial(c, [0.0, 1.0]))(1.0))(np.ones(3))
