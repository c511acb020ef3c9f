"""Responses of filters to frequencies, and periodograms of samples at any times: SciPy's values, and derivatives."""

import numpy as np
import pytest
from scipy import signal
from together import differences

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, 1.5, -0.7, 2.0])
SECTIONS = "np.stack([np.r_[x[:3], 1.0, x[3] / 9, 0.2], np.r_[x[1:], 1.0, 0.3 * x[0], 0.1]])"
TEXTS = [
    "np.abs(signal.freqz(x, np.array([1.0, 0.2]), worN=8)[1])", "signal.freqz(x, worN=5, whole=True, fs=3.0)[0] * x[0]",
    "np.angle(signal.freqz(x[:2], x[2:], worN=5, include_nyquist=True)[1][1:-1])",
    "signal.freqz(x, [1.0, x[1] / 9], worN=np.abs(x))[1].imag", f"np.abs(signal.freqz_sos({SECTIONS}, 6)[1])",
    "np.abs(signal.freqz_zpk(x[:2] * 1j, x[2:] / 4, x[0], 6)[1])", "np.abs(signal.freqs(x, [1.0, 2.0], np.abs(x))[1])",
    "signal.lombscargle(np.array([0.0, 1.0, 2.5, 4.0]), x, np.array([0.5, 1.0]))",
    "signal.lombscargle(np.cumsum(np.abs(x)), x**2, x[:2], normalize=True, floating_mean=True, weights=np.abs(x))",
    "np.real(signal.lombscargle(np.cumsum(np.abs(x)), x**2, np.array([0.5, 1.0]), normalize='amplitude'))",
]  # fmt: skip


def test_values_and_derivatives():
    assert differences(TEXTS, {"signal": signal}, {"x": X}) == []


REFUSED = {
    "of several filters": lambda x: signal.freqz(np.stack([x, x]))[1],
    "pass them as worN=": lambda x: signal.freqs(x, [1.0, 2.0])[1],
    "plot= is not recorded": lambda x: signal.freqz(x, plot=print)[1],
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(np.abs(REFUSED[message](x))))(X)
