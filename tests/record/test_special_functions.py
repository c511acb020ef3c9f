"""SciPy's special functions against mpmath: values to 1e-13, first and second derivatives by each real argument."""

from dataclasses import dataclass
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special

import sdgrad
from sdgrad.errors import ArgumentError

EPS = 1e-13
WIDE = (1e-3, 0.1, 0.7, 1.0, 3.0, 12.0, 40.0)
BOTH = tuple(sorted([-x for x in (1e-3, 0.1, 0.7, 1.5, 4.0)] + [0.0, 0.05, 0.8, 2.5, 5.5]))
SHARES = (1e-4, 0.1, 0.37, 0.5, 0.8, 0.999)


@dataclass(frozen=True)
class Case:
    """A function of arguments, the last of which varies by element.

    :param first: arguments before it, each a tuple of values to combine with all others.
    :param by: positions of the arguments to differentiate by, the last one unless given.
    :param tolerance: of the value, and of derivatives.
    """

    exact: object
    points: tuple[float, ...]
    first: tuple[tuple[float, ...], ...] = ()
    by: tuple[int, ...] = (-1,)
    tolerance: tuple[float, float, float] = (EPS, EPS, 1e-11)

    def columns(self):
        return [c.ravel() for c in np.meshgrid(*map(np.array, (*self.first, self.points)), indexing="ij")]


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def dawsn(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def owens_t(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def student(df, t):
    tail = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def fisher(m, n, x):
    return beta(m / 2, n / 2, m * x / (n + m * x))


def pseudo_huber(d, r):
    return d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)


def inverse(f, least, most):
    """The number at which an increasing or decreasing function of its last argument has a value."""

    def found(*given):
        *others, p = given
        return mp.findroot(lambda x: f(*others, x) - p, (least, most), solver="anderson", tol=1e-110, maxsteps=200)

    return found


LOOSE = (EPS, 1e-12, 1e-10)
ONE = {
    "erfi": Case(mp.erfi, BOTH), "erfinv": Case(mp.erfinv, (-0.999, -0.3, 1e-8, 0.5, 0.99)),
    "erfcinv": Case(lambda x: mp.erfinv(1 - x), (1e-8, 0.3, 1.2, 1.9)), "erfcx": Case(erfcx, (*BOTH, 25.0, 1e5)),
    "dawsn": Case(dawsn, (*BOTH, 6.2, 6.4, 1e4), tolerance=LOOSE),
    "ndtr": Case(mp.ncdf, (-30.0, -5.0, -0.3, 0.0, 1.0, 8.0)),
    "ndtri": Case(lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), SHARES),
    "log_ndtr": Case(lambda x: mp.log(mp.ncdf(x)), (-100.0, -20.0, -3.0, -0.1, 0.5, 3.0), tolerance=LOOSE),
    "ndtri_exp": Case(lambda x: mp.sqrt(2) * mp.erfinv(2 * mp.exp(x) - 1), (-5.0, -1.0, -0.2)),
    "j0": Case(lambda x: mp.besselj(0, x), BOTH), "j1": Case(lambda x: mp.besselj(1, x), BOTH),
    "y0": Case(lambda x: mp.bessely(0, x), WIDE, tolerance=LOOSE),
    "y1": Case(lambda x: mp.bessely(1, x), WIDE, tolerance=LOOSE),
    "i0": Case(lambda x: mp.besseli(0, x), BOTH), "i1": Case(lambda x: mp.besseli(1, x), BOTH),
    "i0e": Case(lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (-2.0, *WIDE, 1e3, 1e6), tolerance=LOOSE),
    "i1e": Case(lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (-2.0, *WIDE, 1e3, 1e6), tolerance=LOOSE),
    "k0": Case(lambda x: mp.besselk(0, x), WIDE), "k1": Case(lambda x: mp.besselk(1, x), WIDE),
    "k0e": Case(lambda x: mp.besselk(0, x) * mp.exp(x), (*WIDE, 1e3, 1e6), tolerance=LOOSE),
    "k1e": Case(lambda x: mp.besselk(1, x) * mp.exp(x), (*WIDE, 1e3, 1e6), tolerance=LOOSE),
    "exp1": Case(mp.e1, WIDE), "expi": Case(mp.ei, WIDE), "spence": Case(lambda x: mp.polylog(2, 1 - x), WIDE),
    "exprel": Case(lambda x: mp.expm1(x) / x if x else mp.mpf(1), (-30.0, -2.0, -1e-9, 1e-9, 0.3, 7.0)),
    "wrightomega": Case(lambda x: mp.lambertw(mp.exp(x)), (-5.0, 0.0, 2.0, 30.0)),
    "rgamma": Case(mp.rgamma, (0.01, 0.7, 3.0, 20.0)), "ellipe": Case(mp.ellipe, (-1e3, -0.5, 1e-9, 0.3, 0.99)),
    "ellipk": Case(mp.ellipk, (-1e3, -0.5, 1e-9, 0.3, 0.99)),
    "ellipkm1": Case(lambda x: mp.ellipk(1 - x), (1e-10, 0.05, 0.3, 1.0, 3.0), tolerance=LOOSE),
    "gamma": Case(mp.gamma, (-2.5, -0.3, 0.01, 0.7, 3.0, 20.0)),
    "loggamma": Case(mp.loggamma, (0.01, 0.7, 3.0, 20.0, 1e5)),
    "digamma": Case(lambda x: mp.psi(0, x), (-20.3, -2.5, -0.3, 0.01, 0.7, 1.45, 1.47, 3.0, 20.0, 1e5)),
    "expit": Case(lambda x: 1 / (1 + mp.exp(-x)), (-800.0, -3.0, 0.1, 2.0, 30.0)),
    "logit": Case(lambda x: mp.log(x / (1 - x)), SHARES),
    "zeta": Case(mp.zeta, (-3.5, -0.5, 0.5, 1.01, 1.5, 4.0, 20.0)),
    "cosm1": Case(lambda x: mp.cos(x) - 1, (1e-8, 0.3, 2.0)),
    "sinc": Case(lambda x: mp.sincpi(x), (1e-9, 0.1, 0.16, 2.4)),
}  # fmt: skip
SEVERAL = {
    "owens_t": Case(owens_t, (0.1, 0.8, 4.0), ((-2.0, 0.3, 1.5),), (0, 1)),
    "jv": Case(mp.besselj, WIDE, ((0.0, 1.0, 2.5, 10.0),), tolerance=LOOSE),
    "yv": Case(mp.bessely, (0.3, 1.0, 3.0, 12.0), ((0.0, 1.0, 2.5),), tolerance=LOOSE),
    "iv": Case(mp.besseli, WIDE, ((0.0, 1.0, 2.5, 10.0),)), "kv": Case(mp.besselk, WIDE, ((0.0, 1.0, 2.5, 10.0),)),
    "ive": Case(lambda v, x: mp.besseli(v, x) * mp.exp(-x), (*WIDE, 1e5), ((0.0, 2.5),), tolerance=LOOSE),
    "kve": Case(lambda v, x: mp.besselk(v, x) * mp.exp(x), (*WIDE, 1e5), ((0.0, 2.5),), tolerance=LOOSE),
    "struve": Case(mp.struveh, (0.3, 1.0, 3.0, 12.0), ((0.0, 1.0, 2.5),), tolerance=LOOSE),
    "modstruve": Case(mp.struvel, (0.3, 1.0, 3.0, 12.0), ((0.0, 1.0, 2.5),), tolerance=LOOSE),
    "expn": Case(mp.expint, (0.01, 0.5, 3.0, 40.0), ((0.0, 1.0, 2.0, 5.0),)),
    "binom": Case(mp.binomial, (0.3, 1.0, 2.5), ((3.0, 4.5, 60.0),), (0, 1), tolerance=LOOSE),
    "poch": Case(mp.rf, (0.3, 1.0, 2.5), ((0.5, 3.0, 60.0),), (0, 1), tolerance=LOOSE),
    "beta": Case(mp.beta, (0.3, 2.0, 30.0), ((0.01, 1.0, 20.0),), (0, 1), tolerance=LOOSE),
    "betaln": Case(lambda a, b: mp.log(mp.beta(a, b)), (0.3, 2.0, 30.0, 1e5), ((0.01, 1.5, 20.0, 1e6),), (0, 1), LOOSE),
    "gammainc": Case(lower, (0.05, 0.9, 4.0, 30.0), ((0.1, 1.0, 5.0, 20.0),), (0, 1), (EPS, 2e-12, 1e-10)),
    "gammaincc": Case(upper, (0.05, 0.9, 4.0, 30.0), ((0.1, 1.0, 5.0, 20.0),), (0, 1), (EPS, 2e-12, 1e-10)),
    "gammaincinv": Case(inverse(lower, 1e-3, 50.0), (0.2, 0.5, 0.9), ((1.0, 5.0),), (0, 1), LOOSE),
    "gammainccinv": Case(inverse(upper, 1e-3, 50.0), (0.2, 0.5, 0.9), ((1.0, 5.0),), (0, 1), LOOSE),
    "betainc": Case(beta, (0.05, 0.4, 0.9), ((0.3, 2.0, 20.0), (0.5, 4.0)), (0, 1, 2), (EPS, 2e-12, 1e-10)),
    "betaincc": Case(lambda a, b, x: 1 - beta(a, b, x), (0.05, 0.4, 0.9), ((2.0, 20.0), (0.5, 4.0)), (0, 1, 2), LOOSE),
    "betaincinv": Case(inverse(beta, 1e-6, 1 - 1e-6), (0.2, 0.5, 0.9), ((1.5, 5.0), (0.8, 4.0)), (0, 1, 2), LOOSE),
    "stdtr": Case(student, (-3.0, -0.2, 0.4, 5.0), ((1.0, 4.5, 30.0),), (1,), LOOSE),
    "chdtr": Case(lambda v, x: lower(v / 2, x / 2), (0.5, 4.0), ((1.0, 6.0),), (0, 1), LOOSE),
    "fdtr": Case(fisher, (0.5, 3.0), ((2.0, 5.0), (3.0,)), (0, 1, 2), LOOSE),
    "hyp0f1": Case(mp.hyp0f1, (-5.0, -0.1, 0.3, 7.0), ((0.5, 2.0),), tolerance=LOOSE),
    "hyp1f1": Case(mp.hyp1f1, (-5.0, -0.1, 0.3, 7.0), ((0.5, 2.0), (1.5, 4.0)), tolerance=LOOSE),
    "hyp2f1": Case(mp.hyp2f1, (-5.0, -0.1, 0.3, 0.9), ((0.5, 2.0), (1.5,), (2.2, 4.0)), tolerance=LOOSE),
    "zeta": Case(lambda s, q: mp.zeta(s, q), (0.1, 1.0, 7.3), ((1.01, 2.0, 5.5),), (0, 1), LOOSE),
    "xlogy": Case(lambda a, b: a * mp.log(b), (0.3, 2.0), ((0.5, 3.0),), (0, 1)),
    "boxcox": Case(lambda x, a: (x**a - 1) / a, (0.3, 2.0), ((0.5, 3.0),), (0, 1), LOOSE),
    "pseudo_huber": Case(pseudo_huber, (1e-7, 2.0), ((0.5, 3.0),), (0, 1), LOOSE),
}  # fmt: skip


