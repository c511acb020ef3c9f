"""Counts, quantiles, methods of universal functions, windows, transforms: values, slopes at ties, and refusals.

``tests/modes/counting.py`` compares them with NumPy and with differences; here is what such a line cannot say.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

rng = np.random.default_rng(5)
X, Y, A = rng.standard_normal(6), rng.standard_normal(6), rng.standard_normal((3, 4))


def compiled(f, *args):
    """Results of a compiled function and of NumPy, in pairs."""
    found, wanted = sdgrad.compile_forward(f)(*args), f(*args)
    return zip(found, wanted, strict=True)


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull"),
    *("linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
)


def all_quantiles(x, i):
    q = [0.0, 0.25, 0.4, 0.5, 0.9, 1.0]
    return (
        *[np.quantile(x, q, method=m) for m in METHODS],
        *[np.nanquantile(np.where(x > 1, np.nan, x), q, method=m) for m in METHODS],
        *[np.quantile(i, 0.4, method=m) for m in METHODS],
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quantiles_of_all_methods(dtype):
    for found, wanted in compiled(all_quantiles, X.astype(dtype), np.arange(7)[::-1].copy()):
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype is np.float32 else 1e-12)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


def special_counts(x):
    found = np.histogram(x, 4, (-1.0, 1.0))[0], np.histogram(x, [0.0, 0.0, 1.0, 2.0])[0]
    return *found, np.histogram(x, 1)[0], np.histogram(np.full(3, 2.0) * x[:3] ** 0, 2)[1]


def test_counts_at_edges():
    for found, wanted in compiled(special_counts, np.array([-1.0, 0.0, 0.5, 1.0, 1.0, np.nextafter(1.0, 2.0)])):
        same(found, wanted)


def test_a_histogram_of_what_is_not_finite_is_an_error():
    f = sdgrad.compile_forward(lambda x: np.histogram(x, 3)[0])
    assert f(X).sum() == 6
    with pytest.raises(ValueError, match="must be finite"):
        f(np.array([1.0, np.nan, 2.0, 0.0, 0.0, 0.0]))


def test_weights_of_a_histogram_have_its_gradient():
    g = np.arange(1.0, 4.0)
    (_, pullback) = sdgrad.vjp(lambda w: np.histogram(X, 3, (-2.0, 2.0), weights=w)[0], np.abs(Y))
    places = np.digitize(X, np.linspace(-2, 2, 4)) - 1
    inside = (X >= -2) & (X <= 2)
    np.testing.assert_allclose(pullback(g)[0], np.where(inside, g[np.clip(places, 0, 2)], 0))


# -- methods of universal functions
def at_a_tie(x, v):
    y = np.copy(x)
    np.maximum.at(y, [0, 0, 1], v)
    return y


def test_maximum_at_a_tie_shares_as_maximum_does():
    x, v = np.array([1.0, 0.0]), np.array([1.0, 0.5, 2.0])
    value, pullback = sdgrad.vjp(at_a_tie, x, v)
    np.testing.assert_array_equal(value, [1.0, 2.0])
    dx, dv = pullback(np.ones(2))
    np.testing.assert_allclose(dx, [0.5, 0.0])
    np.testing.assert_allclose(dv, [0.5, 0.0, 1.0])


def rows_at_places(x, v, places):
    y = np.copy(x)
    np.maximum.at(y, (places, slice(0, 2)), v)
    np.multiply.at(y, places, v[:, :1])
    return np.sum(y**2)


def test_rows_and_slices_at_places_that_only_a_run_knows():
    x, v = np.arange(6.0).reshape(2, 3), np.array([[9.0, 0.5], [0.3, 2.0], [1.5, 7.0]])
    places = np.array([0, 0, 1])
    assert sdgrad.value_and_grad(rows_at_places)(x, v, places)[0] == rows_at_places(x, v, places)
    check_grads(rows_at_places, (x, v, places), wrt=("x", "v"))


def means_of_groups(x, groups):
    return np.sum((np.bincount(groups, weights=x) / np.bincount(groups, minlength=2)) ** 3)


def test_groups_of_an_argument_are_counted():
    found = sdgrad.value_and_grad(means_of_groups)
    for groups in (np.array([0, 2, 1, 0, 2, 2]), np.array([1, 0, 0, 0, 3, 2])):
        value, gradient = found(X, groups)
        sums, counts = (np.bincount(groups, w) for w in (X, None))
        assert value == pytest.approx(np.sum((sums / counts) ** 3))
        np.testing.assert_allclose(gradient, (3 * (sums / counts) ** 2 / counts)[groups])


def products(x, v):
    y = np.copy(x)
    np.multiply.at(y, [0, 2, 0, 0], v)
    return np.sum(np.multiply.reduceat(y, [0, 3, 1]) ** 2) + np.sum(np.subtract.accumulate(y) ** 2)


def test_products_with_zeros():
    v = np.array([0.0, 2.0, 0.0, 3.0])
    found = sdgrad.grad(products, wrt=("x", "v"))(X, v)

    def theirs(x, v):
        y = x.at[0].set(x[0] * v[0] * v[2] * v[3]).at[2].multiply(v[1])
        parts = jnp.stack([y[0] * y[1] * y[2], y[3], y[1] * y[2] * y[3] * y[4] * y[5]])
        differences = jnp.concatenate([y[:1], y[0] - jnp.cumsum(y[1:])])
        return jnp.sum(parts**2) + jnp.sum(differences**2)

    for ours, wanted in zip(found, jax.grad(theirs, (0, 1))(X, v), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-10)


def folds(x, a):
    return (
        np.sum(np.hypot.reduce(a, axis=(0, 1)) + np.logaddexp2.reduce(a, axis=None))
        + np.sum(np.divide.reduce(a + 4.0, axis=1, keepdims=True) * np.fmin.accumulate(a, axis=0))
        + np.sum(np.logaddexp.accumulate(x) * np.add.reduceat(x, [0, 2, 1, 5, 3, 4]))
    )


def windows(x, a):
    view = np.lib.stride_tricks.sliding_window_view
    y = np.lib.stride_tricks.sliding_window_view(a, (2, 2))
    found = np.sum(view(x, 3) ** 2 @ np.array([1.0, 2.0, 3.0])) + np.sum(y[..., 0, 1] * y[..., 1, 0])
    return found + np.sum(np.pad(a, ((1, 5), (2, 0)), mode="reflect", reflect_type="odd") ** 2) + np.r_[x, a[0]].std()


def fits(x, a):
    p = np.polyfit(x, a.ravel()[:6], 2)
    c = np.cov(a, aweights=[0.5, 1.0, 2.0, 0.3]) + np.poly(x[:3])[1]
    return np.sum(p**2) + np.sum(c**3) + np.sum(np.polynomial.chebyshev.chebval(a, x)) + np.kaiser(5, 3 + x[0])[1]


def branches(z, by=2.0):
    if z > 0.3:
        return by * z * z
    return np.sin(z)


def by_element(x, a):
    return np.sum(np.vectorize(branches)(a, by=x[0]) * a) + np.sum(np.vectorize(lambda p, q: p * q)(a[:, :3], x[:3]))


@pytest.mark.parametrize("f", [folds, windows, fits, by_element], ids=lambda f: f.__name__)
def test_slopes(f):
    check_grads(f, (X, A), wrt=("x", "a"), modes=("rev", "fwd"), order=2)


def test_a_view_of_windows_is_not_written():
    def f(x):
        y = np.lib.stride_tricks.sliding_window_view(x, 2)
        y[0, 0] = 1.0
        return np.sum(y)

    with pytest.raises(ParseError, match="read-only"):
        sdgrad.grad(f)(X)


# -- transforms
def transforms(a):
    found = []
    for name in ("dct", "idct", "dst", "idst"):
        for kind in (1, 2, 3, 4):
            for norm, orthogonal in ((None, None), ("ortho", None), ("forward", True), ("ortho", False)):
                found.append(getattr(scipy.fft, name)(a, kind, 5, 0, norm=norm, orthogonalize=orthogonal))
    return found


def test_cosine_transforms():
    for found, wanted in zip(sdgrad.compile_forward(transforms)(A), transforms(A), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_cosine_transforms_are_linear():
    """The gradient of a linear function is its transpose."""

    def f(a):
        return scipy.fft.dct(a, 2, norm="ortho") + scipy.fft.dst(a, 3)

    matrix = f(np.eye(4)).T
    _, pullback = sdgrad.vjp(f, A)
    np.testing.assert_allclose(pullback(A)[0], A @ matrix, rtol=1e-12)


def test_roots():
    """Sums of their powers are Newton's: ``(b/a)^2 - 2c/a`` of squares. A factor at an end that is zero leaves none."""
    p = np.array([2.0, -6.0, 11.0, -6.0])
    squares = sdgrad.value_and_grad(lambda p: np.sum(np.real(np.roots(p) ** 2)))
    value, gradient = squares(p)
    np.testing.assert_allclose(value, 9.0 - 11.0, rtol=1e-12)
    np.testing.assert_allclose(gradient, [-9.0 + 5.5, -3.0, -1.0, 0.0], atol=1e-12)
    with pytest.raises(ValueError, match="must not be zero"):
        squares(np.array([0.0, 1.0, 2.0, 3.0]))


