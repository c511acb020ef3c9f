"""Functions of ``numpy.polynomial`` for all families of series, beside NumPy's and their differences."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial
from together import differences, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
KINDS = (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)
NAMES = {"P": np.polynomial, **{k.__name__: k for k in KINDS}}
GIVEN = {
    "x": rng.uniform(-0.7, 0.7, 6), "c": rng.standard_normal(4) + 0.3, "d": rng.standard_normal(3) - 0.4,
    "e": rng.standard_normal((3, 2)), "s": 1.3, "t": np.linspace(-1, 1, 6),
}  # fmt: skip
OF_EACH = [
    f"P.{module}.{short}{call}"
    for module, short in FAMILIES.items()
    for call in (
        "add(c, d)", "sub(d, c)", "mul(c, d)", "mul([s], c)", "mulx(c)", "div(c, d)[0]", "div(c, d)[1]",
        "div(d, c)[1]", "div(c, [s])[0]", "pow(d, 3)", "pow(d, 0) * s", "pow(d, 1)", "line(s, c[0])", "line(s, 0)",
        "fromroots(c)", "companion(c)", "companion(c[:2])", "roots(d).imag", "roots(c).real", "roots(d[:2]).real",
        "fit(t, x, 2)", "fit(t, np.stack([x, x**2], 1), [3, 0], w=t**2 + s)", "der(c)", "der(e, 2, s)",
        "der(e, axis=1)", "der(c, 4)", "int(c)", "int(c, 2, [s, 2.0], 0.3, 1.5)", "int(e, 1, s, axis=1)",
        "int(c, lbnd=s * 0.5)", "int(c, 0)",
    )
]  # fmt: skip
OF_ONE = [
    *(f"P.{module}.{short}weight(x)" for module, short in FAMILIES.items() if short != "poly"),
    "P.polynomial.polyvalfromroots(x, c)", "P.polynomial.polyvalfromroots(x[:2], e, tensor=False)",
    "P.polynomial.polyvalfromroots(s, e)", "P.chebyshev.chebinterpolate(lambda p, a: np.sin(a * p), 4, (s,))",
    *(f"{k.__name__}(c, [0, 2]).roots().real" for k in KINDS),
    *(f"{k.__name__}.fromroots(c, [0, 2]).coef" for k in KINDS),
    *(f"({k.__name__}(c) // {k.__name__}(d)).coef" for k in KINDS[1:]), "(Legendre(c) % Legendre(d)).coef",
]  # fmt: skip


def test_values():
    assert value_differences([*OF_EACH, *OF_ONE], NAMES, GIVEN) == []


def test_derivatives():
    assert differences([*OF_EACH[::7], *OF_ONE[::5]], NAMES, GIVEN, step=5e-4, loose=1e-6) == []


@pytest.mark.parametrize(("module", "short"), FAMILIES.items())
def test_roots_move_as_their_equation_says(module, short):
    """``dr = -phi_k(r) / f'(r)``, by NumPy's values of the basis."""
    own, c = getattr(np.polynomial, module), np.array([0.3, -1.2, 0.4, 0.8])

    def total(c):
        return np.sum(np.exp(getattr(getattr(np.polynomial, module), f"{short}roots")(c)).real)

    zeros = getattr(own, f"{short}roots")(c).astype(complex)
    slope = getattr(own, f"{short}val")(zeros, getattr(own, f"{short}der")(c))
    wanted = [-np.sum(np.exp(zeros) * getattr(own, f"{short}val")(zeros, unit) / slope).real for unit in np.eye(4)]
    np.testing.assert_allclose(sdgrad.grad(total)(c), wanted, rtol=1e-9)


def test_single_precision_and_complex_numbers():
    def f(x, z):
        own = np.polynomial.legendre
        return (
            own.legmul(x, x), own.legder(x), own.legint(z), own.legfromroots(x), own.legmul(z, x), own.legpow(z, 2),
            own.legdiv(z, x[:2])[0], own.legroots(z), own.legmulx(x), own.legfit(x, x, 1), own.legfromroots(z),
        )  # fmt: skip

    x = GIVEN["c"].astype(np.float32)
    for z in (GIVEN["c"] + 1j * GIVEN["c"][::-1], (GIVEN["c"] + 1j * GIVEN["c"][::-1]).astype(np.complex64)):
        for found, wanted in zip(sdgrad.compile_forward(f)(x, z), f(x, z), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_whole_numbers_and_zeros_that_are_known():
    def f(k):
        own = np.polynomial.chebyshev
        return own.chebmul(k, [1, 2, 0, 0]), own.chebadd([1, 2], [1, -2]) * k[0], own.chebder(k), own.chebfromroots(k)

    k = np.array([3, -1, 2])
    for found, wanted in zip(sdgrad.compile_forward(f)(k), f(k), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted)


ZEROS = {
    "chebmul: the last factor is zero": lambda c: np.polynomial.chebyshev.chebmul(c, [1.0, 2.0]),
    "legdiv: division by a series that is zero": lambda c: np.polynomial.legendre.legdiv([1.0, 2.0], c[1:])[0],
    "hermint: the series is zero": lambda c: np.polynomial.hermite.hermint(c[1:]),
    "lagline: scl is zero": lambda c: np.polynomial.laguerre.lagline(1.0, c[1]),
    "polyroots: the last factor is zero": lambda c: np.polynomial.polynomial.polyroots(c),
    "polydiv: of the remainder: the last factor is zero": lambda c: np.polynomial.polynomial.polydiv(c, [0.0, 0.5, 1])[
        1
    ],
}


@pytest.mark.parametrize("told", ZEROS)
def test_zeros_that_only_a_run_knows(told):
    kind = ZeroDivisionError if "division" in told else ValueError
    given = (
        np.array([1.0, 0.0]) if "remainder" not in told else np.array([1.0, 1.0, 1.0, 2.0]) * np.array([1, 0.5, 2, 1])
    )
    with pytest.raises(kind, match=told):
        sdgrad.compile_forward(ZEROS[told])(given)


WRONG = [
    (ValueError, "non-negative integer", lambda c: np.polynomial.legendre.legpow(c, -1)),
    (ValueError, "Power is too large", lambda c: np.polynomial.legendre.legpow(c, 17)),
    (ValueError, "maximum degree of at least 1", lambda c: np.polynomial.hermite.hermcompanion(c[:1])),
    (ValueError, "not 1-d", lambda c: np.polynomial.hermite.hermmul(c[None], c)),
    (ValueError, "must be non-negative", lambda c: np.polynomial.laguerre.lagder(c, -1)),
    (ValueError, "Too many integration", lambda c: np.polynomial.laguerre.lagint(c, 1, [1.0, 2.0])),
    (ValueError, "expected deg", lambda c: np.polynomial.laguerre.lagfit(c, c, -1)),
    (TypeError, "same length", lambda c: np.polynomial.laguerre.lagfit(c, c[:2], 1)),
    (ValueError, "x.ndim must be", lambda c: np.polynomial.polynomial.polyvalfromroots(c, c, tensor=False)),
    (ParseError, "legfit: full=True is not recorded", lambda c: np.polynomial.legendre.legfit(c, c, 1, full=True)[0]),
    (ParseError, "trimcoef has no derivative here", lambda c: np.polynomial.chebyshev.chebtrim(c)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "told", "function"), WRONG)
def test_wrong_arguments(kind, told, function):
    with pytest.raises(kind, match=told):
        sdgrad.compile_forward(function)(GIVEN["c"])
