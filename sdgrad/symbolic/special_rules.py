"""Tabulate the derivatives of special functions (DLMF by chapter), as the table of scalar rules does of others.

Functions called ``scipy_..`` are SciPy's. Those called ``special_..`` are the functions of ``sdgrad_special.h``: most
have one more argument, which says how often they are differentiated, so that derivatives of each order are right to the
last digits. Domains are where tests sample arguments; integers in them are orders.
"""

from __future__ import annotations

from sdgrad.symbolic.rows import ANY, POSITIVE, UNIT, UNKNOWN, Interval, ScalarRule, binary, unary

NONE: Interval = (0, 0)  # of an argument that counts derivatives
SMALL: Interval = (0.05, 0.95)
ORDER: Interval = (0, 3)
LARGER: Interval = (0.5, 6.0)


def t_density(df: str, t: str) -> str:
    """Return the density of Student's t, that of the normal distribution if the degrees of freedom are infinite."""
    own = f"exp(-0.5 * ({df} + 1) * log1p({t} * {t} / {df}) - special_betaln(0.5 * {df}, 0.5)) / sqrt({df})"
    return f"(0.3989422804014327 * exp(-0.5 * {t} * {t}) if {df} > 1.7976931348623157e308 else {own})"


def several(name: str, *partials: str | None, domain: tuple[Interval, ...], **kw) -> ScalarRule:
    """Return the row of a function of three or more arguments."""
    return ScalarRule(name, partials, domain, **kw)


# 1 / Gamma(x), left of its first maximum by the reflection formula, which has no poles there
_PSI, _PSI_SLOPE = "sdgrad_polygamma(0, 1 - x)", "sdgrad_polygamma(1, 1 - x)"
_BENT = f"({_PSI} * {_PSI} + {_PSI_SLOPE}) / 3.141592653589793 - 3.141592653589793"
_RGAMMA_LEFT = 0.4
_RGAMMA_SLOPE = f"special_rgamma_slope(x) if x < {_RGAMMA_LEFT} else (-y * sdgrad_polygamma(0, x) if y != 0 else 0 * y)"
_RGAMMA_SECOND = f"tgamma(1 - x) * (scipy_sindg(180 * x) * ({_BENT}) - 2 * {_PSI} * scipy_cosdg(180 * x))"

ERRORS = (  # DLMF 7
    binary("special_wofz", None, "special_wofz(a + 1, b)", NONE, ANY),  # these three are of complex numbers
    unary("scipy_erf", "1.1283791670955126 * exp(-x * x)"),
    unary("scipy_erfc", "-1.1283791670955126 * exp(-x * x)"),
    unary("scipy_erfi", "1.1283791670955126 * exp(x * x)", overflows=True),
    unary("scipy_erfinv", "0.886226925452758 * exp(y * y)", UNIT, singular=True),
    unary("scipy_erfcinv", "-0.886226925452758 * exp(y * y)", (0.05, 1.9), singular=True),
    unary("scipy_ndtri", "2.5066282746310002 * exp(0.5 * y * y)", SMALL, singular=True),
    unary(
        "scipy_ndtri_exp", "1.2533141373155003 * special_erfcx(0, -0.7071067811865476 * y)", (-3.0, -0.1), singular=True
    ),
    unary("scipy_log_ndtr", "0.7978845608028654 / special_erfcx(0, -0.7071067811865476 * x)", depends=("y != 0",)),
    binary("special_erfcx", None, "special_erfcx(a + 1, b)", NONE, ANY, overflows=True),
    binary("special_dawsn", None, "special_dawsn(a + 1, b)", NONE, ANY),  # of real and of complex numbers
    binary(
        "scipy_owens_t",  # Patefield and Tandy 2000
        "-0.19947114020071635 * exp(-0.5 * a * a) * erf(0.7071067811865476 * a * b)",
        "0.15915494309189535 * exp(-0.5 * a * a * (1 + b * b)) / (1 + b * b)",
    ),
    unary("scipy_fresnel_sine", "sin(1.5707963267948966 * x * x)"),
    unary("scipy_fresnel_cosine", "cos(1.5707963267948966 * x * x)"),
)

