"""Element-wise functions: NumPy's universal ones, those of SciPy, and Python's own of one number."""

from __future__ import annotations

import mpmath as mp

from .lines import ABOVE, ANY, AWAY, POSITIVE, PROBABILITY, SMALL, UNIT, Line, one, two


def _truncated(x):
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def _modulo(a, b, whole=mp.floor):
    if abs(a / b) > 1e6:
        raise ValueError("it jumps between neighbouring numbers")
    return a - b * whole(a / b)


def _rest(a, b):
    return _modulo(a, b, _truncated)


def _entropy(x):
    return -x * mp.log(x)


def _relative(x, y):
    return x * mp.log(x / y)


def _signed(a, b):
    if not b:
        raise ValueError("the sign of zero decides")
    return abs(a) * mp.sign(b)


def _huber(d, r):
    if abs(abs(r) - d) < 1e-20 or d <= 0:
        raise ValueError("it has two second derivatives, or is infinite")
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def _larger(a, b):
    return a if a > b else b


def _smaller(a, b):
    return a if a < b else b


def _log_sum(a, b):
    return _larger(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def _log2_sum(a, b):
    return _larger(a, b) + mp.log1p(mp.power(2, -abs(a - b))) / mp.log(2)


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def _trigamma(x):
    if not 1e-3 < abs(x) < 1e3:
        raise ValueError("mpmath takes minutes")
    return mp.psi(1, x)


def _sinc(x):
    if abs(x) > 1e3:
        raise ValueError("the rounding of pi * x decides")
    return mp.sinc(mp.pi * x)


NUMPY = (
    one("np.exp(a)", exact=mp.exp), one("np.exp2(a)", exact=lambda x: mp.power(2, x)),
    one("np.expm1(a)", exact=mp.expm1, rounds=True), one("np.log(a)", POSITIVE, mp.log),
    one("np.log2(a)", POSITIVE, lambda x: mp.log(x) / mp.log(2)), one("np.log10(a)", POSITIVE, mp.log10),
    one("np.log1p(a)", (-0.7, 3.0), mp.log1p, edges=(-1.0,)), one("np.sqrt(a)", POSITIVE, mp.sqrt),
    one("np.cbrt(a)", POSITIVE, lambda x: mp.sign(x) * mp.cbrt(abs(x))), one("np.reciprocal(a)", AWAY, lambda x: 1 / x),
    one("np.square(a)", exact=lambda x: x * x), one("np.absolute(a)", AWAY, abs), one("np.fabs(a)", AWAY, abs),
    one("np.sign(a)", AWAY, mp.sign, nan=False), one("np.negative(a)", exact=lambda x: -x),
    one("np.positive(a)", exact=lambda x: x), one("np.conjugate(a)", exact=lambda x: x),
    one("np.sin(a)", exact=mp.sin), one("np.cos(a)", exact=mp.cos), one("np.tan(a)", SMALL, mp.tan),
    one("np.arcsin(a)", UNIT, mp.asin, edges=(1.0, -1.0)), one("np.arccos(a)", UNIT, mp.acos, edges=(1.0, -1.0)),
    one("np.arctan(a)", exact=mp.atan), one("np.sinh(a)", exact=mp.sinh), one("np.cosh(a)", exact=mp.cosh),
    one("np.tanh(a)", exact=mp.tanh, rounds=True), one("np.arcsinh(a)", exact=mp.asinh),
    one("np.arccosh(a)", ABOVE, mp.acosh, edges=(1.0,)), one("np.arctanh(a)", UNIT, mp.atanh, edges=(1.0, -1.0)),
    one("np.degrees(a)", exact=lambda x: x * 180 / mp.pi), one("np.rad2deg(a)", exact=lambda x: x * 180 / mp.pi),
    one("np.radians(a)", exact=lambda x: x * mp.pi / 180), one("np.deg2rad(a)", exact=lambda x: x * mp.pi / 180),
    one("np.floor(a)", PROBABILITY), one("np.ceil(a)", PROBABILITY),
    one("np.trunc(a)", PROBABILITY), one("np.rint(a)", (0.1, 0.4)),
    one("np.fix(a)", PROBABILITY), one("np.round(a)", (0.1, 0.4)),
    one("np.around(a, 1)", (0.11, 0.14)), one("np.sinc(a)", AWAY, _sinc, rounds=True), one("np.nan_to_num(a)"),
    one("np.isnan(a)"), one("np.isinf(a)"), one("np.isfinite(a)"), one("np.isposinf(a)"), one("np.isneginf(a)"),
    one("np.signbit(a)"), one("np.angle(a)", POSITIVE), one("np.real(a)"), one("np.imag(a)"), one("np.isreal(a)"),
    one("np.iscomplex(a)"), one("np.logical_not(a)"), one("np.invert(a)"),
    one("np.modf(a)[0]", PROBABILITY, beside=False),
    one("np.modf(a)[1]", PROBABILITY), one("np.real_if_close(a)"), one("a ** 2", exact=lambda x: x * x),
    one("a ** 3", exact=lambda x: x**3), one("a ** -1", AWAY, lambda x: 1 / x),
    one("a ** 0.5", POSITIVE, mp.sqrt), one("a ** 0"), one("2.0 ** a", exact=lambda x: mp.power(2, x)),
    one("np.clip(a, -9.0, 9.0)", nan=False),
    two("np.add(a, b)", ANY, ANY, lambda a, b: a + b), two("np.subtract(a, b)", ANY, ANY, lambda a, b: a - b),
    two("np.multiply(a, b)", ANY, ANY, lambda a, b: a * b), two("np.divide(a, b)", ANY, AWAY, lambda a, b: a / b),
    two("np.true_divide(a, b)", ANY, AWAY, lambda a, b: a / b), two("np.floor_divide(a, b)", (1.1, 1.4), (0.52, 0.55)),
    two("np.remainder(a, b)", (1.1, 1.4), (0.52, 0.55), _modulo),
    two("np.mod(a, b)", (1.1, 1.4), (0.52, 0.55)),
    two("np.fmod(a, b)", (1.1, 1.4), (0.52, 0.55), _rest),
    two("np.divmod(a, b)[0]", (1.1, 1.4), (0.52, 0.55)), two("np.divmod(a, b)[1]", (1.1, 1.4), (0.52, 0.55)),
    two("np.power(a, b)", POSITIVE, ANY, mp.power, twice=False),
    two("np.float_power(a, b)", POSITIVE, ANY, mp.power, twice=False),
    two("np.power(a * a + 1.0, b)", ANY, ANY, lambda a, b: mp.power(a * a + 1, b), only=(-50.0, 50.0)),
    two("np.arctan2(a, b)", AWAY, AWAY, mp.atan2), two("np.hypot(a, b)", AWAY, AWAY, mp.hypot, rounds=True),
    two("np.maximum(a, b)", (0.1, 0.5), (0.6, 0.9), _larger, nan=False),
    two("np.minimum(a, b)", (0.1, 0.5), (0.6, 0.9), _smaller, nan=False),
    two("np.fmax(a, b)", (0.1, 0.5), (0.6, 0.9), _larger, nan=False, beside=False),
    two("np.fmin(a, b)", (0.1, 0.5), (0.6, 0.9), _smaller, nan=False, beside=False),
    two("np.copysign(a, b)", AWAY, AWAY, _signed, beside=False),
    two("np.logaddexp(a, b)", ANY, ANY, _log_sum, beside=False),
    two("np.logaddexp2(a, b)", ANY, ANY, _log2_sum, beside=False),
    two("np.heaviside(a, b)", AWAY, ANY), two("np.ldexp(a, e)", ANY, ANY),
    two("np.equal(a, b)", ANY, ANY), two("np.not_equal(a, b)", ANY, ANY), two("np.less(a, b)", ANY, ANY),
    two("np.less_equal(a, b)", ANY, ANY), two("np.greater(a, b)", ANY, ANY), two("np.greater_equal(a, b)", ANY, ANY),
    two("np.logical_and(a, b)", ANY, ANY), two("np.logical_or(a, b)", ANY, ANY), two("np.logical_xor(a, b)", ANY, ANY),
    two("np.bitwise_and(a, b)", ANY, ANY), two("np.bitwise_or(a, b)", ANY, ANY), two("np.bitwise_xor(a, b)", ANY, ANY),
    two("np.left_shift(a, b)", ANY, POSITIVE), two("np.right_shift(a, b)", ANY, POSITIVE),
    two("np.isclose(a, b)", ANY, ANY),
    two("np.isclose(a, b, equal_nan=True)", ANY, ANY), two("a + b", ANY, ANY), two("a - b", ANY, ANY),
    two("a * b", ANY, ANY, lambda a, b: a * b), two("a / b", ANY, AWAY, lambda a, b: a / b),
    two("a // b", (1.1, 1.4), (0.52, 0.55)),
    two("a % b", (1.1, 1.4), (0.52, 0.55)), two("a ** b", POSITIVE, ANY, mp.power, twice=False), two("a < b", ANY, ANY),
)  # fmt: skip

SOME = {"only": (0.4, 1e3), "nan": False}
"""Points of functions that are quotients of others, which overflow before they do."""

SCIPY = (
    one("special.erf(a)", exact=mp.erf), one("special.erfc(a)", exact=mp.erfc),
    one("special.gamma(a)", POSITIVE, mp.gamma, edges=(-1.5, -0.5, 170.0)),
    one("special.gammaln(a)", POSITIVE, lambda x: mp.re(mp.loggamma(x)), edges=(-1.5, -0.5)),
    one("special.expit(a)", exact=_sigmoid, rounds=True),
    one("special.logit(a)", PROBABILITY, lambda x: mp.log(x / (1 - x)),
                                                 edges=(1.0,)),
    one("special.exp2(a)", exact=lambda x: mp.power(2, x)), one("special.expm1(a)", exact=mp.expm1, rounds=True),
    one("special.log1p(a)", POSITIVE, mp.log1p),
    one("special.cbrt(a)", POSITIVE, lambda x: mp.sign(x) * mp.cbrt(abs(x))),
    one("special.exp10(a)", exact=lambda x: mp.power(10, x)), one("special.ndtr(a)", exact=mp.ncdf),
    one("special.psi(a)", POSITIVE, lambda x: mp.psi(0, x), edges=(-1.5, -0.5)),
    one("special.log_expit(a)", exact=lambda x: -mp.log1p(mp.exp(-x))),
    one("special.entr(a)", POSITIVE, _entropy, beside=False),
    one("special.polygamma(1, a)", POSITIVE, _trigamma),
    two("special.xlogy(a, b)", POSITIVE, POSITIVE, lambda a, b: a * mp.log(b), beside=False),
    two("special.xlog1py(a, b)", POSITIVE, POSITIVE, lambda a, b: a * mp.log1p(b), beside=False),
    two("special.rel_entr(a, b)", POSITIVE, POSITIVE, _relative, **SOME),
    two("special.kl_div(a, b)", POSITIVE, POSITIVE, lambda a, b: _relative(a, b) - a + b,
        rounds=True, **SOME),
    two("special.huber(a, b)", POSITIVE, ANY, _huber),
    two("special.betaln(a, b)", POSITIVE, POSITIVE, lambda a, b: mp.log(mp.beta(a, b)),
        **SOME),
    two("special.beta(a, b)", POSITIVE, POSITIVE, mp.beta, **SOME),
)  # fmt: skip

_OF_ONE = {
    "sin": ANY, "cos": ANY, "tan": SMALL, "asin": UNIT, "acos": UNIT, "atan": ANY, "sinh": ANY, "cosh": ANY,
    "tanh": ANY, "asinh": ANY, "acosh": ABOVE, "atanh": UNIT, "exp": ANY, "expm1": ANY, "exp2": ANY, "log": POSITIVE,
    "log2": POSITIVE, "log10": POSITIVE, "log1p": POSITIVE, "sqrt": POSITIVE, "cbrt": POSITIVE, "fabs": AWAY,
    "erf": ANY, "erfc": ANY, "gamma": POSITIVE, "lgamma": POSITIVE, "degrees": ANY, "radians": ANY,
    "floor": PROBABILITY, "ceil": PROBABILITY, "trunc": PROBABILITY, "isnan": ANY, "isinf": ANY, "isfinite": ANY,
}  # fmt: skip
_OF_TWO = {
    "atan2": AWAY, "pow": POSITIVE, "hypot": AWAY, "copysign": AWAY, "fmod": AWAY, "log": ABOVE, "isclose": ANY,
}  # fmt: skip
MATH = (
    *(one(f"each(math.{name}, a)", domain) for name, domain in _OF_ONE.items()),
    *(two(f"pairs(math.{name}, a, b)", domain, domain) for name, domain in _OF_TWO.items()),
)

LINES: tuple[Line, ...] = (*NUMPY, *SCIPY, *MATH)
