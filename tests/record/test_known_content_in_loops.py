"""Arrays whose content is known before a loop that writes them: what the loop reads of them is no constant."""

import numpy as np
import pytest
from references import assert_close

import sdgrad


def diffused(x):
    u = np.ones(4)
    for n in range(3):
        un = u.copy()
        u[1:-1] = un[1:-1] + 0.1 * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0] = x[0]
    return np.sum(u)


def copied_before_an_arm(a):
    u = np.zeros(4)
    s = 0.0
    for t in range(2):
        un = u.copy()
        if a[0] > 0:
            u[:] = a
        s += un[1]
    return s


def reshaped_and_broadcast(x):
    u = np.zeros(4)
    for t in range(4):
        v = u.reshape(2, 2)
        w = v[0, 1] + np.sum(np.broadcast_to(u, (2, 4)))
        u[t] = x[t] + w
    return np.sum(u * u)


def indices(x):
    k = np.zeros(3, int)
    s = 0.0
    for t in range(3):
        s += np.sum(x[k]) * (t + 1)
        k[t] = t
    return s


def truth_and_exponent(x):
    u = np.zeros(1)
    s = 1.0
    for t in range(3):
        if u:
            s = s * x[0]
        s = s + float(u[0]) + x[1] ** u[0]
        u[0] = x[2] * t
    return s


def copies_of_all_kinds(x):
    u = np.zeros((2, 2))
    s = 0.0
    for t in range(3):
        d = np.diagonal(u).copy()
        q = np.array(u)
        z = np.array([u[0], u[1]])
        rows = u.tolist()
        y = 1.0 * u
        h = np.hstack([u, u])
        f = u.flatten()
        r = u.ravel()
        tr = u.T
        s = s + np.sum(d) + 2 * np.sum(q) + 3 * np.sum(z) + 4 * rows[0][0] + 5 * np.sum(y)
        s = s + 6 * np.sum(h) + 7 * np.sum(f) + 8 * np.sum(r) + 9 * np.sum(tr * tr)
        u[0, 0] += x[t]
        u[1, 0] = x[0] * t
    return s


def in_a_while_loop(x):
    u = np.zeros(4)
    i = 0
    while i < 3:
        un = np.copy(u)
        vn = u[1:].copy()
        m = np.where(u > 0, u, x)
        u[i] = x[i] + np.sum(un) + np.sum(vn) + m[1]
        i += 1
    return np.sum(u)


def unpacked(x):
    p = np.array([1.0, 2.0])
    s = 0.0
    for t in range(3):
        a, b = p
        s += a * x[0] + b * x[1]
        p[0], p[1] = (b, a + b * x[2])
    return s


def masks(x):
    m = np.zeros(4, bool)
    s = 0.0
    for t in range(3):
        s += np.sum(x[m]) + np.sum(np.where(m, x, 0))
        m[t] = True
    return s


def differences_of_trips(x):
    u = np.zeros(4)
    old = u.copy()
    for t in range(3):
        diff = u - old
        old = u.copy()
        u[t] = x[t] + np.sum(diff)
    return np.sum(u) + np.sum(old)


def until_an_element_is_large(x):
    u, n = np.zeros(1), 0.0
    while u[0] < 2.9:
        u[0] += abs(x[0])
        n += 1.0
    return u[0] * x[1] + n


def until_a_flag_is_set(x):
    done, n, s = np.zeros(2, bool), 0.0, 0.0
    while not done[1]:
        n += 1.0
        s += abs(x[0]) * n
        if s > 4:
            done[1] = True
    return s * x[1]


def asked_in_trips(x):
    u, s = np.zeros(3), 0.0
    for _ in range(3):
        if u[0] > 1.0:
            s += x[0]
        if u.max() > 1.0:
            s += x[1]
        u[0] += x[1]
    return s


def as_lists(x):
    u, s = np.zeros(3), 0.0
    for i in range(3):
        for v in u:
            s += v * x[0]
        s += max(u) * x[1] + sum(u) + list(u)[0]
        a, _, _ = u
        s += a * 2 + np.array_equal(u, np.zeros(3)) * x[0]
        u[i] = x[i]
    return s


X = np.array([0.5, 1.5, 0.7, 2.0])
FUNCTIONS = [
    diffused, copied_before_an_arm, reshaped_and_broadcast, indices, truth_and_exponent, copies_of_all_kinds,
    in_a_while_loop, unpacked, masks, differences_of_trips,
    until_an_element_is_large, until_a_flag_is_set, asked_in_trips, as_lists,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    with sdgrad.config.override(verify="never"):  # the comparison would find most of them, in the first call
        both = sdgrad.value_and_grad(f)
        both(-X)
        value, gradient = both(X)
    assert_close(value, f(X), 1e-12, "value")
    steps = 1e-6 * np.eye(4)
    assert_close(gradient, [(f(X + s) - f(X - s)) / 2e-6 for s in steps], 1e-7, "gradient")
