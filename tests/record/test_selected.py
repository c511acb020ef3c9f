"""Elements that a mask selects, as many as only a run knows."""

import numpy as np
import pytest
from scipy import special, stats

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, -0.1, 1.5, -0.7])


def reduced(x):
    r = np.abs(x)
    m = r > 0.2
    return np.sum(x[r > 0.2] ** 2) + np.mean(x[m]) + x[m].max() - np.min(x[m]) + np.dot(x[m], r[m]) + x[m].std()


def written(x):
    m = np.abs(x) > 0.2
    y = np.zeros_like(x)
    y[m] = 1 / x[m]
    y[~m] += 3.0 * x[~m]
    return np.sum(y * x * x)


def in_place(x):
    x = x.copy()
    x[x < 0] *= 2.0
    x[x > 1.0] = 1.0
    return np.sum(x**3) * x[x < 0.9].size


def of_rows(x):
    a = np.outer(x, x)
    m = x > 0
    a[m] -= x
    a[m, 0] = 5.0 * x[m]
    return np.sum(a[m] ** 2)


def as_they_were(x):
    x = x * 1.0
    m = x > 0
    old = x[m]
    x[m] = 0.0
    return np.sum(old**2) + np.sum(x)


def of_order(x):
    r = np.abs(x)
    m = r > 0.2
    found = np.median(x[m]) + np.quantile(r[m], 0.3) + np.ptp(x[m]) + np.average(x[m], weights=r[m])
    return found + x[m][0] * x[m][-1] + np.argmax(x[m]) * x[0] + len(x[m]) * x[1]


def of_places(x):
    i = np.where(np.abs(x) > 0.2)[0]
    y = x * 1.0
    y[np.nonzero(x < 0)] *= 3.0
    return np.sum(x[i] ** 2) + i[0] * x[1] + np.sum(y**2) + i.size * x[0] + np.sum(np.extract(x > 0, y))


def computed_places(x):
    i = np.flatnonzero(x > 0)
    rows, columns = np.nonzero(np.outer(x, x) > 0.1)
    a = np.outer(x, x) + np.arange(4.0)
    return (
        np.sum(x[(i + 1) % 4] ** 2 * x[i])
        + np.sum(np.tanh(a[rows // 2, columns]))
        + a[i - 1, 1:].sum()
        + x[(2 * i) % 4][0]
    )


def of_matrices(x):
    a, r = np.outer(x, x) + np.arange(4.0), x > -0.5
    v = a[r].T @ a[r] @ x + x[r] @ a[r]
    return np.sum(np.tanh(a[r] @ x) ** 2) + np.sum(v**2) + np.sum(np.linalg.norm(a[r], axis=1) * x[r])


def by_element(x):
    m = np.abs(x) > 0.2
    y = np.zeros_like(x)
    y[m] = np.clip(np.where(x[m] > 0.3, x[m] ** 2, 3.0 * x[m]), -2.0, 2.0)
    y[m] = y[m] * np.exp(x[m]) / np.sum(np.exp(x[m]))
    return np.sum(y**2) + np.sum(x[m][x[m] > 0.6])


def of_special_functions(x):
    m = x > 0
    total = special.gammaln(x[m]).sum() + special.xlogy(x[m], 2 * x[m]).sum() + np.sum(special.expit(x[~m]))
    total += stats.gamma.logpdf(x[m], 2.0 + x[m], scale=1.5).sum() + stats.norm(0.3, x[m]).logcdf(x[m]).sum()
    return total + stats.norm(0.3, 2.0).logpdf(x[~m]).sum()


PROGRAMS = [
    of_special_functions,
    of_order,
    of_places,
    of_matrices,
    by_element,
    reduced,
    written,
    in_place,
    of_rows,
    as_they_were,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    assert value == pytest.approx(f(X), rel=1e-12)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.sum(np.sort(x[x > 0])), "when the program runs"),
        (lambda x: np.sum(x[x > 0] * x[x < 1]), "different masks"),
        (lambda x: np.sum(x[x > 0][1:]), "an index"),
        (lambda x: np.sum(np.concatenate([x[x > 0], x])), "concatenate"),
        (lambda x: np.sum(np.outer(x, x)[:, np.where(x > 0)[0]]), "first index|when the program runs|only when"),
        (lambda x: np.sum(np.outer(x, x)[:, np.where(x > 0)[0] - 1]), "an index"),
        (lambda x: x[0] * range(4)[np.where(x > 0)[0] - 1], "an index of Python's of selected elements"),
    ],
    ids=["sort", "two masks", "index", "joined", "columns", "computed columns", "index of a list"],
)
def test_refused(f, words):
    with pytest.raises((ParseError, IndexError), match=words):
        sdgrad.grad(f)(X)


def test_a_number_beyond_the_selected_ones_is_an_error():
    f = sdgrad.compile_forward(lambda x: x[x > 0][1])
    assert f(X) == 1.5
    with pytest.raises(IndexError, match="out of bounds"):
        f(-X * [1, 0, 1, 1])
