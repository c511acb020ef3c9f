"""Special functions of several arguments by mpmath, and points to compare at (see ``special_references``)."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import scipy.special as special
from special_references import SHARES, WIDE, Row, faddeeva, part_of


def half() -> mp.mpf:
    return mp.mpf(1) / 2


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def below(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def above(a, b, x):
    return mp.betainc(b, a, 0, 1 - x, regularized=True)


def fisher(m, n, x):
    return below(m / 2, n / 2, m * x / (n + m * x))


def fisher_above(m, n, x):
    return below(n / 2, m / 2, n / (n + m * x))


def student(df, t):
    if t * t < df:
        return half() + below(half(), df / 2, t * t / (df + t * t)) / 2 * mp.sign(t)
    tail = below(df / 2, half(), df / (df + t * t)) / 2
    return 1 - tail if t > 0 else tail


def inverse(f: Callable, name: str) -> Callable:
    """The last argument at which a function has a value, by Newton's method from SciPy's."""

    def found(*given):
        *others, p = given
        with mp.workdps(mp.mp.dps + 10):
            x = mp.mpf(float(getattr(special, name)(*map(float, given))))
            h = abs(x) * mp.mpf(10) ** -30
            slope = (f(*others, x + h) - f(*others, x - h)) / (2 * h)
            for _ in range(12):
                step = (f(*others, x) - p) / slope
                x -= step
                if abs(step) < abs(x) * mp.mpf(10) ** (8 - mp.mp.dps):
                    break
            return x

    return found


def root(f: Callable, name: str) -> Callable:
    """Where a function of the unknown and of the arguments is zero, near SciPy's value."""

    def found(*given):
        return mp.findroot(lambda y: f(y, *given), mp.mpf(float(getattr(special, name)(*map(float, given)))))

    return found


def chi_squared(x, df, nc):
    weight = lambda j: mp.exp(-nc / 2) * (nc / 2) ** j / mp.factorial(j)  # noqa: E731
    return mp.fsum(weight(j) * lower(df / 2 + j, x / 2) for j in range(60))


def noncentral_t(df, nc, t):
    """By sums of incomplete beta functions (Johnson, Kotz and Balakrishnan 1995, 31.15)."""
    if t < 0:
        return 1 - noncentral_t(df, -nc, -t)
    x, h = t * t / (df + t * t), nc * nc / 2
    even = lambda j: h**j / mp.factorial(j) * below(j + half(), df / 2, x)  # noqa: E731
    odd = lambda j: h**j / mp.gamma(j + 3 * half()) * below(j + 1, df / 2, x)  # noqa: E731
    both = mp.fsum(even(j) + nc / mp.sqrt(2) * odd(j) for j in range(60))
    return mp.ncdf(-nc) + mp.exp(-h) * both / 2


def voigt(x, s, g):
    return mp.re(faddeeva(mp.mpc(x, g) / (s * mp.sqrt(2)))) / (s * mp.sqrt(2 * mp.pi))


def amplitude(u, m):
    sn, cn = mp.re(mp.ellipfun("sn", u, m=m)), mp.re(mp.ellipfun("cn", u, m=m))
    return mp.atan2(sn, cn) + 2 * mp.pi * mp.nint(u / (4 * mp.ellipk(m)))


def spherical(f: Callable) -> Callable:
    return lambda n, x: mp.sqrt(mp.pi / (2 * x)) * f(n + half(), x)


def real(f: Callable) -> Callable:
    return lambda *given: mp.re(f(*given))


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


def of_gamma(b, p):
    return inverse(lower, "gammaincinv")(b, p)


def slope_of(f: Callable) -> Callable:
    return lambda v, x: mp.diff(lambda t: f(v, t), x)


