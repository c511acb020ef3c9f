"""Tabulate the derivatives of functions of whole degree or order, and of discrete and continuous distributions."""

from __future__ import annotations

from sdgrad.symbolic.rows import ANY, POSITIVE, UNIT, UNKNOWN, Interval, ScalarRule, binary, unary
from sdgrad.symbolic.special_rules import LARGER, NONE, SMALL, several, t_density

_PART = "special_spherical_{0}n({1}, b)"


def spherical(letter: str, before: str, after: str, first: str, **kw) -> ScalarRule:
    """Return the row of a spherical Bessel function, with the signs of its neighbours (DLMF 10.51)."""
    lower, upper = _PART.format(letter, "a - 1"), _PART.format(letter, "a + 1")
    both = f"({before}a * {lower} {after} (a + 1) * {upper}) / (2 * a + 1)"
    partial = f"{first}{_PART.format(letter, '1')} if a == 0 else {both}"
    return binary(f"special_spherical_{letter}n", None, partial, (0, 3), POSITIVE, **kw)


def polynomial(name: str, partial: str, *parameters: Interval) -> ScalarRule:
    """Return the row of an orthogonal polynomial, whose degree is whole."""
    parameter = f"scipy.special.eval_{name} by a parameter"
    partials = (None, *(UNKNOWN,) * len(parameters), partial)
    return several(f"special_{name}", *partials, domain=((0, 5), *parameters, UNIT), extra={"called": parameter})


POLYNOMIALS = (  # DLMF 18.9
    polynomial("gegenbauer", "2 * b * special_gegenbauer(a - 1, b + 1, c)", POSITIVE),
    polynomial("chebyt", "a * special_gegenbauer(a - 1, 1.0, b)"),
    polynomial("genlaguerre", "-special_genlaguerre(a - 1, b + 1, c)", POSITIVE),
    polynomial("hermite", "2 * a * special_hermite(a - 1, b)"),
    polynomial("hermitenorm", "a * special_hermitenorm(a - 1, b)"),
    polynomial("jacobi", "0.5 * (a + b + c + 1) * special_jacobi(a - 1, b + 1, c + 1, d)", POSITIVE, POSITIVE),
    spherical("j", "", "-", "-"),
    spherical("y", "", "-", "-", singular=True),
    spherical("i", "", "+", "", overflows=True),
    spherical("k", "-", "-", "-", singular=True),
    unary("scipy_airy_ai", "scipy_airy_aip(x)"),  # DLMF 9.2
    unary("scipy_airy_aip", "x * scipy_airy_ai(x)"),
    unary("scipy_airy_bi", "scipy_airy_bip(x)", overflows=True),
    unary("scipy_airy_bip", "x * scipy_airy_bi(x)", overflows=True),
)

_T = t_density("a", "y")
_PLACE, _SQUARE = "a * y / (b + a * y)", "((b + a * y) * (b + a * y))"
_F = f"special_beta_density(0, 0, 0.5 * a, 0.5 * b, {_PLACE})"
_CHANCE = "special_beta_density(0, 0, floor(a) + 1, b - floor(a), {})"
DISTRIBUTIONS = (
    several("scipy_bdtr", UNKNOWN, UNKNOWN, "-" + _CHANCE.format("c"), domain=((1, 2), (4, 6), SMALL)),
    several("scipy_bdtrc", UNKNOWN, UNKNOWN, _CHANCE.format("c"), domain=((1, 2), (4, 6), SMALL)),
    several(
        "scipy_bdtri",
        UNKNOWN,
        UNKNOWN,
        f"-1 / {_CHANCE.format('y')}",
        domain=((1, 2), (4, 6), SMALL),
        singular=True,
    ),
    *(
        several(
            f"scipy_nbdtr{end}",
            UNKNOWN,
            UNKNOWN,
            f"{sign}special_beta_density(0, 0, b, floor(a) + 1, c)",
            domain=((1, 3), (2, 4), SMALL),
        )
        for end, sign in (("", ""), ("c", "-"))
    ),
    binary("scipy_pdtr", UNKNOWN, "-special_gamma_density(0, floor(a) + 1, b)", (0, 4), POSITIVE),
    binary("scipy_pdtrc", UNKNOWN, "special_gamma_density(0, floor(a) + 1, b)", (0, 4), POSITIVE),
    binary("scipy_pdtri", UNKNOWN, "-1 / special_gamma_density(0, floor(a) + 1, y)", (0, 4), SMALL, singular=True),
    binary("scipy_stdtrit", f"-special_stdtr_by_freedom(a, y) / {_T}", f"1 / {_T}", LARGER, SMALL, singular=True),
    several(
        "scipy_fdtri",
        f"-(0.5 * special_betainc(1, 0, 0.5 * a, 0.5 * b, {_PLACE}) * {_SQUARE} / {_F} + b * y) / (a * b)",
        f"-(0.5 * special_betainc(0, 1, 0.5 * a, 0.5 * b, {_PLACE}) * {_SQUARE} / {_F} - a * y) / (a * b)",
        f"{_SQUARE} / (a * b * {_F})",
        domain=(LARGER, LARGER, SMALL),
        singular=True,
    ),
    several(  # NIST DLMF 7.19: it solves the equation of heat, and is the real part of an analytic function
        "scipy_voigt_profile",
        "special_voigt(1, 0, a, b, c)",
        "b * special_voigt(2, 0, a, b, c)",
        "-special_voigt(1, 1, a, b, c)",
        domain=(ANY, POSITIVE, POSITIVE),
    ),
    several(
        "special_voigt",
        None,
        None,
        "special_voigt(a + 1, b, c, d, e)",
        "d * special_voigt(a + 2, b, c, d, e)",
        "(2 * b - 1) * special_voigt(a + 1, 1 - b, c, d, e)",
        domain=(NONE, (0, 1), ANY, POSITIVE, POSITIVE),
    ),
)

OF_DEGREES = (*POLYNOMIALS, *DISTRIBUTIONS)
