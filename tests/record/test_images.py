"""Functions of ``scipy.ndimage`` beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.ndimage as ndimage
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
MODES = ("constant", "nearest", "reflect", "mirror", "grid-wrap", "wrap", "grid-constant")
PLACES = np.array([
    [-7.3, -2.2, -0.3, 0.4, 1.6, 2.2, 3.7, 4.3, 6.6, 12.3], [1.3, 2.6, 0.2, 3.3, -0.4, 5.3, 4.7, -1.7, 2.2, 3.3]
])  # fmt: skip
GIVEN = {
    "y": rng.standard_normal(9), "im": rng.standard_normal((5, 6)), "w": 0.87, "k": rng.standard_normal((3, 3)),
    "even": rng.standard_normal((2, 4)), "p": PLACES,
}  # fmt: skip
FILTERS = [
    "N.gaussian_filter(im, (0.7, 1.2), mode='nearest')", "N.gaussian_filter1d(im, 1.0, axis=0, order=1)",
    "N.gaussian_filter1d(y, w, radius=2)", "N.gaussian_filter1d(y, w, radius=2, order=3)", "N.uniform_filter(im)",
    "N.uniform_filter1d(y, 4, origin=1)", "N.convolve(im, k)", "N.convolve(im, even, mode='constant', cval=0.4)",
    "N.correlate(im, even, mode='wrap', origin=(0, -1))", "N.convolve1d(im, y[:4], axis=0)",
    "N.correlate1d(im, y[:4], mode='mirror')", "N.sobel(im)", "N.prewitt(im, axis=0)", "N.laplace(im)",
    "N.gaussian_laplace(im, 0.8)", "N.maximum_filter(im, 3)",
    "N.minimum_filter(im, (2, 3), mode='constant', cval=-3.0)",
    "N.maximum_filter1d(y, 2)", *(f"N.spline_filter1d(y, 3, mode='{m}')" for m in MODES), "N.spline_filter(im)",
    "N.spline_filter1d(y, 2)",
]  # fmt: skip
LINEAR = [f"N.map_coordinates(im, p, order={k}, mode='{m}', cval=0.3)" for k in (0, 1) for m in MODES]
CUBIC = [f"N.map_coordinates(im, p, order=3, mode='{m}', cval=0.3)" for m in MODES]
CUBIC += [f"N.map_coordinates(im, p, order={k}, mode='nearest', prefilter=False)" for k in (2, 3)]
MOVES = [
    "N.shift(im, (w, -1.3), mode='reflect')", "N.shift(y, w, order=1)", "N.zoom(im, 1.7)",
    "N.zoom(im, (2, 0.6), order=1, mode='nearest')", "N.zoom(im, 1.7, mode='grid-wrap', grid_mode=True)",
    "N.rotate(im, 30.0)", "N.rotate(im, 40 * w, reshape=False, order=1)",
    "N.rotate(np.stack([im, im**2]), 20.0, axes=(2, 1))",
    "N.affine_transform(im, k[:2] * 0.3, order=1, mode='reflect')",
    "N.affine_transform(im, np.eye(2) * w + 0.1 * k[:2, :2], offset=w)",
    "N.affine_transform(im, y[:2] * 0.5, offset=0.2, mode='mirror')",
]  # fmt: skip


@pytest.mark.parametrize("calls", [FILTERS, LINEAR + MOVES, CUBIC], ids=["filters", "moves", "cubic"])
def test_values_and_derivatives(calls):
    used = {n: v for n, v in GIVEN.items() if any(n in c for c in calls)}
    assert value_differences(others(calls, calls[1::4]), {"N": ndimage}, used) == []
    assert differences(calls[1::4], {"N": ndimage}, used, step=1e-3) == []


def test_single_precision():
    def f(x):
        return ndimage.gaussian_filter(x, 1.0), ndimage.zoom(x, 2.0), ndimage.maximum_filter(x, 3)

    x = GIVEN["im"].astype(np.float32)
    for found, wanted in zip(sdgrad.compile_forward(f)(x), f(x), strict=True):
        assert found.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_equal_extremes_share_the_cotangent():
    found = sdgrad.grad(lambda x: ndimage.maximum_filter1d(x, 3)[1])(np.array([2.0, 2.0, 1.0, 0.0]))
    np.testing.assert_allclose(found, [0.5, 0.5, 0.0, 0.0])


REFUSED = {
    "rounds its results": lambda x: ndimage.gaussian_filter((x > 0) * 3, 1.0) * x,
    "order 4 are not recorded": lambda x: ndimage.shift(x, 0.5, order=4),
    "a recorded sigma needs radius=": lambda x: ndimage.gaussian_filter(x, x[0, 0]),
    "needs reshape=False": lambda x: ndimage.rotate(x, x[0, 0]),
    "footprint= is not recorded": lambda x: ndimage.maximum_filter(x, footprint=np.eye(3)),
    "output= is not recorded": lambda x: ndimage.sobel(x, output=np.float32),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(REFUSED[message](x)))(GIVEN["im"])
