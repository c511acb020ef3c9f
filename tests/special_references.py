"""Special functions of one argument by mpmath, and points to compare at: small, large, and where formulas change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import mpmath as mp
import scipy.special as special


@dataclass(frozen=True)
class Row:
    """A function and its points.

    :param exact: the function of mpmath's numbers.
    :param columns: the values of each argument, to combine with all others.
    :param by: the arguments to differentiate by, all of them unless given.
    :param call: the recorded function, that of SciPy with the row's name unless given.
    :param slope: the relative error of the derivative that the row allows.
    """

    exact: Callable
    columns: tuple[tuple[float, ...], ...]
    by: tuple[int, ...] | None = None
    call: Callable | None = None
    slope: float = 1e-12

    @property
    def points(self) -> list[tuple[float, ...]]:
        return list(product(*self.columns))

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(range(len(self.columns))) if self.by is None else self.by


def part_of(name: str, k: int) -> Callable:
    """One of several results."""
    return lambda *given: getattr(special, name)(*given)[k]


def integral(f: Callable) -> Callable:
    return lambda x: mp.quad(f, [0, x])


BOTH = (-30.0, -4.3, -0.7, -1e-5, 1e-9, 0.05, 0.8, 2.5, 9.7, 60.0)
WIDE = (1e-8, 1e-3, 0.3, 1.0, 2.9, 12.0, 70.0, 1e3)
SHARES = (1e-12, 1e-4, 0.1, 0.37, 0.5, 0.8, 0.999)


def wide_root(x: mp.mpf) -> mp.mpf:
    """The normal quantile of exp(x)."""
    return mp.findroot(lambda y: mp.log(mp.ncdf(y)) - x, mp.mpf(float(special.ndtri_exp(float(x)))))


def faddeeva(z: mp.mpc) -> mp.mpc:
    return mp.exp(-z * z) * mp.erfc(-1j * z)


ONE = {
    "erf": Row(mp.erf, ((-6.0, -0.3, 1e-08, 0.5, 3.0, 5.9),)),
    "erfc": Row(mp.erfc, ((-6.0, -0.3, 1e-08, 0.5, 3.0, 26.0),)),
    "erfi": Row(mp.erfi, ((-25.0, -0.3, 1e-08, 2.0, 26.0),)),
    "erfinv": Row(mp.erfinv, ((-1 + 1e-12, -0.3, 1e-10, 0.5, 1 - 1e-12),)),
    "erfcinv": Row(lambda x: mp.erfinv(1 - x), ((1e-12, 1e-08, 0.3, 1.0 + 1e-09, 1.2, 2 - 1e-12),)),
    "erfcx": Row(
        lambda x: mp.exp(x * x) * mp.erfc(x), ((-26.0, -3.0, -1e-09, 1e-05, 0.9, 1.1, 8.0, 60.0, 10000000000.0),)
    ),
    "dawsn": Row(
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        ((-50.0, -0.924, -1e-09, 0.924, 1.5, 4.0, 6.2, 6.4, 10000.0, 10000000000.0),),
    ),
    "ndtr": Row(mp.ncdf, ((-37.0, -5.0, -0.3, 1e-09, 1.0, 8.0),)),
    "ndtri": Row(lambda p: -mp.sqrt(2) * mp.erfinv(1 - 2 * p), ((1e-18, *SHARES[1:], 1 - 1e-12),)),
    "log_ndtr": Row(
        lambda x: mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x)),
        ((-10000000000.0, -1000.0, -20.0, -3.0, -0.1, 0.5, 3.0, 9.0, 20.0),),
    ),
    "ndtri_exp": Row(wide_root, ((-1000000.0, -1000.0, -30.0, -2.1, -1.0, -0.2, -1e-05, -1e-12),)),
    "j0": Row(lambda x: mp.besselj(0, x), ((*BOTH, 1000.0, 1000000.0),)),
    "j1": Row(lambda x: mp.besselj(1, x), ((*BOTH, 1000.0, 1000000.0),)),
    "y0": Row(lambda x: mp.bessely(0, x), ((*WIDE, 1000000.0),)),
    "y1": Row(lambda x: mp.bessely(1, x), ((*WIDE, 1000000.0),)),
    "i0": Row(lambda x: mp.besseli(0, x), ((*BOTH, 700.0),)),
    "i1": Row(lambda x: mp.besseli(1, x), ((*BOTH, 700.0),)),
    "i0e": Row(lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), ((*BOTH, 17.0, 20.0, 1000.0, 10000000000.0),)),
    "i1e": Row(lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), ((*BOTH, 17.0, 20.0, 1000.0, 10000000000.0),)),
    "k0": Row(lambda x: mp.besselk(0, x), ((*WIDE[:-1], 700.0),)),
    "k1": Row(lambda x: mp.besselk(1, x), ((*WIDE[:-1], 700.0),)),
    "k0e": Row(lambda x: mp.besselk(0, x) * mp.exp(x), ((*WIDE, 17.0, 20.0, 10000000000.0),)),
    "k1e": Row(lambda x: mp.besselk(1, x) * mp.exp(x), ((*WIDE, 17.0, 20.0, 10000000000.0),)),
    "exp1": Row(mp.e1, ((*WIDE[:-1], 700.0),)),
    "expi": Row(mp.ei, ((-50.0, -2.0, -1e-05, *WIDE[:-1], 0.3725, 0.37251, 700.0),)),
    "spence": Row(lambda x: mp.re(mp.polylog(2, 1 - x)), ((*WIDE, 0.999999, 1.000001, 1000000.0, 1000000000000000.0),)),
    "exprel": Row(
        lambda x: mp.expm1(x) / x, ((-100000.0, -40.0, -29.0, -2.0, -1e-09, 1e-09, 0.3, 7.0, 29.0, 31.0, 700.0),)
    ),
    "wrightomega": Row(
        lambda x: mp.re(mp.lambertw(mp.exp(x))), ((-700.0, -50.0, -5.0, 1e-09, 2.0, 30.0, 100000.0, 1e20),)
    ),
    "rgamma": Row(mp.rgamma, ((-10.5, -0.999, -1e-09, 0.01, 0.7, 1.46, 3.0, 20.0, 150.0),)),
    "ellipe": Row(mp.ellipe, ((-1e20, -1000.0, -0.5, -1e-09, 1e-09, 0.3, 0.9, 0.999, 1 - 1e-09),)),
    "ellipk": Row(mp.ellipk, ((-1e20, -1000.0, -0.5, -1e-09, 1e-09, 0.3, 0.9, 0.999, 1 - 1e-09),)),
    "ellipkm1": Row(lambda x: mp.ellipk(1 - x), ((1e-12, 1e-10, 0.05, 0.099, 0.101, 0.3, 1.0, 3.0, 10000000000.0),)),
    "gamma": Row(mp.gamma, ((-170.5, -20.3, -2.5, -0.3, -1e-09, 0.01, 0.7, 1.46, 3.0, 20.0, 170.0),)),
    "gammaln": Row(
        lambda x: mp.log(abs(mp.gamma(x))),
        ((-10000.0 - 0.5, -20.3, -2.5, -0.3, -1e-09, 0.01, 0.7, 1 + 1e-06, 2 - 1e-06, 3.0, 20.0, 100000.0, 1e100),),
    ),
    "loggamma": Row(mp.loggamma, ((0.01, 0.7, 1 + 1e-06, 3.0, 20.0, 100000.0, 1e100),)),
    "psi": Row(
        lambda x: mp.psi(0, x),
        (
            (
                -1000.0 - 0.3,
                -20.3,
                -2.5,
                -0.504,
                -0.3,
                -1e-09,
                0.01,
                0.7,
                1.45,
                1.4616321449683622,
                1.47,
                3.0,
                20.0,
                100000.0,
                1e100,
            ),
        ),
    ),
    "expit": Row(lambda x: 1 / (1 + mp.exp(-x)), ((-700.0, -30.0, -3.0, 1e-09, 2.0, 30.0, 700.0),)),
    "logit": Row(lambda x: mp.log(x / (1 - x)), ((*SHARES, 0.5 + 1e-09, 0.3001, 0.2999, 0.649, 0.651, 1 - 1e-12),)),
    "log_expit": Row(lambda x: -mp.log1p(mp.exp(-x)), ((-700.0, -30.0, -3.0, 1e-09, 2.0, 30.0, 700.0),)),
    "entr": Row(lambda x: -x * mp.log(x), ((1e-09, 0.3, 1 - 1e-09, 2.0, 1e100),)),
    "exp2": Row(lambda x: mp.mpf(2) ** x, ((-1000.0, -0.3, 1e-09, 3.3, 1000.0),)),
    "exp10": Row(lambda x: mp.mpf(10) ** x, ((-300.0, -0.3, 1e-09, 3.3, 300.0),)),
    "expm1": Row(mp.expm1, ((-1000.0, -1.0, 1e-09, 3.0, 700.0),)),
    "log1p": Row(mp.log1p, ((-1 + 1e-12, -0.3, 1e-09, 3.0, 1e100),)),
    "cbrt": Row(lambda x: mp.cbrt(x) if x > 0 else -mp.cbrt(-x), ((-1e100, -0.3, 2.0, 1e100),)),
    "zeta": Row(mp.zeta, ((-30.5, -3.5, -0.5, -1e-05, 1e-05, 0.5, 0.999, 1.001, 1.01, 1.5, 4.0, 20.0, 60.0, 100.0),)),
    "cosm1": Row(lambda x: mp.cos(x) - 1, ((1e-08, 0.3, 2.0, 100000.0),)),
    "sindg": Row(lambda x: mp.sin(mp.radians(x)), ((-720.1, 1e-09, 30.0, 89.9, 179.99, 1000.3),)),
    "cosdg": Row(lambda x: mp.cos(mp.radians(x)), ((-720.1, 1e-09, 30.0, 89.99, 179.99, 1000.3),)),
    "tandg": Row(lambda x: mp.tan(mp.radians(x)), ((-720.1, 1e-09, 30.0, 89.99, 179.99, 1000.3),)),
    "cotdg": Row(lambda x: mp.cot(mp.radians(x)), ((-720.1, 1e-09, 30.0, 89.99, 179.99, 1000.3),)),
    "factorial": Row(lambda x: mp.gamma(x + 1), ((1e-09, 0.5, 3.3, 20.0, 150.0),)),
    "softplus": Row(lambda x: mp.log1p(mp.exp(x)), ((-700.0, -30.0, -3.0, 1e-09, 2.0, 30.0, 700.0),)),
    "sinc": Row(mp.sincpi, ((1e-09, 0.149, 0.151, 1 + 1e-09, 2.4, 100000.0),)),
}

PARTS = {
    "sici0": Row(mp.si, ((*WIDE, 1000000.0),), call=part_of("sici", 0)),
    "sici1": Row(mp.ci, ((*WIDE, 1000000.0),), call=part_of("sici", 1)),
    "shichi0": Row(mp.shi, ((*WIDE[:-1], 700.0),), call=part_of("shichi", 0)),
    "shichi1": Row(mp.chi, ((*WIDE[:-1], 700.0),), call=part_of("shichi", 1)),
    "fresnel0": Row(mp.fresnels, (WIDE,), call=part_of("fresnel", 0)),
    "fresnel1": Row(mp.fresnelc, (WIDE,), call=part_of("fresnel", 1)),
    "airy0": Row(mp.airyai, ((-300.0, -20.0, -2.338, -1e-09, 1e-09, 0.5, 3.0, 20.0, 100.0),), call=part_of("airy", 0)),
    "airy1": Row(
        lambda x: mp.airyai(x, 1),
        ((-300.0, -20.0, -2.338, -1e-09, 1e-09, 0.5, 3.0, 20.0, 100.0),),
        call=part_of("airy", 1),
    ),
    "airy2": Row(mp.airybi, ((-300.0, -20.0, -2.338, -1e-09, 1e-09, 0.5, 3.0, 20.0, 100.0),), call=part_of("airy", 2)),
    "airy3": Row(
        lambda x: mp.airybi(x, 1),
        ((-300.0, -20.0, -2.338, -1e-09, 1e-09, 0.5, 3.0, 20.0, 100.0),),
        call=part_of("airy", 3),
    ),
}


def turned(x: mp.mpf, quarters: int) -> mp.mpc:
    return x * mp.expjpi(mp.mpf(quarters) / 4)


KELVIN = (1e-5, 0.3, 0.39, 0.41, 1.0, 4.0)  # SciPy's own lose digits beyond
SOLUTIONS = {
    "ber": Row(lambda x: mp.re(mp.besselj(0, turned(x, 3))), (KELVIN,)),
    "bei": Row(lambda x: mp.im(mp.besselj(0, turned(x, 3))), (KELVIN,)),
    "ker": Row(lambda x: mp.re(mp.besselk(0, turned(x, 1))), (KELVIN,)),
    "kei": Row(lambda x: mp.im(mp.besselk(0, turned(x, 1))), (KELVIN,)),
    "berp": Row(lambda x: -mp.re(mp.besselj(1, turned(x, 3)) * mp.expjpi(mp.mpf(3) / 4)), (KELVIN,)),
    "beip": Row(lambda x: -mp.im(mp.besselj(1, turned(x, 3)) * mp.expjpi(mp.mpf(3) / 4)), (KELVIN,)),
    "kerp": Row(lambda x: -mp.re(mp.besselk(1, turned(x, 1)) * mp.expjpi(mp.mpf(1) / 4)), (KELVIN,)),
    "keip": Row(lambda x: -mp.im(mp.besselk(1, turned(x, 1)) * mp.expjpi(mp.mpf(1) / 4)), (KELVIN,)),
    "zetac": Row(lambda x: mp.zeta(x) - 1, ((-100.5, -30.5, -3.5, -0.5, 0.5, 1.5, 4.0, 60.0),)),
    "itairy ai": Row(integral(mp.airyai), ((0.3, 7.0),), call=part_of("itairy", 0)),
    "itairy bi": Row(integral(mp.airybi), ((0.3, 7.0),), call=part_of("itairy", 1)),
    "itairy -ai": Row(integral(lambda t: mp.airyai(-t)), ((0.3, 7.0),), call=part_of("itairy", 2)),
    "itairy -bi": Row(integral(lambda t: mp.airybi(-t)), ((0.3, 7.0),), call=part_of("itairy", 3)),
    "itj0y0": Row(integral(lambda t: mp.besselj(0, t)), ((0.3, 15.0),), call=part_of("itj0y0", 0)),
    "iti0k0": Row(integral(lambda t: mp.besseli(0, t)), ((0.3, 15.0),), call=part_of("iti0k0", 0)),
    "itstruve0": Row(integral(lambda t: mp.struveh(0, t)), ((0.3, 15.0),)),
    "itmodstruve0": Row(integral(lambda t: mp.struvel(0, t)), ((0.3, 15.0),)),
    "diric": Row(
        lambda x: mp.sin(2.5 * x) / (5 * mp.sin(x / 2)), ((1e-5, 0.7, 6.28, 12.0),), call=lambda x: special.diric(x, 5)
    ),
    "wofz": Row(lambda x: mp.im(faddeeva(x)), ((-3.0, 1e-5, 0.7, 30.0),), call=lambda x: special.wofz(x).imag),
}
OF_ONE: dict[str, Row] = {**ONE, **PARTS, **SOLUTIONS}