def multigammaln(a):
    return sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(3)) + 1.5 * mp.log(mp.pi)


@pytest.mark.parametrize("df", [0.7, 3.5, 40.0])
def test_degrees_of_freedom_of_student(df):
    for at in (-3.0, -0.2, 0.3, 2.0, 5.0):
        found = sdgrad.grad(lambda v, at=at: special.stdtr(v, at))(df)
        compare([found], [derivative(student, (df, at), (1, 0))], 1e-11, f"stdtr at {at}")


ORDERS = (0, 1, 2, 3)
PLACES = (-1000.25, -10.3, -0.5, -1e-3, 1e-3, 0.4, 1.3, 1.46, 1.4616321449683622, 1.7, 6.0, 1e4)


@pytest.mark.parametrize("n", ORDERS)
def test_polygamma(n):
    x = np.array(PLACES)
    wanted = [[derivative(lambda v, k=k: mp.psi(k, v), (p,), (0,)) for p in PLACES] for k in (n, n + 1)]
    value, pull = sdgrad.vjp(lambda v: special.polygamma(n, v), x)
    compare(value, wanted[0], 1e-13, f"polygamma {n}")
    compare(pull(np.ones_like(x))[0], wanted[1], 1e-13, f"derivative of polygamma {n}")


@pytest.mark.parametrize("branch", [0, -1])
def test_lambertw(branch):
    x = np.array([-0.3678, -0.3, -0.1, -1e-5] + [1e-9, 0.5, 3.0, 1e5] * (branch == 0))

    def real(v):
        return np.real(special.lambertw(v, branch))

    def exact(v):
        return mp.re(mp.lambertw(v, branch))

    value, pull = sdgrad.vjp(real, x)
    compare(value, [derivative(exact, (p,), (0,)) for p in x], 1e-13, "lambertw")
    compare(pull(np.ones_like(x))[0], [derivative(exact, (p,), (1,)) for p in x], 1e-11, "derivative")
    assert sdgrad.grad(lambda v: np.real(special.lambertw(v)))(0.0) == 1.0


