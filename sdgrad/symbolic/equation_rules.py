"""Tabulate solutions of differential equations, integrals by their ends, and inverses by a parameter."""

from __future__ import annotations

from sdgrad.symbolic.rows import ANY, POSITIVE, UNKNOWN, Interval, ScalarRule, binary, unary
from sdgrad.symbolic.special_rules import LARGER, NONE, SMALL, several, t_density

# the second derivatives of ber and bei near 0, where a quotient by x would be one of zeros (DLMF 10.65.1)
_SMALL_BER = "-0.1875 * x ** 2 + 56 * x ** 6 / 147456.0 - 132 * x ** 10 / 2123366400.0"
_SMALL_BEI = "0.5 - 30 * x ** 4 / 2304.0 + 90 * x ** 8 / 14745600.0 - 182 * x ** 12 / 416179814400.0"


def kelvin(name: str, other: str, sign: str, near: str, **kw) -> tuple[ScalarRule, ScalarRule]:
    """Return the rows of a Kelvin function and of its derivative, from ``x^2 w'' + x w' = i x^2 w`` (DLMF 10.61.3)."""
    beyond = f"{sign}scipy_{other}(x) - y / x"
    second = f"{near} if abs(x) < 0.4 else {beyond}" if near else beyond
    return unary(f"scipy_{name}", f"scipy_{name}p(x)", POSITIVE, **kw), unary(f"scipy_{name}p", second, POSITIVE, **kw)


def cylinder(name: str, second: str, domain: Interval) -> tuple[ScalarRule, ScalarRule]:
    """Return the rows of a parabolic cylinder function and of its derivative (DLMF 12.2)."""
    slope = f"{second} * scipy_{name}_value(a, b)"
    return (
        binary(f"scipy_{name}_value", UNKNOWN, f"scipy_{name}_slope(a, b)", domain, ANY),
        binary(f"scipy_{name}_slope", UNKNOWN, slope, domain, ANY),
    )


EQUATIONS = (  # DLMF 10.46, 10.61, 12.2, 13.3.22
    *kelvin("ber", "bei", "-", _SMALL_BER),
    *kelvin("bei", "ber", "", _SMALL_BEI),
    *kelvin("ker", "kei", "-", "", singular=True),
    *kelvin("kei", "ker", "", "", singular=True),
    *cylinder("pbdv", "(0.25 * b * b - a - 0.5)", (-1.0, 3.0)),
    *cylinder("pbvv", "(0.25 * b * b - a - 0.5)", (-1.0, 3.0)),
    *cylinder("pbwa", "(a - 0.25 * b * b)", (-1.0, 3.0)),
    several(
        "scipy_hyperu", UNKNOWN, UNKNOWN, "-a * scipy_hyperu(a + 1, b + 1, c)", domain=(POSITIVE,) * 3, singular=True
    ),
    several("scipy_wright_bessel", UNKNOWN, UNKNOWN, "scipy_wright_bessel(a, b + a, c)", domain=(POSITIVE,) * 3),
    several(
        "scipy_log_wright_bessel",
        UNKNOWN,
        UNKNOWN,
        "exp(scipy_log_wright_bessel(a, b + a, c) - y)",
        domain=(POSITIVE,) * 3,
    ),
)

