"""Functions at zero, at ties, at infinity and where squares overflow: values of SciPy, derivatives in closed form."""

import cmath
import math

import numpy as np
import pytest
import scipy.special as special
import scipy.stats

import sdgrad

INF, NAN = np.inf, np.nan


def of_one(a):
    return (
        np.sinc(a), special.logit(a), special.log_expit(a), special.entr(a), np.angle(a), np.modf(a)[0],
        np.arcsinh(a),
    )  # fmt: skip


def of_two(a, b):
    return special.xlogy(a, b), special.xlog1py(a, b), special.huber(a, b), special.beta(a, b), np.arctan2(a, b)


POINTS = np.array([0.0, 0.5, 1.0, 2.0, -2.0, 40.0, 1e160, -1e160, INF, -INF, NAN])
PAIRS = np.array([
    (0.0, 2.0), (0.0, 0.0), (0.0, -2.0), (0.0, INF), (0.0, NAN), (-0.5, 2.0), (-0.5, NAN), (200.0, 2.0),
    (100.0, 100.0), (0.5, 3.0), (1e200, 1e200), (1e-200, 1e-200),
]).T  # fmt: skip


def test_values():
    with np.errstate(all="ignore"):
        wanted = of_one(POINTS)
        for found, value in zip(sdgrad.compile_forward(of_one)(POINTS), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-13, atol=1e-15)
        pairs = PAIRS[:, :10]
        found, wanted = sdgrad.compile_forward(of_two)(*pairs), of_two(*pairs)
    for k, (got, value) in enumerate(zip(found, wanted, strict=True)):
        at = slice(7, None) if k == 3 else slice(None)  # beta has poles before
        np.testing.assert_allclose(got[at], value[at], rtol=1e-11)


def sums(a, b):
    return np.sum(special.xlogy(a, b)) + np.sum(special.xlog1py(a, b))


def test_xlogy_is_linear_in_its_first_operand():
    a, b = np.zeros(3), np.array([0.5, 2.0, 7.0])
    np.testing.assert_allclose(sdgrad.grad(sums)(a, b), np.log(b) + np.log1p(b), rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (np.sinc, [-(math.pi**2) / 3 * 1e-9, -(math.pi**2) / 3 * 1e-4, 0.0, -4 / math.pi, -1.0]),
        (special.logit, [1e9 + 1, 1 / (1e-4 * (1 - 1e-4)), INF, 4.0, INF]),
        (special.log_expit, [special.expit(-v) for v in (1e-9, 1e-4, 0.0, 0.5, 1.0)]),
    ],
)
def test_slopes_in_both_modes(function, slope):
    """Near zero the quotient of the cardinal sine is no good; a difference of logarithms has finite parts at 0."""
    a = np.array([1e-9, 1e-4, 0.0, 0.5, 1.0])

    def total(x):
        return np.sum(function(x))

    def each(x):
        return function(x)

    np.testing.assert_allclose(sdgrad.grad(total)(a), slope, rtol=1e-6)
    np.testing.assert_allclose(sdgrad.jvp(each, (a,), (np.ones(5),))[1], slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "curvature"),
    [
        (np.sinc, -(math.pi**2) / 3),
        (lambda t: np.logaddexp(t, 0.0), 0.25),
        (lambda t: np.logaddexp2(0.0, t), math.log(2) / 4),
        (lambda t: np.arctan(t) * np.power(t + 2.0, t), 2 * math.log(2)),
    ],
)
def test_second_derivatives_at_zero(function, curvature):
    """A branch for a single point has the point's value, and must have its derivatives."""
    first = sdgrad.grad(function)
    assert sdgrad.grad(first)(0.0) == pytest.approx(curvature, rel=1e-12)
    assert sdgrad.jvp(first, (0.0,), (1.0,))[1] == pytest.approx(curvature, rel=1e-12)


def information(p, q):
    return special.entr(p), special.rel_entr(p, q), special.kl_div(p, q), special.psi(p)


def test_logarithms_at_zero_have_infinite_slopes():
    points = np.array([0.0, 0.5, -1.0, NAN]), np.array([2.0, 0.5, 2.0, 1.0])
    for found, wanted in zip(sdgrad.compile_forward(information)(*points), information(*points), strict=True):
        np.testing.assert_allclose(found, wanted)
    _, slopes = sdgrad.jvp(information, (np.zeros(1), np.ones(1)), (np.ones(1), np.zeros(1)))
    assert [float(s[0]) for s in slopes] == [INF, -INF, -INF, INF]


def test_empty_classes_leave_the_entropy_of_the_others():
    p = np.array([0.0, 0.2, 0.3])
    gradient = sdgrad.grad(scipy.stats.entropy)(p)
    np.testing.assert_allclose(gradient, [INF, *sdgrad.grad(scipy.stats.entropy)(p[1:])])


def powers(a, b):
    return np.sum(np.power(a, b)) + np.sum(np.float_power(a, b))


def test_mixed_derivative_of_a_power_at_exponent_zero():
    a, b, ones = np.array([0.5, 3.0]), np.zeros(2), np.ones(2)
    by_b = sdgrad.jvp(sdgrad.grad(powers, wrt="a"), (a, b), (None, ones))[1]
    np.testing.assert_allclose(by_b, 2 / a, rtol=1e-14)
    assert np.array_equal(sdgrad.grad(powers)(np.zeros(1), np.zeros(1)), [0.0])