def pair_of(function, k):
    return lambda v: function(v)[k]


@pytest.mark.parametrize(
    "name, exact",
    [
        ("sici", (mp.si, mp.ci)),
        ("shichi", (mp.shi, mp.chi)),
        ("fresnel", (mp.fresnels, mp.fresnelc)),
    ],
)
def test_functions_of_two_results(name, exact):
    x = np.array([1e-3, 0.4, 2.3, 6.6])
    for k in (0, 1):
        value, pull = sdgrad.vjp(pair_of(getattr(special, name), k), x)
        compare(value, [derivative(exact[k], (p,), (0,)) for p in x], 1e-13, name)
        compare(pull(np.ones_like(x))[0], [derivative(exact[k], (p,), (1,)) for p in x], 1e-12, f"{name}'", 1e-3)


@pytest.mark.parametrize(
    "f, exact",
    [
        (
            lambda a: special.multigammaln(a, 3),
            lambda a: sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(3)) + 1.5 * mp.log(mp.pi),
        ),
        (lambda a: special.factorial(a), lambda a: mp.gamma(a + 1)),
        (lambda a: special.comb(7.5, a), lambda a: mp.binomial(mp.mpf(7.5), a)),
        (lambda a: special.perm(a + 5.0, a), lambda a: mp.gamma(a + 6) / 120),
    ],
    ids=["multigammaln", "factorial", "comb", "perm"],
)
def test_functions_of_others(f, exact):
    for a in (1.5, 2.2, 4.75):
        value, slope = sdgrad.value_and_grad(f)(a)
        compare([value], [derivative(exact, (a,), (0,))], 1e-13, "value")
        compare([slope], [derivative(exact, (a,), (1,))], 1e-12, "derivative")