_HALF = "0.5 * ({0}(a - 1, b) {1} {0}(a + 1, b))"
_POWER = "(0.5 * b) ** a / (1.772453850905516 * tgamma(a + 1.5))"
BESSEL = (  # DLMF 10, 11
    unary("scipy_j0", "-scipy_j1(x)"),
    unary("scipy_j1", "0.5 * (scipy_j0(x) - scipy_jv(2.0, x))"),
    binary("scipy_jv", UNKNOWN, _HALF.format("scipy_jv", "-"), ORDER, POSITIVE),
    unary("scipy_y0", "-scipy_y1(x)", POSITIVE, singular=True),
    unary("scipy_y1", "0.5 * (scipy_y0(x) - scipy_yv(2.0, x))", POSITIVE, singular=True),
    binary("scipy_yv", UNKNOWN, _HALF.format("scipy_yv", "-"), ORDER, POSITIVE, singular=True),
    binary("scipy_jve", UNKNOWN, _HALF.format("scipy_jve", "-"), ORDER, POSITIVE),
    binary("scipy_yve", UNKNOWN, _HALF.format("scipy_yve", "-"), ORDER, POSITIVE, singular=True),
    unary("scipy_i0", "scipy_i1(x)", overflows=True),
    unary("scipy_i1", "0.5 * (scipy_i0(x) + scipy_iv(2.0, x))", overflows=True),
    binary("scipy_iv", UNKNOWN, _HALF.format("scipy_iv", "+"), ORDER, POSITIVE, overflows=True),
    unary("scipy_i0e", "special_ive(1, 0.0, x)"),
    unary("scipy_i1e", "special_ive(1, 1.0, x)"),
    several("special_ive", None, UNKNOWN, "special_ive(a + 1, b, c)", domain=(NONE, ORDER, POSITIVE)),
    unary("scipy_k0", "-scipy_k1(x)", POSITIVE, singular=True),
    unary("scipy_k1", "-0.5 * (scipy_k0(x) + scipy_kv(2.0, x))", POSITIVE, singular=True),
    binary("scipy_kv", UNKNOWN, "-" + _HALF.format("scipy_kv", "+"), ORDER, POSITIVE, singular=True),
    unary("scipy_k0e", "special_kve(1, 0.0, x)", POSITIVE, singular=True),
    unary("scipy_k1e", "special_kve(1, 1.0, x)", POSITIVE, singular=True),
    several("special_kve", None, UNKNOWN, "special_kve(a + 1, b, c)", domain=(NONE, ORDER, POSITIVE), singular=True),
    binary(
        "scipy_struve",
        UNKNOWN,
        f"0.5 * (scipy_struve(a - 1, b) - scipy_struve(a + 1, b) + {_POWER})",
        ORDER,
        POSITIVE,
    ),
    binary(
        "scipy_modstruve",
        UNKNOWN,
        f"0.5 * (scipy_modstruve(a - 1, b) + scipy_modstruve(a + 1, b) + {_POWER})",
        ORDER,
        POSITIVE,
        overflows=True,
    ),
)

INTEGRALS = (  # DLMF 6, 8.19, 25.12
    unary("scipy_exp1", "-exp(-x) / x", POSITIVE, singular=True),
    unary("scipy_expi", "exp(x) / x", POSITIVE, singular=True, overflows=True),
    binary("special_expn", UNKNOWN, "-special_expn(a - 1, b)", (1, 4), POSITIVE, singular=True),
    unary("scipy_spence", "log(x) / (1 - x) if x < 0.6 else -sdgrad_log1prel(0, x - 1)", POSITIVE, singular=True),
    unary("scipy_si", "scipy_hyp0f1(1.5, -0.25 * x * x)"),
    unary("scipy_ci", "cos(x) / x", POSITIVE, singular=True),
    unary("scipy_shi", "scipy_hyp0f1(1.5, 0.25 * x * x)", overflows=True),
    unary("scipy_chi", "cosh(x) / x", POSITIVE, singular=True, overflows=True),
    binary("special_lambertw", None, "exp(-y) / (1 + y)", NONE, POSITIVE, singular=True),
    unary("scipy_wrightomega", "y / (1 + y)"),
)