def angles(a, b):
    return np.sum(np.arctan2(a, b))


def test_squares_that_overflow():
    a = np.array([1e200, 1e-200, 3.0])
    np.testing.assert_allclose(sdgrad.grad(angles, wrt=("a", "b"))(a, a), (0.5 / a, -0.5 / a), rtol=1e-13)

    def grown(t):
        return np.arcsinh(np.exp(t))

    assert sdgrad.grad(grown)(400.0) == pytest.approx(1.0)


def test_slope_of_arcsinh_of_complex_numbers():
    z = np.array([0.5 + 0.7j, -1e10 + 2e10j])
    _, pullback = sdgrad.vjp(np.arcsinh, z)
    (found,) = np.atleast_2d(pullback(np.ones(2, complex)))
    np.testing.assert_allclose(found, np.conj(1 / np.sqrt(z * z + 1)), rtol=1e-13)


def small_integers(x):
    return (
        x.astype(np.int8), np.int16(x), np.int32(x), x.astype("uint8"), np.uint16(x), np.uint32(x), np.uint64(x),
        np.sum(x * x.astype(np.int8)),
    )  # fmt: skip


def test_casts_to_all_integers():
    x = np.array([1.5, 2.25, 7.0])
    for found, wanted in zip(sdgrad.compile_forward(small_integers)(x), small_integers(x), strict=True):
        assert np.array_equal(found, wanted) and found.dtype == np.asarray(wanted).dtype


def types(s, h):
    return (
        math.hypot(s, s, 0.5), math.modf(s)[0], math.fsum([s, s]), cmath.exp(s), cmath.polar(s)[0], special.entr(h),
        special.xlogy(h, h), special.erf(h), np.interp(s, h, h),
    )  # fmt: skip


def test_types():
    """``math`` computes in double precision, SciPy not in half."""
    s, h = np.float32(0.7), np.array([0.5], np.float16)
    for found, wanted in zip(sdgrad.compile_forward(types)(s, h), types(s, h), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


def test_complex_numbers_are_none_of_math():
    def sine(z):
        return math.sin(z[0])

    with pytest.raises((TypeError, sdgrad.SdgradError), match="must be real"):
        sdgrad.compile_forward(sine)(np.array([1.0 + 2.0j]))


def of_python(A, k):
    """What ``item`` and ``tolist`` give is Python's: double precision beside numbers, none of its own beside arrays."""
    own, row = A.item(1), A[0].tolist()
    return own * 2.0, own * A, row[0] * A, np.geomspace(A[0, 0], A[1, 1], 3), A[np.array([1, 0]).nonzero()[0]], k.item()


def test_numbers_of_python():
    given = np.array([[1.5, 2.5], [3.5, 0.1]], np.float32), np.array([3], np.int32)
    for found, wanted in zip(sdgrad.compile_forward(of_python)(*given), of_python(*given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


def of_unsigned(x, k):
    return np.interp(x, k, k[::-1]), np.interp(k[1], x, x, left=0.0), np.polynomial.polynomial.polyval(k, k)


def test_differences_of_unsigned_integers():
    x, k = np.array([2.5, 5.0]), np.array([1, 3, 4, 6], np.uint8)
    for found, wanted in zip(sdgrad.compile_forward(of_unsigned)(x, k), of_unsigned(x, k), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def truths(z):
    return np.logical_not(z), np.logical_and(z, z[::-1]), np.logical_or(z, z), np.logical_xor(z, z[::-1])


def test_truth_of_complex_numbers():
    z = np.array([0j, 1j, 2.0])
    assert np.array_equal(sdgrad.compile_forward(truths)(z), truths(z))
    with pytest.raises(sdgrad.SdgradError, match="less has no derivative here for operands of type complex128"):
        sdgrad.compile_forward(np.less)(z, z)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integers_divided_by_zero(dtype):
    """NumPy gives zero, with a warning: C++ ends the process. The least number by -1 overflows."""

    def all_ways(a, b):
        return a // b, a % b, np.fmod(a, b), *divmod(a, b), *np.divmod(a, b), a // 2, a % 3

    least = np.iinfo(dtype).min
    a, b = np.array([7, 5, 0, least, 9, least], dtype), np.array([0, 2, 0, -1 if least else 3, 4, 4]).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = all_ways(a, b)
    for found, own in zip(sdgrad.compile_forward(all_ways)(a, b), wanted, strict=True):
        np.testing.assert_array_equal(found, own)
        assert found.dtype == own.dtype


@pytest.mark.parametrize("known", [True, False])
def test_interpolation_with_a_step(known):
    places, x = np.array([0.0, 1.0, 1.0, 2.0]), np.array([-1.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan])
    own = (lambda x, p, f: np.interp(x, [0.0, 1.0, 1.0, 2.0], f)) if known else np.interp
    found = sdgrad.compile_forward(own)(x, places, places**2 + np.arange(4))
    np.testing.assert_allclose(found, np.interp(x, places, places**2 + np.arange(4)))


def test_the_range_of_half_precision():
    x = np.array([1.5, -2.0, 7.0], np.float16)
    assert sdgrad.compile_forward(np.ptp)(x) == np.float16(9)


def test_a_result_without_elements_has_a_vjp():
    value, pullback = sdgrad.vjp(np.sqrt, np.zeros(0))
    assert value.shape == (0,) and pullback(np.zeros(0))[0].shape == (0,)
