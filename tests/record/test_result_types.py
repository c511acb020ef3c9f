"""Result types beside SciPy's where operands are in single or half precision, or complex."""

import numpy as np
import numpy.polynomial.polynomial as powers
import pytest
import scipy.integrate as integrate
import scipy.interpolate as interpolate
import scipy.ndimage as ndimage
import scipy.signal as signal
import scipy.stats as stats

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

rng = np.random.default_rng(0)
SINGLE = rng.uniform(0.2, 0.9, 6).astype("float32")


@pytest.fixture(autouse=True)
def quickly():
    with sdgrad.config.override(verify="never", optimization_level=0):
        yield


def in_single_precision(a):
    x = np.cumsum(a)
    at = 0.5 * (x[1:] + x[:-1])
    return (
        interpolate.interp1d(x, a)(at), interpolate.interp1d(x, a, "nearest")(at),
        interpolate.interp1d(x, a, "previous")(at), interpolate.interp1d(x, a, "slinear")(at),
        interpolate.interp1d(x, a, "cubic")(at), interpolate.interp1d(x, a, "zero")(at),
        signal.sawtooth(a, a[0]), signal.square(a, a[0]), stats.yeojohnson_llf(0.5, a - 0.5),
        stats.dirichlet.logpdf(a / np.sum(a), a), stats.dirichlet.pdf((a / np.sum(a))[:-1], a),
    )  # fmt: skip


def test_single_precision():
    found, wanted = sdgrad.compile_forward(in_single_precision)(SINGLE), in_single_precision(SINGLE)
    assert [str(np.asarray(f).dtype) for f in found] == [str(np.asarray(x).dtype) for x in wanted]
    for f, x in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, x, rtol=2e-5, atol=1e-6)


def series(a):
    return (
        powers.polyder(a), powers.polyder(a, 2, 0.5), powers.polyint(a), powers.polyint(a, 2, [0.5, 2.0], 0.25),
        powers.polyder(np.reshape(a, (3, 2)), axis=1), np.polyder(a), np.polyint(a),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int32"])
def test_derivatives_and_integrals_of_series(dtype):
    a = (SINGLE * 9).astype(dtype)
    found, wanted = sdgrad.compile_forward(series)(a), series(a)
    assert [f.dtype for f in found] == [x.dtype for x in wanted]
    for f, x in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, x, rtol=5e-3 if dtype == "float16" else 1e-5)


def of_complex_weights(a, u, k):
    return (
        ndimage.correlate1d(a, u), ndimage.convolve1d(a, u), ndimage.correlate(a, k), ndimage.convolve(a, k),
        ndimage.correlate1d(np.real(a), u), ndimage.gaussian_filter(a, 0.8), ndimage.uniform_filter(a),
        ndimage.sobel(a), ndimage.laplace(a), ndimage.correlate(a, np.ones((3, 3))),
    )  # fmt: skip


def drawn(dtype, *shapes):
    return [(rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(dtype) for s in shapes]


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_weights_are_conjugated_in_correlations(dtype):
    a, u, k = drawn(dtype, (4, 5), (3,), (3, 3))
    found, wanted = sdgrad.compile_forward(of_complex_weights)(a, u, k), of_complex_weights(a, u, k)
    for f, x in zip(found, wanted, strict=True):
        assert f.dtype == x.dtype
        np.testing.assert_allclose(f, x, rtol=1e-4 if dtype == "complex64" else 1e-12, atol=1e-5)


def length(a, u, k):
    one, other = ndimage.correlate1d(a, u), ndimage.correlate(a, k)
    return np.sum(np.real(one) ** 2 + np.imag(other) * np.real(ndimage.sobel(a)))


def test_derivatives_by_complex_weights():
    given = drawn("complex128", (4, 5), (3,), (3, 3))
    check_grads(length, given, order=2)
    single = [g.astype("complex64") for g in given]
    for f, x in zip(sdgrad.grad(length, (0, 1, 2))(*single), sdgrad.grad(length, (0, 1, 2))(*given), strict=True):
        np.testing.assert_allclose(f, x, rtol=1e-3, atol=1e-3)


REFUSED = {
    "linregress of complex numbers": lambda z: np.real(stats.linregress(z, z * z)[0]),
    "SciPy drops imaginary parts": lambda z: np.real(integrate.simpson(z, z)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_no_imaginary_part_is_dropped(message):
    (z,) = drawn("complex128", (6,))
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(z)
