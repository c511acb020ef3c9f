"""What NumPy's functions write, which memory their results share, and what is refused, in recorded functions."""

import math

import numpy as np
import pytest
import scipy.special

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, 1.5, -0.7])
COUNTS, PLACES, MASK = np.array([1, 0, 2]), np.array([2, 0, 1]), np.array([True, False, True])


def results_in_arrays(x):
    y, z, part, whole = np.zeros(2), np.ones(3), np.zeros(3), np.zeros(3)
    np.sum(np.stack([x, x * x]), axis=1, out=y)
    np.multiply(x, 2.0, out=z, where=x > 0)
    np.add(z, x, z)
    np.modf(3 * x, out=(part, whole))
    np.clip(part, -0.4, 0.4, out=part)
    return y[0] * y[1] + np.sum(z * x) + np.sum(part * whole)


def copies_and_views(x):
    y = np.outer(x, x)
    for copy in (np.array(y), np.roll(y, 0), np.clip(y, -9, 9), np.copy(y), y.flatten(), y.astype(float)):
        copy[0] = 5.0
    for k, part in enumerate((y.ravel(), np.asarray(y)[1], y.T[2], np.flip(y)[0], np.squeeze(y[None])[0])):
        part[k % 3] = x[k % 3] * (k + 1)
    return np.sum(y * np.arange(9.0).reshape(3, 3))


def written_places(x):
    m = np.zeros((3, 3))
    np.fill_diagonal(m, x)
    np.copyto(m[0], x, where=x > 0)
    np.put(m, [5, 7], x[:2])
    np.putmask(m, m < 0, 2.0)
    np.place(m, np.tri(3, k=-1, dtype=bool), x * x)
    np.put_along_axis(m, np.array([[0], [2], [1]]), x[:, None] * 2, 1)
    np.add.at(m, (np.array([0, 0]), np.array([1, 1])), x[:2])
    np.subtract.at(m[2], [1], x[0])
    return np.sum(m * np.arange(9.0).reshape(3, 3))


def methods_that_write(x):
    y, z = x * 1, np.zeros(3)
    y.fill(x[0])
    z.put([1, 1, 2], x)
    return np.sum(y * x) + np.sum(z * x)


def written_in_loops(x):
    m, s = np.zeros((3, 3)), 0.0
    for k in range(3):
        np.fill_diagonal(m, x * k)
        s = s + np.sum(np.roll(x, k) * x) * k + m[k, k]
    return s + np.sum(m)


def counts_from_outside(x):
    parts = np.split(x, COUNTS[:1])
    return np.sum(np.repeat(x, COUNTS)) + np.sum(np.compress(MASK, x) ** 2) + np.sum(np.pad(parts[1], COUNTS[1:]) ** 2)


def functions_of_the_user(x):
    rows = np.apply_along_axis(lambda r: r * r[0], 0, np.stack([x, 2 * x]))
    return np.sum(rows) + np.sum(np.piecewise(x, [x < 0, x > 1], [lambda t: -t, lambda t: t * t, 0.5]))


def numbers_of_python(x):
    whole = math.hypot(x[0], x[1], x[2]) + math.dist(x, 2 * x) + math.prod(x) + math.fsum(x)
    return whole + round(x[0], ndigits=1) + np.float64(x[0]) * np.int64(3.9) + math.modf(x[1])[0] + x[2].item()


def means_of_some(x):
    return np.mean(x, where=x > 0) + np.var(x, where=x > 0) + np.sum(x, where=MASK, initial=x[0])


def large_exponents(x):
    far = 1000 * x
    return np.sum(np.logaddexp(far, 0.0)) + np.sum(scipy.special.expit(far)) + np.sum(scipy.special.log_expit(far))


PROGRAMS = [
    results_in_arrays, copies_and_views, written_places, methods_that_write, written_in_loops, counts_from_outside,
    functions_of_the_user, numbers_of_python, means_of_some, large_exponents,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-12)
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def of_one_memory(x):
    y = np.zeros(6)
    z = y.reshape(2, 3)
    z[0] = x
    return np.sum(y)


REFUSED = {
    "one memory": (of_one_memory, ParseError, "copy"),
    "unique": (lambda x: np.sum(np.unique(x)), ParseError, "numpy.unique"),
    "argument": (lambda x: np.sum(x, oops=1), TypeError, "numpy.sum.*oops"),
    "keyword": (lambda x: np.polyfit(x, x, 1, rcond=0.1)[0], ParseError, "numpy.polyfit.*rcond"),
    "axis": (lambda x: np.sum(x, axis=1), np.exceptions.AxisError, "axis 1"),
    "axes": (lambda x: np.sum(np.outer(x, x), axis=(0, 0)), ValueError, "duplicate"),
    "shape": (lambda x: np.sum(np.reshape(x, (2, 2))), ValueError, "cannot reshape"),
    "broadcast": (lambda x: np.sum(np.broadcast_to(x, (3, 2))), ValueError, "do(es)? not broadcast"),
    "out": (lambda x: np.sum(np.cumsum(x, out=np.zeros(2))), ValueError, "shape"),
    "out type": (lambda x: np.sum(np.add(x, x, out=np.zeros(3, int))), TypeError, "cannot cast"),
    "matmul": (lambda x: np.sum(x[:2] @ x), ValueError, "matmul"),
    "einsum": (lambda x: np.einsum("i,i", x, x[:2]), ValueError, "einsum"),
    "join": (lambda x: np.sum(np.concatenate([np.outer(x, x), x])), ValueError, "dimensions"),
    "split": (lambda x: np.sum(np.split(x, 2)[0]), ValueError, "equal division"),
    "pad": (lambda x: np.sum(np.pad(x, 1, mode=lambda *given: None)), ParseError, "numpy.pad"),
    "norm": (lambda x: np.linalg.norm(np.outer(x, x), 5), ValueError, "Invalid norm order"),
    "square": (lambda x: np.linalg.inv(x[:, None])[0, 0], np.linalg.LinAlgError, "square"),
    "where": (lambda x: np.sum(np.where(x > 0)), ParseError, "np.where"),
    "argwhere": (lambda x: np.sum(np.argwhere(x > 0) * x[0]), ParseError, "numpy.argwhere"),
    "empty": (lambda x: np.max(x[:0]), ValueError, "no identity"),
    "masked": (lambda x: np.max(x, where=x > 0), ValueError, "initial"),
    "order": (lambda x: np.sum(np.ravel(x, order="K")), ParseError, "order"),
    "reduce": (lambda x: np.arctan2.reduce(x), ParseError, "arctan2.reduce"),
    "choose": (lambda x: np.sum(np.choose([0, 2, 0], [x, x])), ValueError, "choice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    f, kind, words = REFUSED[case]
    with pytest.raises(Exception, match=words) as caught:
        sdgrad.grad(f)(X)
    assert isinstance(caught.value, kind)