_GAMMA_INVERSE = "special_gammainc(1, a, y) / special_gamma_density(0, a, y)"
_BETA_INVERSE = "special_betainc({0}, {1}, a, b, y) / special_beta_density(0, 0, a, b, y)"
_DENSITY_BESIDE = "special_beta_density(0, 0, b, a, {0})"  # by what is left to one
_BETA_BESIDE = "special_betainc({0}, {1}, b, a, {2}) / special_beta_density(0, 0, b, a, {2})"
_DENSITY = "special_gamma_density({0}, b, c)"
_OF_TWO = "special_beta_density({0}, {1}, c, d, e)"
GAMMA = (  # DLMF 5, 8, 25.11
    binary(
        "scipy_binom",
        "-y * special_polygamma_difference(0, a - b + 1, b)",
        "y * (sdgrad_polygamma(0, a - b + 1) - sdgrad_polygamma(0, b + 1))",
        (3.0, 6.0),
        (0.2, 2.9),
        singular=True,
    ),
    binary(
        "scipy_poch",
        "-y * special_polygamma_difference(0, a, b)",
        "y * sdgrad_polygamma(0, a + b)",
        POSITIVE,
        POSITIVE,
        singular=True,
    ),
    binary("special_psi", None, "special_psi(a + 1, b)", NONE, POSITIVE),  # these three are of complex numbers
    unary("scipy_gamma", "y * special_psi(0, x)", POSITIVE, overflows=True),
    unary("scipy_loggamma", "special_psi(0, x)", POSITIVE),
    unary("scipy_rgamma", _RGAMMA_SLOPE, ANY),
    unary("special_rgamma_slope", _RGAMMA_SECOND, (-2.7, _RGAMMA_LEFT)),
    binary(
        "special_beta",
        "y * special_polygamma_difference(0, a, b)",
        "y * special_polygamma_difference(0, b, a)",
        POSITIVE,
        POSITIVE,
        singular=True,
    ),
    binary(
        "special_betaln",
        "special_polygamma_difference(0, a, b)",
        "special_polygamma_difference(0, b, a)",
        POSITIVE,
        POSITIVE,
        singular=True,
    ),
    several(
        "special_polygamma_difference",
        None,
        "special_polygamma_difference(a + 1, b, c)",
        "-sdgrad_polygamma(a + 1, b + c)",
        domain=(NONE, POSITIVE, POSITIVE),
        singular=True,
    ),
    several(
        "special_gammainc",
        None,
        "special_gammainc(a + 1, b, c)",
        "special_gamma_density(a, b, c)",
        domain=(NONE, LARGER, LARGER),
        singular=True,
        steep=True,
    ),
    several(
        "special_gamma_density",
        None,
        "special_gamma_density(a + 1, b, c)",
        f"{_DENSITY.format('a')} * ((b - 1) / c - 1) + a * {_DENSITY.format('a - 1')} / c",
        domain=(NONE, LARGER, LARGER),
        singular=True,
    ),
    binary(
        "scipy_gammaincc",
        "-special_gammainc(1, a, b)",
        "-special_gamma_density(0, a, b)",
        LARGER,
        LARGER,
        singular=True,
        steep=True,
    ),
    binary(
        "scipy_gammaincinv", f"-{_GAMMA_INVERSE}", "1 / special_gamma_density(0, a, y)", LARGER, SMALL, singular=True
    ),
    binary(
        "scipy_gammainccinv", f"-{_GAMMA_INVERSE}", "-1 / special_gamma_density(0, a, y)", LARGER, SMALL, singular=True
    ),
    several(  # implicit reparameterisation (Figurnov, Mohamed and Mnih 2018)
        "special_gamma_path",
        "y * special_gamma_slope(0, a, log(y)) if y != 0 else 0",
        "special_gammainc(1, b, c) / special_gamma_density(0, a, y)",
        "special_gamma_density(0, b, c) / special_gamma_density(0, a, y)",
        domain=(LARGER, LARGER, LARGER),
        singular=True,
    ),
    several(
        "special_log_gamma_path",
        "special_gamma_slope(0, a, y)",
        "special_gammainc(1, b, exp(c)) / (exp(y) * special_gamma_density(0, a, exp(y)))",
        "exp(c - y) * special_gamma_density(0, b, exp(c)) / special_gamma_density(0, a, exp(y))",
        domain=(LARGER, LARGER, ANY),
        singular=True,
    ),
    several(
        "special_gamma_slope",
        None,
        "special_gamma_slope(a + 1, b, c)",
        "sdgrad_polygamma(a, b) - (c if a == 0 else 0) - (b - exp(c)) * special_gamma_slope(a, b, c)"
        " - a * special_gamma_slope(a - 1, b, c)",
        domain=(NONE, LARGER, ANY),
    ),
    several(
        "special_betainc",
        None,
        None,
        "special_betainc(a + 1, b, c, d, e)",
        "special_betainc(a, b + 1, c, d, e)",
        "special_beta_density(a, b, c, d, e)",
        domain=(NONE, NONE, LARGER, LARGER, SMALL),
        singular=True,
        steep=True,
    ),
    several(
        "special_beta_density",
        None,
        None,
        "special_beta_density(a + 1, b, c, d, e)",
        "special_beta_density(a, b + 1, c, d, e)",
        f"{_OF_TWO.format('a', 'b')} * ((c - 1) / e - (d - 1) / (1 - e))"
        f" + a * {_OF_TWO.format('a - 1', 'b')} / e - b * {_OF_TWO.format('a', 'b - 1')} / (1 - e)",
        domain=(NONE, NONE, LARGER, LARGER, SMALL),
        singular=True,
    ),
    several(
        "scipy_betaincc",
        "-special_betainc(1, 0, a, b, c)",
        "-special_betainc(0, 1, a, b, c)",
        "-special_beta_density(0, 0, a, b, c)",
        domain=(LARGER, LARGER, SMALL),
        singular=True,
        steep=True,
    ),
    *(
        several(
            name,
            f"-{_BETA_INVERSE.format(1, 0)} if y < 0.5 else {_BETA_BESIDE.format(0, 1, other)}",
            f"-{_BETA_INVERSE.format(0, 1)} if y < 0.5 else {_BETA_BESIDE.format(1, 0, other)}",
            f"{sign}1 / (special_beta_density(0, 0, a, b, y) if y < 0.5 else {_DENSITY_BESIDE.format(other)})",
            domain=(LARGER, LARGER, SMALL),
            singular=True,
        )
        for name, other, sign in (
            ("special_betaincinv", "special_betainccinv(b, a, c)", ""),
            ("special_betainccinv", "special_betaincinv(b, a, c)", "-"),
        )
    ),
    binary(
        "special_stdtr",
        "special_stdtr_by_freedom(a, b)",
        t_density("a", "b"),
        LARGER,
        ANY,
    ),
    binary(
        "special_stdtr_by_freedom",
        UNKNOWN,
        UNKNOWN,
        LARGER,
        ANY,
        extra={"called": "second derivative of scipy.special.stdtr by the degrees of freedom"},
    ),
    several(
        "special_zeta",
        None,
        "special_zeta(a + 1, b, c)",
        "-b * special_zeta(a, b + 1, c) - a * special_zeta(a - 1, b + 1, c)",
        domain=(NONE, (1.5, 6.0), POSITIVE),
        singular=True,
    ),
)