# -- refusals
REFUSED = {
    "unique": (lambda x: np.sum(np.unique(x)), "only a run knows how many"),
    "frompyfunc": (lambda x: np.sum(np.frompyfunc(abs, 1, 1)(x)) * x[0], "object"),
    "power.reduce": (lambda x: np.power.reduce(x), "NumPy leaves elements out"),
    "reduceat": (lambda x: np.sum(np.add.reduceat(x, np.argsort(x))), "only a run knows the indices"),
    "polyfit": (lambda x: np.polyfit(x, x, 1, full=True)[0], "full= and cov="),
    "poly": (lambda x: np.poly(np.outer(x, x))[1], "pass its eigenvalues"),
    "bins": (lambda x: np.histogram(x, "auto", weights=x)[0][0], "pass a number"),
    "ignored": (lambda x: np.sum(np.abs(scipy.fft.dct(x * 1j, orthogonalize=True))), "ignores orthogonalize"),
    "signature": (lambda x: np.vectorize(np.sum, signature="(n)->()")(x), "write a loop"),
    "r_": (lambda x: np.sum(np.r_["r", x, x]), "makes a matrix"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    f, words = REFUSED[name]
    with pytest.raises(ParseError, match=words):
        sdgrad.grad(f)(X)


WRONG = {
    "order": (lambda x: np.subtract.reduce(np.outer(x, x), axis=(0, 1)), ValueError, "not reorderable"),
    "identity": (lambda x: np.subtract.reduce(x[:0]), ValueError, "no identity"),
    "method": (lambda x: np.quantile(x, 0.5, method="mean"), ValueError, "not a valid method"),
    "part": (lambda x: np.quantile(x, 1.5), ValueError, "range"),
    "window": (lambda x: np.sum(np.lib.stride_tricks.sliding_window_view(x, 7)), ValueError, "larger than"),
    "mode": (lambda x: np.sum(np.pad(x, 1, mode="twist")), ValueError, "not supported"),
    "kind": (lambda x: np.sum(scipy.fft.dct(x, 5)), ValueError, "transform type"),
    "bins": (lambda x: np.sum(np.bincount([0, -1], weights=x[:2])), ValueError, "no negative"),
    "weights": (lambda x: np.cov(x, aweights=x[:2]), RuntimeError, "incompatible"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_numpys(name):
    f, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        sdgrad.grad(f)(X)


def test_a_place_outside_is_an_error():
    f = sdgrad.compile_forward(lambda x: np.unravel_index(np.argsort(x)[:2] + 3, (2, 2))[0])
    np.testing.assert_array_equal(f(np.array([1.0, 2.0, 3.0])[:1]), [1])
    with pytest.raises(ValueError, match="out of bounds"):
        f(np.array([1.0, 2.0, 3.0]))


def test_a_variance_has_no_negative_count():
    assert sdgrad.compile_forward(lambda x: np.var(x, ddof=9))(X) == np.inf


def test_the_last_of_linspace_is_its_end():
    ends = np.array([0.1, 0.7])
    assert sdgrad.compile_forward(lambda x: np.linspace(x[0], x[1], 7))(ends)[-1] == ends[1]
