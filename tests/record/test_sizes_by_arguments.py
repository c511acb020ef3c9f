"""Slices that an integer argument sizes: functions that need the size have it, each value another program."""

import numpy as np
import pytest
import scipy.linalg
from references import assert_close
from scipy import fft, integrate, ndimage, signal, special, stats
from scipy.spatial import distance

import sdgrad
from sdgrad.convert.callables import bind_arguments

RNG = np.random.default_rng(7)
A, X = RNG.standard_normal((12, 6)), RNG.standard_normal(24)


def gram(A, k):
    return A[:, :k].T @ A[:, :k]


CASES = {
    "quantile": lambda A, x, k: np.quantile(x[:k], 0.3),
    "median": lambda A, x, k: np.median(x[:k]),
    "det": lambda A, x, k: np.linalg.det(A[:k, :k]),
    "slogdet": lambda A, x, k: np.linalg.slogdet(A[:k, :k])[1],
    "expm": lambda A, x, k: np.sum(scipy.linalg.expm(A[:k, :k])),
    "sqrtm": lambda A, x, k: np.sum(scipy.linalg.sqrtm(gram(A, k))),
    "eig": lambda A, x, k: np.sum(np.abs(np.linalg.eig(A[:k, :k])[1]) ** 3),
    "qr": lambda A, x, k: np.sum(np.abs(np.linalg.qr(A[:, :k])[1]) ** 3),
    "svd": lambda A, x, k: np.sum(np.linalg.svd(A[:, :k])[1] ** 3),
    "pinv": lambda A, x, k: np.sum(np.linalg.pinv(A[:, :k]) ** 3),
    "lstsq": lambda A, x, k: np.sum(np.linalg.lstsq(A[:, :k], x[:12])[0] ** 2),
    "norm": lambda A, x, k: np.linalg.norm(A[:, :k], 2) + np.linalg.cond(A[:, :k]),
    "matrix_power": lambda A, x, k: np.sum(np.linalg.matrix_power(A[:k, :k], 3)),
    "cho_factor": lambda A, x, k: np.sum(scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram(A, k)), x[:k])),
    "lu_factor": lambda A, x, k: np.sum(scipy.linalg.lu_solve(scipy.linalg.lu_factor(A[:k, :k]), x[:k])),
    "toeplitz": lambda A, x, k: np.sum(scipy.linalg.toeplitz(x[:k]) ** 3),
    "kron": lambda A, x, k: np.sum(np.kron(A[:k, :k], A[:2, :2]) ** 2),
    "tril": lambda A, x, k: np.sum(np.tril(A[:k, :k]) ** 2),
    "roll": lambda A, x, k: np.sum(np.roll(x[:k], 1) * x[:k]),
    "gradient": lambda A, x, k: np.sum(np.gradient(x[:k]) ** 2),
    "sort": lambda A, x, k: np.sum(np.sort(x[:k])[::2]),
    "histogram": lambda A, x, k: np.sum(np.histogram(x[:k], bins=3, weights=x[k : 2 * k])[0]),
    "dct": lambda A, x, k: np.sum(fft.dct(x[:k]) ** 3),
    "lfilter": lambda A, x, k: np.sum(signal.lfilter([1.0, 0.5], [1.0, -0.3], x[:k]) ** 2),
    "hilbert": lambda A, x, k: np.sum(np.abs(signal.hilbert(x[:k])) ** 3),
    "simpson": lambda A, x, k: integrate.simpson(x[:k]),
    "pdist": lambda A, x, k: np.sum(distance.pdist(A[:k])),
    "pearsonr": lambda A, x, k: stats.pearsonr(x[:k], x[k : 2 * k])[0],
    "uniform_filter1d": lambda A, x, k: np.sum(ndimage.uniform_filter1d(x[: 3 * k], 3) ** 2),
    "logsumexp": lambda A, x, k: special.logsumexp(x[:k]),
    "gaussian_kde": lambda A, x, k: np.sum(stats.gaussian_kde(x[: 4 * k])(x[:k])),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    f = CASES[name]
    h, turns = 1e-6, (RNG.standard_normal(A.shape), RNG.standard_normal(X.shape))
    for k in (4, 5):
        value, gradients = sdgrad.value_and_grad(f, wrt=(0, 1))(A, X, k)
        assert_close(value, f(A, X, k), 1e-10, "value")
        ahead, behind = (f(A + s * h * turns[0], X + s * h * turns[1], k) for s in (1, -1))
        slope = sum(np.sum(g * t) for g, t in zip(gradients, turns, strict=True))
        assert_close(slope, (ahead - behind) / (2 * h), 1e-5, "gradient")