def test_single_precision_is_kept():
    x = np.array([0.1, 0.5, 0.9], np.float32)
    value, pull = sdgrad.vjp(lambda v: special.erfinv(v) + special.j0(v) + special.gammainc(np.float32(2), v), x)
    assert value.dtype == np.float32 and pull(np.ones_like(value))[0].dtype == np.float32
    np.testing.assert_allclose(value, special.erfinv(x) + special.j0(x) + special.gammainc(np.float32(2), x), rtol=1e-6)


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda v: special.jv(v, 1.0), "scipy.special.jv by its argument 1"),
        (lambda v: special.ive(v, 1.0), "scipy.special.ive by its argument 1"),
        (lambda v: special.hyp2f1(1.0, v, 2.0, 0.5), "scipy.special.hyp2f1 by its argument 2"),
        (lambda v: special.expn(v, 2.0), "scipy.special.expn by its argument 1"),
    ],
)
def test_what_has_no_derivative_is_refused(f, message):
    with pytest.raises(sdgrad.DifferentiationError, match=message):
        sdgrad.grad(f)(1.0)


def function_of(name):
    return np.sinc if name == "sinc" else getattr(special, name)


def compare(found, wanted, tolerance, what, floor=0.0):
    """Compare relative to each number, or to a share of the largest one, where others nearly vanish."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    error = np.abs(found - wanted) / (np.abs(wanted) + floor * np.max(np.abs(wanted)) + 1e-300)
    worst = int(np.argmax(np.nan_to_num(error, nan=np.inf)))
    assert error[worst] <= tolerance, f"{what}: {found[worst]!r} for {wanted[worst]!r}, a relative {error[worst]:.1e}"


def derivative(exact, point, orders):
    k = next((k for k, order in enumerate(orders) if order), 0)
    return around(exact, tuple(map(float, point)), k)[orders[k]]


@cache
def around(exact, point, k):
    """The value, and the first two derivatives by an argument: differences that are exact to 20 digits."""
    with mp.workdps(60):
        at = list(map(mp.mpf, point))
        h = abs(at[k]) * mp.mpf(10) ** -12 or mp.mpf(10) ** -15
        low, middle, high = (mp.re(exact(*at[:k], at[k] + by, *at[k + 1 :])) for by in (-h, 0, h))
        twice = high - 2 * middle + low
        curved = abs(twice) > mp.mpf(10) ** -50 * abs(middle)
        return float(middle), float((high - low) / (2 * h)), float(twice / (h * h)) if curved else 0.0


def of_some(function, columns, by):
    """The function of the arguments that are differentiated by; the others are arrays outside of it."""

    def called(*given):
        every = list(columns)
        for k, value in zip(by, given, strict=True):
            every[k] = value
        return function(*every)

    return (lambda a: called(a), lambda a, b: called(a, b), lambda a, b, c: called(a, b, c))[len(by) - 1]


@pytest.mark.parametrize("kind, name", [("one", n) for n in ONE] + [("several", n) for n in SEVERAL])
def test_value_and_derivatives(kind, name):
    case = (ONE if kind == "one" else SEVERAL)[name]
    function, columns = function_of(name), case.columns()
    by = [k % len(columns) for k in case.by]
    own, given = of_some(function, columns, by), [columns[k] for k in by]
    points = list(zip(*columns, strict=True))

    def wanted(k, order):
        orders = [order * (d == k) for d in range(len(columns))]
        return [derivative(case.exact, p, orders) for p in points]

    total = of_some(lambda *v: np.sum(function(*v)), columns, by)
    values, pull = sdgrad.vjp(own, *given)
    compare(values, wanted(0, 0), case.tolerance[0], name)
    slopes = pull(np.ones_like(values))
    for position, k in enumerate(by):
        direction = [np.full_like(c, d == k) for d, c in zip(by, given, strict=True)]
        forward = sdgrad.jvp(own, tuple(given), tuple(direction))[1]
        first = wanted(k, 1)
        compare(slopes[position], first, case.tolerance[1], f"{name} by {k}", 1e-4)
        compare(forward, first, case.tolerance[1], f"{name} by {k}, forward", 1e-4)
        found = sdgrad.hvp(total, tuple(given), tuple(direction))
        second = found[position] if len(by) > 1 else found
        compare(second, wanted(k, 2), case.tolerance[2], f"{name} twice by {k}", 1e-4)


def test_a_saved_program_finds_the_functions_again(tmp_path):
    def f(x):
        return np.sum(special.j0(x) * special.gammainc(1.5, x))

    x = np.array([0.3, 2.0])
    made = sdgrad.compile_gradient(f, x)
    value, gradient = sdgrad.load(made.save(tmp_path / "bessel.sdgrad"))(x)
    assert value == pytest.approx(f(x), rel=1e-14) and np.array_equal(gradient, made(x)[1])
    with pytest.raises(ArgumentError, match="calls special functions of SciPy"):
        sdgrad.export_c(f, tmp_path, x)