INTEGRALS = (  # of functions of their own
    unary("scipy_itairy_ai", "scipy_airy_ai(x)"),
    unary("scipy_itairy_bi", "scipy_airy_bi(x)", overflows=True),
    unary("scipy_itairy_minus_ai", "scipy_airy_ai(-x)"),
    unary("scipy_itairy_minus_bi", "scipy_airy_bi(-x)"),
    unary("scipy_it_j0", "scipy_j0(x)"),
    unary("scipy_it_y0", "scipy_y0(x)", POSITIVE, singular=True),
    unary("scipy_it_i0", "scipy_i0(x)", overflows=True),
    unary("scipy_it_k0", "scipy_k0(x)", POSITIVE, singular=True),
    unary("scipy_itstruve0", "scipy_struve(0.0, x)", POSITIVE),
    unary("scipy_it2struve0", "-scipy_struve(0.0, x) / x if x != 0 else -0.6366197723675814", POSITIVE),
    unary("scipy_itmodstruve0", "scipy_modstruve(0.0, x)", POSITIVE, overflows=True),
    unary("scipy_zetac", "special_zeta(1, x, 1.0)", (1.5, 6.0), singular=True),
    unary("scipy_gammasgn", None),
    several(
        "scipy_elliprg",  # DLMF 19.18
        *(
            f"0.25 * (scipy_elliprf(a, b, c) + (2 * {v} * special_carlson({n}, a, b, c) if {v} != 0 else 0))"
            for v, n in (("a", "1, 0, 0"), ("b", "0, 1, 0"), ("c", "0, 0, 1"))
        ),
        domain=(POSITIVE,) * 3,
        singular=True,
    ),
    several(
        "scipy_elliprj",
        *(f"special_carlson_j({n}, a, b, c, d)" for n in ("1, 0, 0, 0", "0, 1, 0, 0", "0, 0, 1, 0", "0, 0, 0, 1")),
        domain=(POSITIVE,) * 4,
        singular=True,
    ),
    several(
        "special_carlson_j",
        *(None,) * 4,
        *(
            f"special_carlson_j({n}, e, f, h, p)"
            for n in ("a + 1, b, c, d", "a, b + 1, c, d", "a, b, c + 1, d", "a, b, c, d + 1")
        ),
        domain=(*(NONE,) * 4, *(POSITIVE,) * 4),
        singular=True,
    ),
)

_BY_SHAPE = "special_gammainc(1, {0}, {1})"
_BY_A, _BY_B = "special_betainc(1, 0, {0}, {1}, c)", "special_betainc(0, 1, {0}, {1}, c)"
_BETA = "special_beta_density(0, 0, {0}, {1}, c)"
_T = t_density("y", "b")
INVERSES = (  # of distribution functions by a parameter
    several(
        "scipy_gdtrib",
        f"-c * special_gamma_density(0, y, a * c) / {_BY_SHAPE.format('y', 'a * c')}",
        f"1 / {_BY_SHAPE.format('y', 'a * c')}",
        f"-a * special_gamma_density(0, y, a * c) / {_BY_SHAPE.format('y', 'a * c')}",
        domain=(LARGER, SMALL, LARGER),
        singular=True,
    ),
    binary(
        "scipy_chdtriv",
        f"2 / {_BY_SHAPE.format('0.5 * y', '0.5 * b')}",
        f"-special_gamma_density(0, 0.5 * y, 0.5 * b) / {_BY_SHAPE.format('0.5 * y', '0.5 * b')}",
        SMALL,
        LARGER,
        singular=True,
    ),
    binary(
        "scipy_stdtridf",
        "1 / special_stdtr_by_freedom(y, b)",
        f"-{_T} / special_stdtr_by_freedom(y, b)",
        SMALL,
        ANY,
        singular=True,
    ),
    several(
        "scipy_btdtria",
        f"1 / {_BY_A.format('y', 'b')}",
        f"-{_BY_B.format('y', 'b')} / {_BY_A.format('y', 'b')}",
        f"-{_BETA.format('y', 'b')} / {_BY_A.format('y', 'b')}",
        domain=(SMALL, LARGER, SMALL),
        singular=True,
    ),
    several(
        "scipy_btdtrib",
        f"-{_BY_A.format('a', 'y')} / {_BY_B.format('a', 'y')}",
        f"1 / {_BY_B.format('a', 'y')}",
        f"-{_BETA.format('a', 'y')} / {_BY_B.format('a', 'y')}",
        domain=(LARGER, SMALL, SMALL),
        singular=True,
    ),
    several(
        "scipy_nbdtri",
        UNKNOWN,
        UNKNOWN,
        "1 / special_beta_density(0, 0, b, floor(a) + 1, y)",
        domain=((1, 3), (2, 4), SMALL),
        singular=True,
    ),
)

OF_EQUATIONS = (*EQUATIONS, *INTEGRALS, *INVERSES)
