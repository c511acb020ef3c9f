"""Elements at positions that data decide, in one leaf with elements at known ones: each read and write in its order."""

import numpy as np
import pytest
from references import assert_close

import sdgrad

INDICES = ([0, 1, 1], [1, 0, 2], [1, 1, 1], [2, 1, 0], [0, 0, 0])


def two_writes(B, x, i):
    B[1] = x[0] * 2
    B[i[0]] = x[1] * 3
    return np.sum(B * B)


def known_last(B, x, i):
    B[i[0]] = x[1] * 3
    B[1] = x[0] * 2
    return np.sum(B * B)


def read_between(B, x, i):
    B[1] = x[0]
    B[i[0]] += x[1]
    B[i[1]] = B[1] * x[2]
    return np.sum(B * B)


def in_a_loop(B, x, i):
    for k in range(3):
        B[k] = x[k]
        B[i[k]] += x[1]
        B[2] = B[i[k]] * B[k]
    return np.sum(B * B)


def moved(B, x, i):
    B[1] = B[i[0]]
    return np.sum(B * B * x)


def chosen(B, x, i):
    B[1] = B[i[0]] if x[0] > 0.5 else 3.0 * x[1]
    return np.sum(B * B)


def in_an_arm(B, x, i):
    s = x[0]
    if x[1] > 0.1:
        s = s * B[i[0]]
        B[1] = s
        B[i[0]] = s * B[1]
    return np.sum(B * B) * s


def swapped(B, x, i):
    B[i[0]], B[1] = B[1], B[i[0]]
    B[i[0]] *= x[0]
    return np.sum(B * B * x)


def products(B, x, i):
    B[0] = B[i[0]] * B[i[1]]
    B[i[1]] = B[0] * B[1]
    return np.sum(B * B * x)


def differences(f, z):
    steps = 1e-5 * np.eye(len(z))
    return np.array([(f(z + s) - f(z - s)) / 2e-5 for s in steps])


@pytest.mark.parametrize("indices", INDICES, ids=str)
@pytest.mark.parametrize(
    "f",
    [two_writes, known_last, read_between, in_a_loop, moved, chosen, in_an_arm, swapped, products],
    ids=lambda f: f.__name__,
)
def test_values_and_two_orders(f, indices):
    rng, i = np.random.default_rng(3), np.array(indices)
    B, x = rng.uniform(0.3, 1, 3), rng.uniform(0.3, 1, 3)
    value, gradients = sdgrad.value_and_grad(f, wrt=("B", "x"))(B.copy(), x.copy(), i)
    assert_close(value, f(B.copy(), x.copy(), i), 1e-13, "value")
    wanted = differences(lambda z: f(z[:3].copy(), z[3:].copy(), i), np.concatenate([B, x]))
    assert_close(np.concatenate(gradients), wanted, 1e-7, "gradient")
    _, moved_on = sdgrad.jvp(f, (B.copy(), x.copy(), i), (np.array([1.0, -2.0, 3.0]), np.zeros(3), None))
    assert_close(moved_on, wanted[:3] @ [1.0, -2.0, 3.0], 1e-7, "tangent")
    hessian = sdgrad.hessian(f, wrt="B")(B.copy(), x.copy(), i)
    by_b = sdgrad.grad(f, wrt="B")
    assert_close(hessian, differences(lambda b: by_b(b.copy(), x.copy(), i), B), 1e-7, "second order")