ORDERS = (0.0, 1.0, 2.5, 9.5)
DEGREES = (0, 1, 2, 7, 30)
INSIDE = (-0.999, -0.4, 1e-9, 0.3, 0.95)
ALONG = (-3.0, -0.4, 1e-9, 0.3, 5.0, 40.0)
SEVERAL = {
    "owens_t": Row(
        lambda h, a: mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi),
        ((-2.0, 1e-5, 4.0), (1e-5, 0.8, 2.0)),
    ),
    "jv": Row(mp.besselj, (ORDERS, WIDE), (1,)),
    "yv": Row(mp.bessely, ((0.0, 2.5, 9.5), WIDE[1:]), (1,)),
    "iv": Row(mp.besseli, (ORDERS, WIDE[:-1]), (1,)),
    "kv": Row(mp.besselk, ((0.0, 2.5, 9.5), (1e-3, 0.3, 2.9, 12.0, 70.0)), (1,)),
    "jve": Row(mp.besselj, (ORDERS, WIDE[1:-1]), (1,)),
    "yve": Row(mp.bessely, ((0.0, 2.5), WIDE[1:-1]), (1,)),
    "ive": Row(lambda v, x: mp.besseli(v, x) * mp.exp(-x), ((*ORDERS, 50.0), (*WIDE, 19.0, 1e6)), (1,)),
    "kve": Row(lambda v, x: mp.besselk(v, x) * mp.exp(x), ((0.0, 2.5, 50.5), (0.3, 12.0, 19.0, 1e6)), (1,)),
    "kn": Row(mp.besselk, ((0, 1), (0.3, 2.9)), (1,)),
    "yn": Row(mp.bessely, ((0, 1), WIDE[1:]), (1,)),
    "struve": Row(mp.struveh, (ORDERS, (1e-8, 0.3, 3.0, 12.0, 70.0)), (1,)),
    "modstruve": Row(mp.struvel, (ORDERS, (1e-8, 0.3, 3.0, 12.0, 30.0, 300.0)), (1,)),
    "expn": Row(mp.expint, ((0, 1, 2, 5, 60), (1e-5, 0.5, 3.0, 40.0, 700.0)), (1,)),
    "binom": Row(mp.binomial, ((3.0, 4.5, 60.0, 1e6), (1e-9, 0.3, 1.0, 2.5))),
    "poch": Row(mp.rf, ((1e-5, 0.5, 3.0, 60.0, 1e6), (1e-9, 0.3, 1.0, 2.5))),
    "beta": Row(mp.beta, ((1e-9, 0.01, 1.0, 20.0, 1e5), (1e-5, 0.3, 2.0, 30.0))),
    "betaln": Row(
        lambda a, b: mp.log(mp.beta(a, b)), ((1e-9, 0.01, 1.5, 20.0, 1e6, 1e10), (1e-5, 0.3, 2.0, 30.0, 1e5))
    ),
    "gammainc": Row(lower, ((1e-5, 0.1, 1.0, 5.0, 20.0), (1e-2, 0.9, 4.0, 30.0))),
    "gammaincc": Row(upper, ((1e-5, 0.1, 1.0, 5.0, 20.0), (1e-2, 0.9, 4.0, 30.0))),
    "gammaincinv": Row(inverse(lower, "gammaincinv"), ((0.1, 1.0, 5.0, 300.0), (1e-10, 0.2, 0.5, 0.9, 1 - 1e-9))),
    "gammainccinv": Row(inverse(upper, "gammainccinv"), ((0.1, 1.0, 5.0, 300.0), (1e-10, 0.2, 0.5, 0.9))),
    "betainc": Row(below, ((0.1, 2.0, 20.0), (0.5, 4.0), (1e-4, 0.4, 0.9, 0.9999))),
    "betaincc": Row(above, ((0.1, 2.0), (0.5, 4.0), (1e-4, 0.4, 0.9, 0.9999))),
    "betaincinv": Row(inverse(below, "betaincinv"), ((0.3, 5.0, 80.0), (0.8, 4.0), (1e-6, 0.2, 0.5, 0.9))),
    "betainccinv": Row(inverse(above, "betainccinv"), ((0.3, 5.0, 80.0), (0.8, 4.0), (1e-6, 0.2, 0.5, 0.9))),
    "stdtr": Row(student, ((0.3, 1.0, 4.5, 30.0, 1e4), (-50.0, -3.0, -0.2, 1e-5, 0.4, 5.0)), slope=1e-8),
    "stdtrit": Row(inverse(student, "stdtrit"), ((0.8, 1.0, 4.5, 30.0), (1e-6, 0.2, 0.4999, 0.6, 0.999)), slope=1e-11),
    "chdtr": Row(lambda v, x: lower(v / 2, x / 2), ((1.0, 6.0, 30.0), (1e-2, 0.5, 4.0, 50.0))),
    "chdtrc": Row(lambda v, x: upper(v / 2, x / 2), ((1.0, 6.0, 30.0), (1e-2, 0.5, 4.0, 50.0))),
    "chdtri": Row(inverse(lambda v, x: upper(v / 2, x / 2), "chdtri"), ((1.0, 6.0, 100.0), (1e-6, 0.5, 0.9))),
    "gdtr": Row(lambda a, b, x: lower(b, a * x), ((0.3, 4.0), (1.0, 6.0), (1e-6, 0.5, 4.0))),
    "gdtrc": Row(lambda a, b, x: upper(b, a * x), ((0.3, 4.0), (1.0, 6.0), (1e-6, 0.5, 4.0))),
    "fdtr": Row(fisher, ((0.5, 2.0, 20.0), (3.0, 30.0), (1e-3, 0.5, 3.0, 50.0)), slope=1e-10),
    "fdtrc": Row(fisher_above, ((0.5, 2.0, 20.0), (3.0, 30.0), (1e-3, 0.5, 3.0, 50.0)), slope=1e-10),
    "fdtri": Row(inverse(fisher, "fdtri"), ((0.8, 2.0, 50.0), (3.0, 80.0), (1e-4, 0.5, 0.99)), slope=1e-10),
    "chndtr": Row(chi_squared, ((0.7, 12.0), (0.8,), (1e-9, 1.3))),
    "nctdtr": Row(noncentral_t, ((0.7, 4.5), (-0.8,), (-2.0, 0.9))),
    "hyp0f1": Row(mp.hyp0f1, ((0.5, 2.0, 30.0), (-1e3, -5.0, -0.1, 1e-9, 0.3, 7.0, 1e3)), (1,)),
    "hyp1f1": Row(mp.hyp1f1, ((-1.5, 0.5, 2.0, 20.0), (1.5, 4.0), (-50.0, -5.0, -0.1, 1e-9, 0.3, 7.0, 50.0)), (2,)),
    "hyp2f1": Row(
        lambda *v: mp.re(mp.hyp2f1(*v)),
        ((0.5, 2.0), (1.5, -3.0), (2.2, 4.0), (-100.0, -5.0, -0.1, 1e-9, 0.3, 0.9, 0.999)),
        (3,),
    ),
    "zetaq": Row(
        lambda s, q: mp.zeta(s, q), ((1.001, 1.5, 2.0, 5.5, 40.0), (1e-3, 0.1, 1.0, 7.3, 1e5)), call=special.zeta
    ),
    "xlogy": Row(lambda a, b: a * mp.log(b), ((-1e100, 1e-9, 2.0), (0.5, 1 + 1e-9, 1e100))),
    "xlog1py": Row(lambda a, b: a * mp.log1p(b), ((-1e100, 1e-9, 2.0), (-1 + 1e-12, 0.5, 1e100))),
    "rel_entr": Row(lambda a, b: a * mp.log(a / b), ((1e-9, 0.3, 1e20), (1e-9, 0.30001, 1e20))),
    "kl_div": Row(lambda a, b: a * mp.log(a / b) - a + b, ((1e-9, 0.3, 1e20), (1e-9, 0.30001, 1e20))),
    "huber": Row(
        lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), ((1e-3, 2.0), (-1e9, -1.0, 1e-9, 0.5, 3.0))
    ),
    "pseudo_huber": Row(
        lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), ((1e-6, 0.5, 3.0, 1e6), (-1e9, -1.0, 1e-7, 2.0, 1e5))
    ),
    "boxcox": Row(lambda x, a: (x**a - 1) / a, ((1e-10, 0.3, 1 + 1e-9, 2.0, 1e10), (-2.0, 1e-9, 0.5, 3.0))),
    "boxcox1p": Row(lambda x, a: ((1 + x) ** a - 1) / a, ((1e-10, 0.3, 2.0, 1e10), (-2.0, 1e-9, 0.5, 3.0))),
    "inv_boxcox": Row(lambda x, a: (1 + a * x) ** (1 / a), ((1e-10, 0.3, 2.0, 1e2), (1e-9, 0.5, 3.0))),
    "inv_boxcox1p": Row(lambda x, a: (1 + a * x) ** (1 / a) - 1, ((1e-10, 0.3, 2.0, 1e2), (1e-9, 0.5, 3.0))),
    "agm": Row(mp.agm, ((1e-20, 0.3, 2.0, 1e20), (1e-10, 0.30001, 5.0))),
    "powm1": Row(lambda a, b: mp.expm1(b * mp.log(a)), ((1e-9, 0.3, 1 + 1e-9, 7.0), (-2.0, 1e-12, 0.3, 3.0))),
    "radian": Row(lambda d, m, s: mp.radians(d + m / 60 + s / 3600), ((-30.0, 1e-9, 100.0), (2.0, 45.0), (0.3, 59.0))),
    "comb": Row(mp.binomial, ((3.0, 4.5, 60.0), (0.3, 1.0, 2.5))),
    "perm": Row(lambda n, k: mp.gamma(n + 1) / mp.gamma(n - k + 1), ((3.0, 4.5, 60.0), (0.3, 1.0, 2.5))),
    "ellipkinc": Row(
        lambda p, m: mp.re(mp.ellipf(p, m)), ((-1.0, 1e-9, 0.8, 1.57, 4.0, 30.0), (-1e3, -0.5, 1e-9, 0.3, 0.99))
    ),
    "ellipeinc": Row(
        lambda p, m: mp.re(mp.ellipe(p, m)), ((-1.0, 1e-9, 0.8, 1.57, 4.0, 30.0), (-1e3, -0.5, 1e-9, 0.3, 0.99))
    ),
    **{
        f"ellipj{k}": Row(f, ((-1.3, 1e-5, 0.7, 3.0, 20.0), (1e-5, 0.1, 0.5, 0.9, 0.9999)), call=part_of("ellipj", k))
        for k, f in enumerate(
            (*(lambda u, m, n=n: mp.re(mp.ellipfun(n, u, m=m)) for n in ("sn", "cn", "dn")), amplitude)
        )
    },
    "elliprf": Row(real(mp.elliprf), ((1e-9, 0.7, 1e3), (0.3, 0.7), (1e-4, 1.9, 1e9))),
    "elliprd": Row(real(mp.elliprd), ((1e-9, 0.7, 1e3), (0.3, 0.7), (1e-4, 1.9, 1e6))),
    "elliprc": Row(real(mp.elliprc), ((1e-9, 0.7, 1e3), (1e-6, 0.3, 0.70001, 1e9))),
    "pdtr": Row(lambda k, m: upper(k + 1, m), ((0.0, 2.0, 20.0), (1e-2, 0.5, 4.0, 30.0)), (1,)),
    "pdtrc": Row(lambda k, m: lower(k + 1, m), ((0.0, 2.0, 20.0), (1e-2, 0.5, 4.0, 30.0)), (1,)),
    "pdtri": Row(inverse(lambda k, m: upper(k + 1, m), "pdtri"), ((0, 2, 50), (1e-8, 0.5, 0.9)), (1,)),
    "bdtr": Row(lambda k, n, p: below(n - k, k + 1, 1 - p), ((0.0, 2.0), (5, 40), (1e-4, 0.3, 0.9, 0.99)), (2,)),
    "bdtrc": Row(lambda k, n, p: below(k + 1, n - k, p), ((0.0, 2.0), (5, 40), (1e-4, 0.3, 0.9, 0.99)), (2,)),
    "bdtri": Row(
        inverse(lambda k, n, p: below(n - k, k + 1, 1 - p), "bdtri"), ((0.0, 2.0), (5, 40), (1e-6, 0.3, 0.9)), (2,)
    ),
    "nbdtr": Row(lambda k, n, p: below(n, k + 1, p), ((0, 2), (5, 40), (1e-4, 0.3, 0.9, 0.99)), (2,)),
    "nbdtrc": Row(lambda k, n, p: below(k + 1, n, 1 - p), ((0, 2), (5, 40), (1e-4, 0.3, 0.9, 0.99)), (2,)),
    "voigt_profile": Row(voigt, ((-3.0, 1e-9, 0.7, 30.0), (1e-3, 0.5, 20.0), (1e-5, 0.3, 10.0))),
    **{
        f"spherical_{n}n": Row(spherical(f), ((0, 1, 2, 7, 30), (1e-3, 0.3, 0.99, 1.01, 2.9, 5.0, 12.0, 70.0)), (1,))
        for n, f in zip("jyik", (mp.besselj, mp.bessely, mp.besseli, mp.besselk), strict=True)
    },
    "eval_legendre": Row(mp.legendre, (DEGREES, INSIDE), (1,)),
    "eval_chebyt": Row(mp.chebyt, (DEGREES, INSIDE), (1,)),
    "eval_chebyu": Row(mp.chebyu, (DEGREES, INSIDE), (1,)),
    "eval_chebyc": Row(lambda n, x: 2 * mp.chebyt(n, x / 2), (DEGREES, INSIDE), (1,)),
    "eval_chebys": Row(lambda n, x: mp.chebyu(n, x / 2), (DEGREES, INSIDE), (1,)),
    "eval_sh_legendre": Row(lambda n, x: mp.legendre(n, 2 * x - 1), (DEGREES, SHARES[1:]), (1,)),
    "eval_sh_chebyt": Row(lambda n, x: mp.chebyt(n, 2 * x - 1), (DEGREES, SHARES[1:]), (1,)),
    "eval_sh_chebyu": Row(lambda n, x: mp.chebyu(n, 2 * x - 1), (DEGREES, SHARES[1:]), (1,)),
    "eval_hermite": Row(mp.hermite, (DEGREES, ALONG), (1,)),
    "eval_hermitenorm": Row(lambda n, x: mp.mpf(2) ** (-n / 2) * mp.hermite(n, x / mp.sqrt(2)), (DEGREES, ALONG), (1,)),
    "eval_laguerre": Row(lambda n, x: mp.laguerre(n, 0, x), (DEGREES, ALONG[2:]), (1,)),
    "eval_genlaguerre": Row(mp.laguerre, (DEGREES, (0.7, 5.0), ALONG[2:]), (2,)),
    "eval_gegenbauer": Row(mp.gegenbauer, (DEGREES, (0.3, 1.3), INSIDE), (2,)),
    "eval_jacobi": Row(mp.jacobi, (DEGREES, (1.3,), (-0.4,), INSIDE), (3,)),
    "jvp": Row(
        lambda v, x: (mp.besselj(v - 1, x) - mp.besselj(v + 1, x)) / 2, ((0.0, 2.5), (1e-3, 0.9, 12.0, 70.0)), (1,)
    ),
    "kvp": Row(lambda v, x: -(mp.besselk(v - 1, x) + mp.besselk(v + 1, x)) / 2, ((2.5,), (1e-3, 0.9, 12.0)), (1,)),
    "jve at orders": Row(mp.besselj, ((-0.5,), (0.3, 12.0)), (1,), call=special.jve),
    "pbdv": Row(mp.pcfd, ((0.5, 1.7), (-2.0, 0.3, 3.0)), (1,), call=part_of("pbdv", 0)),
    "pbdv'": Row(
        lambda v, x: x / 2 * mp.pcfd(v, x) - mp.pcfd(v + 1, x), ((0.5, 1.7), (-2.0, 0.3)), (1,), call=part_of("pbdv", 1)
    ),
    "pbvv": Row(lambda v, x: mp.pcfv(-v - half(), x), ((0.5, 1.7), (-2.0, 0.3, 3.0)), (1,), call=part_of("pbvv", 0)),
    "pbvv'": Row(
        slope_of(lambda v, x: mp.pcfv(-v - half(), x)), ((0.5, 1.7), (-2.0, 0.3)), (1,), call=part_of("pbvv", 1)
    ),
    "pbwa": Row(mp.pcfw, ((0.5, 1.7), (-2.0, 0.3, 3.0)), (1,), call=part_of("pbwa", 0)),
    "pbwa'": Row(slope_of(mp.pcfw), ((0.5, 1.7), (-2.0, 0.3)), (1,), call=part_of("pbwa", 1)),
    "hyperu": Row(mp.hyperu, ((0.5, 2.0), (0.7, 3.3), (0.1, 1.0, 50.0)), (2,)),
    "wright_bessel": Row(wright, ((0.5,), (1.5,), (0.1, 2.0)), (2,)),
    "log_wright_bessel": Row(lambda *given: mp.log(wright(*given)), ((0.5,), (1.5,), (0.1, 2.0)), (2,)),
    "eval_sh_jacobi": Row(
        lambda n, p, q, x: mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n),
        ((0, 3), (2.5,), (1.5,), (0.1, 0.6)),
        (3,),
    ),
    "elliprg": Row(real(mp.elliprg), ((1e-9, 0.7, 1e3), (0.3, 0.7), (1e-4, 1.9, 1e6))),
    "elliprj": Row(real(mp.elliprj), ((1e-9, 0.7, 1e3), (0.3,), (1e-4, 1.9), (1e-3, 0.5, 100.0))),
    "gdtrix": Row(lambda a, b, p: of_gamma(b, p) / a, ((0.5, 2.0), (0.7, 3.0), (0.2, 0.9))),
    "gdtria": Row(lambda p, b, x: of_gamma(b, p) / x, ((0.2, 0.9), (0.7, 3.0), (0.5, 2.0))),
    "gdtrib": Row(root(lambda y, a, p, x: lower(y, a * x) - p, "gdtrib"), ((0.5, 2.0), (0.2, 0.9), (0.7, 3.0))),
    "chdtriv": Row(root(lambda y, p, x: lower(y / 2, x / 2) - p, "chdtriv"), ((0.2, 0.9), (0.7, 3.0))),
    "stdtridf": Row(root(lambda y, p, t: student(y, t) - p, "stdtridf"), ((0.8, 0.9), (1.5, 2.0)), slope=1e-11),
    "btdtria": Row(root(lambda y, p, b, x: below(y, b, x) - p, "btdtria"), ((0.2, 0.9), (0.7, 3.0), (0.3, 0.7))),
    "btdtrib": Row(root(lambda y, a, p, x: below(a, y, x) - p, "btdtrib"), ((0.7, 3.0), (0.2, 0.9), (0.3, 0.7))),
    "nbdtri": Row(inverse(lambda k, n, p: below(n, k + 1, p), "nbdtri"), ((0, 2), (5, 40), (1e-6, 0.3, 0.9)), (2,)),
    "nrdtrimn": Row(lambda p, s, x: x - s * mp.sqrt(2) * mp.erfinv(2 * p - 1), ((0.2, 0.9), (0.5,), (3.0,))),
    "nrdtrisd": Row(lambda m, p, x: (x - m) / (mp.sqrt(2) * mp.erfinv(2 * p - 1)), ((0.2, 0.9), (0.7,), (3.0,))),
}
