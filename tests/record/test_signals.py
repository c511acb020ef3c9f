"""Functions of ``scipy.signal`` and integrals of samples beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.signal as signal
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
NUMERATOR, DENOMINATOR = signal.butter(3, 0.3)
NAMES = {"S": signal, "G": integrate, "B": NUMERATOR, "A": DENOMINATOR, "sos": signal.butter(4, 0.3, output="sos"),
         "HANN": signal.windows.hann(6, sym=False)}  # fmt: skip
GIVEN = {
    "y": rng.standard_normal(13), "v": rng.standard_normal(4), "im": rng.standard_normal((5, 6)),
    "ker": rng.standard_normal((3, 3)), "even": rng.standard_normal((2, 4)), "b": np.array([0.4, 0.2, 0.3]),
    "a": np.array([1.3, -0.5, 0.2]), "z": rng.standard_normal((5, 2)), "zs": rng.standard_normal((2, 5, 2)),
    "long": rng.standard_normal(30), "w": 0.45, "x": np.cumsum(rng.uniform(0.3, 1.0, 9)),
}  # fmt: skip
CONVOLUTIONS = [
    "S.convolve(y, v)", "S.convolve(v, y, 'valid')", "S.convolve(im, even, 'same')", "S.fftconvolve(im, ker, 'same')",
    "S.fftconvolve(im, im[:2], axes=0)", "S.oaconvolve(y, v)", "S.convolve(y, v, method='fft')", "S.correlate(y, v)",
    "S.correlate(im, even, 'same')", "S.correlate(v, y, 'valid')", "S.convolve2d(im, even, 'same', 'wrap')",
    "S.convolve2d(im, even, 'full', 'fill', 0.7)", "S.convolve2d(im, ker, 'same', 'symm')",
    "S.correlate2d(im, even, 'same', 'symm')", "S.correlate2d(im, ker, 'valid')",
    "S.correlate2d(im, ker, 'full', 'wrap')",
]  # fmt: skip
FILTERS = [
    "S.lfilter(B, A, y)", "S.lfilter(b, a, y)", "S.lfilter(b, [1.0], im, axis=0)", "S.lfilter(b, a, im, zi=z)[0]",
    "S.lfilter(b, a, im, zi=z)[1]", "S.lfilter([0.3], a, im, axis=0)", "S.lfilter(B, A, y[:2], zi=y[:3])[1]",
    "S.lfilter_zi(b, a)", "S.lfilter_zi(b[:2], a)", "S.sosfilt(sos, im)", "S.sosfilt(sos, im, zi=zs)[1]",
    "S.filtfilt(B, A, long)", "S.filtfilt(b, a, y, padtype='even')",
    "S.filtfilt(b, a, y, padlen=3, padtype='constant')",
    "S.sosfiltfilt(sos, long)", "S.decimate(long, 2, n=3)",
    "S.sosfilt_zi(np.stack([np.concatenate([b, np.ones(1), a[1:]])] * 2))",
]  # fmt: skip
SMOOTH = [
    "S.detrend(im)", "S.detrend(y, bp=[4, 9])", "S.detrend(im, 0, 'constant')", "S.savgol_filter(y, 5, 2)",
    "S.savgol_filter(im, 3, 1, axis=0)", "S.savgol_filter(y, 5, 3, 1, 0.5, mode='mirror')", "S.savgol_filter(y, 4, 2)",
    "S.savgol_filter(y, 5, 2, mode='constant', cval=0.3)", "S.savgol_filter(y, 4, 2, mode='nearest')",
    "np.real(S.hilbert(y))", "np.imag(S.hilbert(im, axis=0))", "np.imag(S.hilbert(y, 8))", "S.resample(y, 20)",
    "S.resample(y, 6, window='hann')", "S.resample(im, 8, axis=1)", "S.resample(im, 4, axis=1)", "S.sawtooth(y, 0.3)",
    "S.square(y, 0.3)", "S.sawtooth(y, w)", "S.chirp(y, w, 2.0, 5 * w)", "S.chirp(y, w, 2.0, 5 * w, 'quadratic', 30)",
    "S.chirp(y, 0.4, 2.0, 5.0, 'log')", "S.chirp(y, 0.4, 2.0, 5.0, 'hyperbolic')", "S.gausspulse(y, 0.5, w)",
    "S.chirp(y, w, 4 * w, 2 * w, 'quadratic', vertex_zero=False)", "S.gausspulse(y, 0.5, retquad=True, retenv=True)[1]",
]  # fmt: skip
SPECTRA = [
    "S.welch(y, nperseg=6)[1]", "S.welch(y, 2.0, nperseg=5, nfft=8, scaling='spectrum', detrend='linear')[1]",
    "S.periodogram(im, axis=0)[1]", "S.periodogram(y, window='hann', nfft=7)[1]", "S.welch(y, nperseg=6)[0]",
    "S.periodogram(y, return_onesided=False, nfft=16)[1]", "np.imag(S.csd(y, y[::-1] ** 2, nperseg=6)[1])",
    "S.spectrogram(y, nperseg=5)[2]", "S.spectrogram(y, nperseg=5, mode='magnitude')[2]",
    "np.real(S.stft(y, nperseg=6)[2])", "np.imag(S.stft(im, nperseg=4, axis=0, boundary='odd')[2])",
    "np.real(S.stft(y, nperseg=5, boundary=None, padded=False, scaling='psd', window='hamming', noverlap=3)[2])",
    "S.stft(y, nperseg=6)[1]", "S.spectrogram(y, nperseg=5)[1]", "S.istft(im[:4] + 1j * im[1:])[1]",
    "S.istft(S.stft(y, nperseg=6)[2], nperseg=6)[1]",
    "np.real(S.istft(im[:4] + 1j * im[1:], input_onesided=False, noverlap=3, scaling='psd')[1])",
]  # fmt: skip
WINDOWS = [
    "S.welch(y, window=0.4 + v**2)[1]", "S.periodogram(im, 2.0, window=1.5 + np.sin(y[:6]), scaling='spectrum')[1]",
    "np.real(S.csd(y, y[::-1] ** 2, window=b, noverlap=0, nfft=5)[1])", "S.coherence(y, y**2, window=0.4 + v**2)[1]",
    "S.spectrogram(y, window=0.4 + v**2, mode='magnitude')[2]", "S.welch(im, 2.0, window=[0.5, 1.0, 2.0, 0.7])[1]",
    "np.imag(S.stft(y, window=0.4 + v**2, nperseg=4, scaling='psd')[2])", "S.spectrogram(y, window=HANN)[2]",
    "S.istft(im[:3] + 1j * im[1:4], window=0.4 + v**2, nperseg=4)[1]", "S.welch(y, window=HANN)[1]",
    "S.istft(im[:3] + 1j * im[1:4], window=0.4 + v**2, scaling='psd', noverlap=1)[1]",
]  # fmt: skip
INTEGRALS = [
    "G.trapezoid(im, axis=0)", "G.simpson(y[:9], x)", "G.simpson(y[:6], x[:6])", "G.simpson(im, axis=1)",
    "G.simpson(y[:2], x[:2])", "G.simpson(im, dx=w, axis=0)", "G.cumulative_trapezoid(y[:9], x)",
    "G.cumulative_trapezoid(im, axis=0, initial=0)", "G.cumulative_simpson(y[:9], x=x)",
    "G.cumulative_simpson(y[:6], x=x[:6], initial=0.0)", "G.cumulative_simpson(im, axis=0)", "G.romb(y[:9], w)",
    "G.romb(np.outer(x, y), axis=0)",
]  # fmt: skip


@pytest.mark.parametrize(
    "calls",
    [CONVOLUTIONS + INTEGRALS, FILTERS, SMOOTH + SPECTRA, WINDOWS],
    ids=["sums", "filters", "spectra", "windows"],
)
@pytest.mark.filterwarnings("ignore:.*NOLA")
def test_values_and_derivatives(calls):
    used = {n: v for n, v in GIVEN.items() if any(n in c for c in calls)}
    assert value_differences(others(calls, calls[:: 2 if calls is WINDOWS else 4]), NAMES, used) == []
    assert differences(calls[:: 2 if calls is WINDOWS else 4], NAMES, used, step=1e-3) == []


def test_single_precision_and_complex_numbers():
    def f(x, z):
        return signal.savgol_filter(x, 5, 2), signal.detrend(x), signal.lfilter([1.0, 0.3], [1.0, -0.5j], z)

    x, z = GIVEN["y"].astype(np.float32), GIVEN["y"] + 1j * GIVEN["y"][::-1]
    for found, wanted in zip(sdgrad.compile_forward(f)(x, z), f(x, z), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-5 if found.dtype == np.float32 else 1e-13, atol=1e-6)


def test_types_of_single_precision_are_those_of_scipy():
    def f(x):
        return (
            signal.welch(x, window=0.4 + x[:8])[1], signal.stft(x, window=x[:8], nperseg=8)[2],
            signal.decimate(x, 2), signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8)[1], signal.sawtooth(x),
            *(signal.chirp(x, 1.0, 1.0, 2.0, m, 30) for m in ("linear", "quadratic")), signal.gausspulse(x, 0.2),
        )  # fmt: skip

    x = np.linspace(0.1, 1.3, 40, dtype=np.float32)
    for found, wanted in zip(sdgrad.compile_forward(f)(x), f(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_long_kernels_go_by_transforms():
    x, k = rng.standard_normal(3000), rng.standard_normal(1000)
    found, pullback = sdgrad.vjp(lambda x: signal.convolve(x, k, "same"), x)
    np.testing.assert_allclose(found, signal.convolve(x, k, "same"), atol=1e-11)
    g = rng.standard_normal(3000)
    wanted = np.convolve(g, k[::-1])[500:3500]
    np.testing.assert_allclose(np.ravel(pullback(g)), wanted, atol=1e-11)


REFUSED = {
    "method='gust' is not recorded": lambda x: signal.filtfilt([1.0, 0.5], [1.0], x, method="gust"),
    "average='median' is not recorded": lambda x: signal.welch(x, nperseg=4, average="median")[1],
    "domain='freq' is not recorded": lambda x: signal.resample(x, 5, domain="freq"),
    "savgol_filter of complex numbers": lambda x: np.real(signal.savgol_filter(x + 1j * x, 5, 2)),
    "chirp of complex numbers": lambda x: np.real(signal.chirp(x + 1j * x, 1.0, 2.0, 3.0)),
    "'cutoff' is not recorded": lambda x: x * signal.gausspulse("cutoff", x[0]),
    "gaussian": lambda x: signal.windows.gaussian(5, x[0]),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(REFUSED[message](x)))(GIVEN["y"])


def test_sections_must_be_normalized():
    def f(s, x):
        return signal.sosfilt(s, x)

    found = sdgrad.compile_forward(f)
    s = np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]])
    np.testing.assert_allclose(found(s, GIVEN["y"]), f(s, GIVEN["y"]))
    with pytest.raises(ValueError, match="all ones"):
        found(2 * s, GIVEN["y"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_types_of_integrals(dtype):
    """SciPy computes some in double precision, and the others in that of the samples."""

    def integrals(a, x):
        given = integrate.simpson(a, x=x), integrate.cumulative_simpson(a, x=x), integrate.cumulative_trapezoid(a, x=x)
        own = integrate.simpson(a), integrate.romb(a), integrate.cumulative_simpson(a), integrate.trapezoid(a)
        return (*given, *own, integrate.cumulative_trapezoid(a, initial=0))

    a, x = GIVEN["y"][:5].astype(dtype), GIVEN["x"][:5].astype(np.finfo(dtype).dtype)
    for found, wanted in zip(sdgrad.compile_forward(integrals)(a, x), integrals(a, x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=32 * np.finfo(dtype).eps, atol=32 * np.finfo(dtype).eps)
