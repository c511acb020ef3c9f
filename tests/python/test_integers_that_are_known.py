"""Functions that need the value of integer arguments get it: it becomes a part of what the program is for."""

import itertools

import numpy as np
import pytest

import sdgrad

X = np.arange(1.0, 5.0)
CASES = {
    "bit_length": (lambda x, n: np.sum(x) * n.bit_length(), (5, 300, 5)),
    "to_bytes": (lambda x, n: np.sum(x) * n.to_bytes(2, "big")[1], (5, 300, 5)),
    "pow of three": (lambda x, n: np.sum(x) * pow(n, 3, 7), (5, 4, 5)),
    "permutations": (lambda x, n: sum(p[0] for p in itertools.permutations(x[:3], n)), (1, 2, 1)),
    "delete": (lambda x, places: np.sum(np.delete(x, places)), ([0, 1], [2, 2], [0, 1])),
    "sorted by labels": (
        lambda x, labels: x[sorted(range(4), key=lambda k: (labels[k], -k))[0]],
        ([3, 1, 2, 1], [0, 1, 2, 1], [3, 1, 2, 1]),
    ),
    "filter": (lambda x, names: np.sum(x) * len(list(filter(None, names))), (["a", ""], ["a", "b"], ["a", ""])),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, given = CASES[name]
    gradient = sdgrad.value_and_grad(f)
    for value in given:
        value = np.array(value) if isinstance(value, list) and isinstance(value[0], int) else value
        found, slope = gradient(X, value)
        assert found == pytest.approx(f(X, value))
        ones = [(f(X + e, value) - f(X - e, value)) / 2e-3 for e in 1e-3 * np.eye(4)]
        np.testing.assert_allclose(slope, ones, rtol=1e-9, atol=1e-9)
