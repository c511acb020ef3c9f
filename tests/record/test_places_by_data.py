"""Slices and positions that data decide: NumPy's results, or an exception; nothing outside of an array is touched."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config

from ..references import assert_close

X = np.arange(6.0) + 0.5
PLACES = [[2, 4, 3], [9, 4, 12], [-2, 4, -1], [0, -9, 5], [4, 2, 1], [10**7, 1, 1]]


def computed(x, k):
    n = k[0] - 3
    return np.sum(x[:n] ** 2)


def from_a_start(x, k):
    return np.sum(x[k[0] :] ** 2)


def between(x, k):
    return np.sum(x[k[0] : k[1]] ** 2)


def written(x, k):
    y = np.zeros(6)
    y[: k[0]] = 2 * x[0]
    return np.sum(y * x)


def in_an_arm(x, k):
    if x[0] > 0:
        return np.sum(x[: k[0]] ** 2)
    return x[0]


def in_a_loop(x, k):
    s = 0.0
    for i in range(3):
        s += np.sum(x[i : k[i]] ** 2)
    return s


def in_a_while_loop(x, k):
    s, i = 0.0, 0
    while s < 20.0 and i < 5:
        s += np.sum(x[: k[0] + i] ** 2) + 1
        i += 1
    return s


def two_halves(x, k):
    n = k[0]
    return np.sum(np.concatenate((x[:n] * 2, x[n:])) * x)


def of_two(x, k):
    n = k[0] % 6
    return x[:n] @ x[6 - n :]


def backwards(x, k):
    return np.sum(x[k[0] :: -1] * np.arange(6.0)[k[0] :: -1]) + np.sum(x[k[0] : k[1] : -2] ** 2)


def shrinking(x, k):
    y = x * 2
    for i in range(3):
        y = y[: k[i]] ** 2
    return np.sum(y)


def columns(x, k):
    s = 0.0
    for i in range(3):
        s += np.sum(x.reshape(2, 3)[:, : k[i]] ** 2)
    return s


def the_last_of_a_part(x, k):
    s = 0.0
    for i in range(3):
        s += x[: k[i]][-1]
    return s


def the_largest_of_a_part(x, k):
    return np.max(x[: k[1]])


def read_at(x, k):
    s = 0.0
    for i in range(3):
        s += x[k[i] - 1] ** 2
    return s


def written_at(x, k):
    h = np.zeros(6)
    for i in range(3):
        h[k[i] + 1] += x[i] ** 2
    return np.sum(h * x)


def rounded(x, k):
    s = 0.0
    for i in range(5):
        if x[i] > 1:
            s += x[int(x[i] * k[2])]
    return s


def counted(x, k):
    i, s = 0, 0.0
    while i < k[0]:
        s += x[i] ** 2
        i += 1
    return s


def of_a_computed_array(x, k):
    return np.sum(x[k[:3] - 1] ** 2)


def of_a_computed_order(x, k):
    return np.sum(x[np.argsort(-x)[:3] + k] ** 2)


def added_at(x, k):
    h = np.zeros((6, 2))
    np.add.at(h, (k - 1, 0), x[:3] ** 2)
    h[k - 1, 1] += x[3:]
    return np.sum(h * x[:, None])


def taken(x, k):
    return np.sum(np.take(x, k - 1) ** 2)


def rewritten(x, k):
    """The index array is written before it is used."""
    s = 0.0
    for i in range(3):
        k[i] = k[i] % 3 + 2 * (k[i] > 100)
        s += x[k[i] * 2] ** 2
    return s


CASES = [
    computed, from_a_start, between, written, in_an_arm, in_a_loop, in_a_while_loop, two_halves, of_two, backwards,
    shrinking, columns, the_last_of_a_part, the_largest_of_a_part, read_at, written_at, rounded, counted,
    of_a_computed_array, of_a_computed_order, added_at, taken, rewritten,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _as_compiled(monkeypatch):
    monkeypatch.setattr(config, "verify", "never")


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_places_that_data_decide(f):
    both = sdgrad.value_and_grad(f)
    for k in map(np.array, PLACES):
        try:
            wanted = f(X, k.copy())
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                both(X, k.copy())
            continue
        value, gradient = both(X, k.copy())
        steps = 1e-6 * np.eye(6)
        by_steps = np.array([(f(X + h, k.copy()) - f(X - h, k.copy())) / 2e-6 for h in steps])
        assert_close(value, wanted, 1e-12, f"value at {k}")
        assert_close(gradient, by_steps, 1e-6, f"gradient at {k}")


def window(x, k):
    y = np.zeros(6)
    for i in range(3):
        y[k[i] : k[i] + 2] += x[i]
    return np.sum(y * x)


@pytest.mark.parametrize("k", PLACES, ids=str)
def test_a_window_keeps_its_width(k):
    """NumPy cuts a window off at the end of its array: that is an exception here, and no other result."""
    both = sdgrad.value_and_grad(window)
    if all(0 <= n <= 4 for n in k):
        assert_close(both(X, np.array(k))[0], window(X, np.array(k)), 1e-12, "value")
    else:
        with pytest.raises(IndexError, match="a slice that only a run knows begins or ends outside of its 6 elements"):
            both(X, np.array(k))


def rows(v, x, ends, columns):
    s = 0.0
    for i in range(len(ends) - 1):
        for j in range(ends[i], ends[i + 1]):
            s += v[j] * x[columns[j]]
    return s


def test_loops_whose_ends_are_data():
    v, x, columns = np.arange(5.0) + 1, np.arange(4.0), np.array([0, 1, 2, 3, 0])
    both = sdgrad.value_and_grad(rows)
    for ends in ([0, 2, 5], [0, 0, 3], [1, 3, 5]):
        value, gradient = both(v, x, np.array(ends), columns)
        assert_close(value, rows(v, x, ends, columns), 1e-12, "value")
        expected = [x[columns[j]] * (ends[0] <= j < ends[-1]) for j in range(5)]
        assert_close(gradient, np.array(expected), 1e-12, "gradient")
    for ends, told in (([0, 2, 9], "out of bounds"), ([0, 2, 10**8], "out of bounds"), ([-1, 2, 5], "from the end")):
        with pytest.raises(IndexError, match=told):
            both(v, x, np.array(ends), columns)


def test_checks_can_be_turned_off(monkeypatch):
    monkeypatch.setattr(config, "check_indices", False)
    found = sdgrad.value_and_grad(lambda x, k: np.sum(x[k - 1] ** 2))(X, np.array([1, 2]))
    assert_close(found[0], 2.5, 1e-12, "value")
