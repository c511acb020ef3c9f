"""Signals: filters, spectra, adaptive filtering, linear prediction, alignment."""

import itertools

import numpy as np

from people._case import case


def biquad(kind, frequency, quality):
    w = 2 * np.pi * frequency
    alpha = np.sin(w) / (2 * quality)
    if kind == "lowpass":
        b = [(1 - np.cos(w)) / 2, 1 - np.cos(w), (1 - np.cos(w)) / 2]
    elif kind == "notch":
        b = [1.0, -2 * np.cos(w), 1.0]
    else:
        raise ValueError(f"kind must be 'lowpass' or 'notch', not {kind!r}")
    a = [1 + alpha, -2 * np.cos(w), 1 - alpha]
    return np.array(b) / a[0], np.array(a) / a[0]


def lfilter(b, a, x):
    """Direct form II, transposed."""
    z1 = z2 = 0.0
    y = np.zeros(len(x))
    for n, sample in enumerate(x):
        y[n] = b[0] * sample + z1
        z1 = b[1] * sample - a[1] * y[n] + z2
        z2 = b[2] * sample - a[2] * y[n]
    return y


@case(lambda rng: ({"lowpass": (0.12, 0.8), "notch": (0.3, 2.0)}, rng.standard_normal(30)), wrt=(0, 1))
def filter_cascade(sections, x):
    for kind, (frequency, quality) in sections.items():
        b, a = biquad(kind, frequency, quality)
        x = lfilter(b, a, x)
    rms = np.sqrt(np.mean(x**2))
    return 20 * np.log10(rms)


def frames(x, length, hop):
    return np.array([x[start : start + length] for start in range(0, len(x) - length + 1, hop)])


@case(lambda rng: (rng.standard_normal(40), 0.6), wrt=(0, 1))
def spectral_features(x, emphasis, length=16, hop=8):
    x = np.append(x[0], x[1:] - emphasis * x[:-1])
    windowed = frames(x, length, hop) * np.hanning(length)
    power = np.abs(np.fft.rfft(windowed, axis=1)) ** 2 + 0.05
    bins = np.arange(power.shape[1])
    centroid = (power * bins).sum(axis=1) / power.sum(axis=1)
    flatness = np.exp(np.log(power).mean(axis=1)) / power.mean(axis=1)
    change = np.diff(np.log(power), axis=0)
    return centroid.mean() + flatness.sum() + np.sqrt(np.mean(change**2))


@case(lambda rng: (0.1, [0.8, -0.4, 0.2], rng.standard_normal(35)), wrt=(0, 1, 2))
def adaptive_echo_canceller(step, echo_path, speech, taps=4, regulariser=0.1):
    echo = np.convolve(speech, echo_path)[: speech.size]
    w = np.zeros(taps)
    buffer = np.zeros(taps)
    residuals = []
    for n in range(speech.size):
        buffer = np.roll(buffer, 1)
        buffer[0] = speech[n]
        e = echo[n] - w @ buffer
        w += step * e * buffer / (regulariser + buffer @ buffer)
        residuals.append(e)
    tail = np.array(residuals)[-10:]
    return 10 * np.log10(np.mean(tail**2) / np.mean(echo[-10:] ** 2))


def autocorrelation(x, lags):
    return np.array([x[: x.size - k] @ x[k:] for k in range(lags)]) / x.size


def levinson_durbin(r, order):
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    reflections = []
    for m in range(1, order + 1):
        k = -(r[m] + np.dot(a[1:m], r[m - 1 : 0 : -1])) / error
        a[1 : m + 1] += k * a[m - 1 :: -1]
        error *= 1 - k**2
        reflections.append(k)
    return a, error, reflections


@case(lambda rng: (rng.standard_normal(32).cumsum() / 3,))
def linear_prediction(x, order=4):
    x = x - x.mean()
    r = autocorrelation(x * np.hamming(x.size), order + 1)
    a, error, reflections = levinson_durbin(r, order)
    w = np.linspace(0, np.pi, 9)
    response = np.polyval(a[::-1], np.exp(-1j * w))
    envelope = error / np.abs(response) ** 2
    return np.log(envelope).max() + np.arctanh(reflections).sum()


@case(lambda rng: (rng.standard_normal((6, 2)), rng.standard_normal((7, 2)), 0.5), wrt=(0, 1, 2))
def soft_time_warping(first, second, gamma):
    n, m = len(first), len(second)
    cost = {(i, j): np.sum((first[i] - second[j]) ** 2) for i, j in itertools.product(range(n), range(m))}
    R = np.full((n + 1, m + 1), 1e8)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            choices = np.array([R[i - 1, j], R[i, j - 1], R[i - 1, j - 1]])
            low = choices.min()
            R[i, j] = cost[i - 1, j - 1] + low - gamma * np.log(np.exp(-(choices - low) / gamma).sum())
    return R[n, m] / (n + m)