_SN, _CN, _DN = (f"scipy_ellipj_{n}(a, b)" for n in ("sn", "cn", "dn"))
_BY_M = "special_elliptic_by_m(1, 0, scipy_ellipj_ph(a, b), b)"
# the mean of a and b is pi / 2 over R_F(0, a^2, b^2)
_OF_MEAN = "-1.2732395447351628 * ({0} / y) * special_carlson(0, {1}, 0.0, (a / y) ** 2, (b / y) ** 2)"
ELLIPTIC = (  # DLMF 15.5.1, 19.4, 19.5.1, 19.18, 22.13
    binary("scipy_agm", _OF_MEAN.format("a", "1, 0"), _OF_MEAN.format("b", "0, 1"), POSITIVE, POSITIVE, singular=True),
    unary("scipy_ellipk", "-special_carlson(0, 1, 0, 0.0, 1 - x, 1.0)", (-3.0, 0.9), singular=True),
    unary("scipy_ellipe", "special_carlson(0, 0, 1, 0.0, 1 - x, 1.0)", (-3.0, 0.9), singular=True, steep=True),
    unary(
        "scipy_ellipkm1", "special_carlson(0, 1, 0, 0.0, x, 1.0) if x > 1e-100 else -0.5 / x", POSITIVE, singular=True
    ),
    binary("scipy_ellipkinc", "1 / sqrt(1 - b * sin(a) ** 2)", "special_elliptic_by_m(1, 0, a, b)", ANY, (-2.0, 0.8)),
    binary("scipy_ellipeinc", "sqrt(1 - b * sin(a) ** 2)", "special_elliptic_by_m(1, 1, a, b)", ANY, (-2.0, 0.8)),
    several(
        "special_elliptic_by_m",
        None,
        None,
        "(1 if b == 0 else -0.5) * tgamma(a - b + 0.5) * 0.5641895835477563 * (sin(c) * sin(c)) ** a"
        " * (1 - d * sin(c) * sin(c)) ** (b - a - 0.5)",
        "special_elliptic_by_m(a + 1, b, c, d)",
        domain=((1, 1), (0, 1), ANY, (-2.0, 0.8)),
    ),
    binary("scipy_ellipj_ph", _DN, f"-{_DN} * {_BY_M}", ANY, SMALL),
    binary("scipy_ellipj_sn", f"{_CN} * {_DN}", f"-{_CN} * {_DN} * {_BY_M}", ANY, SMALL),
    binary("scipy_ellipj_cn", f"-{_SN} * {_DN}", f"{_SN} * {_DN} * {_BY_M}", ANY, SMALL),
    binary(
        "scipy_ellipj_dn", f"-b * {_SN} * {_CN}", f"-0.5 * {_SN} ** 2 / y + b * {_SN} * {_CN} * {_BY_M}", ANY, SMALL
    ),
    several(
        "scipy_elliprf",
        *(f"special_carlson({n}, a, b, c)" for n in ("1, 0, 0", "0, 1, 0", "0, 0, 1")),
        domain=(POSITIVE,) * 3,
        singular=True,
    ),
    several(
        "scipy_elliprd",
        *(f"-6 * special_carlson({n}, a, b, c)" for n in ("1, 0, 1", "0, 1, 1", "0, 0, 2")),
        domain=(POSITIVE,) * 3,
        singular=True,
    ),
    binary(
        "scipy_elliprc",
        "special_carlson(1, 0, 0, a, b, b)",
        "2 * special_carlson(0, 1, 0, a, b, b)",
        POSITIVE,
        POSITIVE,
        singular=True,
    ),
    several(
        "special_carlson",
        *(None,) * 3,
        *(f"special_carlson({n}, d, e, f)" for n in ("a + 1, b, c", "a, b + 1, c", "a, b, c + 1")),
        domain=(NONE, NONE, NONE, POSITIVE, POSITIVE, POSITIVE),
        singular=True,
    ),
)

HYPERGEOMETRIC = (  # DLMF 13.3, 15.5.1, 16.3
    binary("scipy_hyp0f1", UNKNOWN, "scipy_hyp0f1(a + 1, b) / a", POSITIVE, ANY, overflows=True),
    several(
        "scipy_hyp1f1",
        UNKNOWN,
        UNKNOWN,
        "a / b * scipy_hyp1f1(a + 1, b + 1, c)",
        domain=(POSITIVE, POSITIVE, ANY),
        overflows=True,
    ),
    several(
        "scipy_hyp2f1",
        *(UNKNOWN,) * 3,
        "a * b / c * scipy_hyp2f1(a + 1, b + 1, c + 1, d)",
        domain=(POSITIVE, POSITIVE, POSITIVE, (-3.0, 0.8)),
        singular=True,
    ),
)

SPECIAL = (*ERRORS, *BESSEL, *INTEGRALS, *GAMMA, *ELLIPTIC, *HYPERGEOMETRIC)