@pytest.mark.parametrize("name", ["median", "det", "expm", "slogdet", "sqrtm", "uniform_filter1d"])
def test_second_derivatives(name, recwarn):
    """In a program that calls the gradient the sizes are known, too; nothing is recorded for a size of zero."""
    f = CASES[name]
    first = sdgrad.grad(f, wrt=(0, 1))
    turns = RNG.standard_normal(A.shape), RNG.standard_normal(X.shape)

    def slope(A, x, k):
        by_A, by_x = first(A, x, k)
        return np.sum(by_A * turns[0]) + np.sum(by_x * turns[1])

    found = sdgrad.grad(slope, wrt=(0, 1))(A, X, 4)
    h = 1e-5
    ahead, behind = (first(A + s * h * turns[0], X + s * h * turns[1], 4) for s in (1, -1))
    for own, a, b in zip(found, ahead, behind, strict=True):
        np.testing.assert_allclose(own, (a - b) / (2 * h), rtol=1e-4, atol=1e-4 * np.max(np.abs(own)) + 1e-6)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_sizes_that_are_not_needed_stay_open():
    """One program for all."""
    gradient = sdgrad.grad(lambda x, k: np.sum(x[:k] ** 2))
    programs = set()
    for k in (3, 5, 7):
        assert_close(gradient(X, k), np.where(np.arange(24) < k, 2.0 * X, 0.0), 1e-15, "gradient")
        programs.add(gradient.question(bind_arguments(gradient.f, (X, k), {}))[0].program.name)
    assert len(programs) == 1


def wrong(A, k):
    return np.sum(np.linalg.inv(A[:, :k]))


def test_errors_are_those_of_the_known_size():
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        sdgrad.grad(wrong)(A, 4)


def unscaled(x):
    y = np.zeros(3)
    y[:] = x * (1.0 + 2.0j)
    y[0] = np.sum(x) * 1j
    return np.sum(y * y)


def test_real_arrays_keep_the_real_part():
    """NumPy warns and does the same."""
    x = np.array([1.0, 2.0, 3.0])
    with pytest.warns(np.exceptions.ComplexWarning):
        value = unscaled(x)
    found = sdgrad.value_and_grad(unscaled)(x)
    assert_close(found[0], value, 1e-15, "value")
    assert_close(found[1], [0.0, 4.0, 6.0], 1e-15, "gradient")


@pytest.mark.parametrize("kind", ["argument", "made", "stored"])
def test_index_arrays_are_whole_numbers(kind):
    def read(x, k):
        if kind == "stored":
            x[k] = 1.0
        return np.sum(x[k if kind == "argument" else k * 1.0])

    with pytest.raises(IndexError, match="integer .or boolean. type"):
        sdgrad.grad(read)(X, np.array([0.0, 1.0]))


def test_an_index_out_of_bounds_decides_no_size():
    """One program serves other indices afterwards."""
    gradient = sdgrad.grad(lambda x, i: x[i] ** 2)
    with pytest.raises(IndexError):
        gradient(X, 24)
    programs = set()
    for i in (3, 5):
        assert_close(gradient(X, i), np.where(np.arange(24) == i, 2.0 * X, 0.0), 1e-15, "gradient")
        programs.add(gradient.question(bind_arguments(gradient.f, (X, i), {}))[0].program.name)
    assert len(programs) == 1
