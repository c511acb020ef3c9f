"""Polyphase filters, medians and ranks in windows, quotients of signals: beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.ndimage as ndimage
import scipy.signal as signal
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
NAMES = {"S": signal, "N": ndimage}
GIVEN = {
    "y": rng.standard_normal(13), "v": rng.standard_normal(4), "im": rng.standard_normal((5, 6)),
    "h": rng.standard_normal(7), "cv": 0.3,
}  # fmt: skip
BORDERS = ("symmetric", "reflect", "edge", "wrap", "smooth", "antisymmetric", "antireflect", "line")
CALLS = [
    *(f"S.upfirdn(h, im, 3, 2, mode='{m}')" for m in BORDERS), "S.upfirdn(h, y, 3, 2)",
    "S.upfirdn(h, im, 2, 3, axis=0)", "S.upfirdn(h, y, 1, 4)", "S.upfirdn(v, y, 5, 1)", "S.upfirdn(h, y[:1], 3, 2)",
    "S.upfirdn(h, y, mode='constant', cval=cv)", "S.upfirdn([1.0, 0.5, 0.2], y, 6, 4)",
    "S.resample_poly(y, 3, 2)", "S.resample_poly(im, 2, 3, axis=1)", "S.resample_poly(y, 4, 6, window=h)",
    "S.resample_poly(im, 2, 1, padtype='line')", "S.resample_poly(y, 3, 1, padtype='mean')",
    "S.resample_poly(y, 1, 3, padtype='maximum')", "S.resample_poly(y, 1, 3, padtype='median')",
    "S.resample_poly(y, 5, 3, padtype='edge')", "S.resample_poly(y, 3, 4, cval=0.7)", "S.resample_poly(y, 2, 2)",
    "S.resample_poly(y, 7, 5, window='hann')", "S.decimate(y, 2, n=6, ftype='fir')",
    "S.decimate(im, 3, n=5, ftype='fir', axis=0, zero_phase=False)", "S.medfilt(y)", "S.medfilt(im, [3, 5])",
    "S.medfilt2d(im)", "S.medfilt2d(im, [5, 3])", "N.median_filter(im, 3)", "N.median_filter(im, 3, axes=1)",
    "N.median_filter(im, (2, 3), mode='wrap', origin=(0, 1))", "N.median_filter(y, 4, mode='mirror')",
    "N.rank_filter(im, 2, 3)", "N.rank_filter(im, -2, footprint=[[1, 0, 1], [0, 1, 1]], mode='nearest')",
    "N.percentile_filter(im, 30, 3, mode='constant', cval=0.2)", "N.percentile_filter(y, 100, 3)",
    "N.percentile_filter(y, -20, 3)", "S.coherence(y, y[::-1] ** 2, nperseg=6)[1]",
    "S.coherence(im, im**2, nperseg=3, axis=1)[1]", "S.lfiltic(h[:3], v, y[:4])", "S.lfiltic(h, v, y[:2], y[3:6])",
    "S.lfiltic(v, [2.0], y[:2], y)", "S.deconvolve(y, v)[0]", "S.deconvolve(y, v)[1]",
]  # fmt: skip


def test_values_and_derivatives():
    chosen = CALLS[::3]
    assert value_differences(others(CALLS, chosen), NAMES, GIVEN) == []
    assert differences(chosen, NAMES, GIVEN, step=1e-3) == []


def test_types_are_those_of_scipy():
    def f(x, z, k):
        return (
            signal.upfirdn(np.array([1.0, 2.0, 0.5], np.float32), x, 2), signal.upfirdn([1.0, 2.0], x), z * 1,
            signal.upfirdn([1.0, 2.0j], x, 2, 3), signal.resample_poly(x, 3, 2), signal.resample_poly(z, 3, 2),
            signal.decimate(x, 2, ftype="fir"), signal.medfilt(x), ndimage.median_filter(k, 3), signal.medfilt(k),
            signal.resample_poly(x, 2, 1, padtype="mean"), signal.resample_poly(k, 3, 2),
        )  # fmt: skip

    x = GIVEN["y"].astype(np.float32)
    given = x, x + 1j * x[::-1], np.arange(9) ** 2 % 7
    for found, wanted in zip(sdgrad.compile_forward(f)(*given), f(*given), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


REFUSED = {
    "longer than the data": lambda x: signal.upfirdn(np.ones(30), x, mode="antireflect"),
    "output= is not recorded": lambda x: ndimage.median_filter(x, 3, output=np.float32),
    "a mode for each axis": lambda x: ndimage.rank_filter(x, 1, 3, mode=["wrap"]),
    "'iir' and 'fir' are recorded": lambda x: signal.decimate(x, 2, ftype=signal.dlti([1.0], [1.0, 0.5])),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(REFUSED[message](x)))(GIVEN["y"])
