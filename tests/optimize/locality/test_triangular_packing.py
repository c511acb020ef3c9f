"""Triangles and bands that a loop keeps lie without gaps; whatever is used from end to end stays a rectangle."""

import numpy as np
import pytest
import sympy
from treetext import program as tree

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.locality.triangular_packing import ROW, _sum_of_rows, pack_triangles
from sdgrad.program.tree import Leaf, walk

N = 100


def growing(x, A):
    y = np.copy(x)
    for k in range(1, N):
        y[:k] = np.sin(y[:k] + x[k])
    return np.sum(y * y)


def shrinking(x, A):
    y = np.copy(x)
    for k in range(N - 2):
        y[k + 2 :] = y[k + 2 :] * np.cos(y[k])
    return np.sum(y * y)


def from_the_last(x, A):
    y = np.copy(x)
    for k in range(N - 1, 0, -1):
        y[:k] = np.sin(y[:k]) * y[k]
    return np.sum(y * y)


def mirrored(x, A):
    """The element at the other end of what has been made."""
    y = np.copy(x)
    for k in range(1, N):
        y[:k] = y[:k] + 0.01 * x[k] * y[:k][::-1] ** 2
    return np.sum(y * y)


def two_steps(x, A):
    y = np.copy(x)
    for k in range(2, N, 2):
        y[:k] = np.sin(y[:k] + x[k])
    return np.sum(y * y)


def halves(x, A):
    """Rows that grow by one in two trips."""
    y = np.copy(x)
    for k in range(2, N):
        y[: k // 2] = np.sin(y[: k // 2] + x[k])
    return np.sum(y * y)


def orthogonal(x, A):
    """Matrices of fewer and fewer columns, which products read."""
    B = A + 2.0 * np.eye(N)
    s = 0.0
    for k in range(N - 1):
        q = np.sin(B[:, k])
        r = q @ B[:, k + 1 :]
        B[:, k + 1 :] -= np.outer(q, r) / N
        s += np.sum(r * r)
    return s


def pyramid(x, A):
    """Both sides shrink: an elimination that looks ahead."""
    B = A + 5.0 * np.eye(N)
    for k in range(N - 1):
        B[k + 1 :, k] = np.sin(B[k + 1 :, k]) / B[k, k]
        B[k + 1 :, k + 1 :] = np.cos(B[k + 1 :, k + 1 :]) - np.outer(B[k + 1 :, k], B[k, k + 1 :])
    return np.sum(B * B)


def in_steps(x, A):
    """A loop around: the rectangle is one of triangles."""
    y = np.copy(x)
    for t in range(3):
        for k in range(1, N):
            y[:k] = np.sin(y[:k] + x[k])
    return np.sum(y * y)


def when_positive(x, A):
    y = np.copy(x)
    for k in range(1, N):
        if k % 3 != 0:
            y[:k] = np.sin(y[:k] + x[k])
    return np.sum(y * y)


def whole(x, A):
    y = np.copy(x)
    for k in range(1, N):
        y = np.sin(y + x[k])
    return np.sum(y * y)


PACKED = {
    f.__name__: f
    for f in (
        *(growing, shrinking, from_the_last, mirrored, two_steps),
        *(orthogonal, pyramid, in_steps, when_positive),
    )
}
LEFT = {f.__name__: f for f in (whole, halves)}


@pytest.fixture(autouse=True)
def whole_tapes():
    """Tapes of all trips."""
    with config.override(without=("checkpoints",)):
        yield


def arguments():
    r = np.random.default_rng(0)
    return r.standard_normal(N), r.standard_normal((N, N)) / 8


def tapes(f):
    """Of each large array that the gradient of a function keeps: its number of dimensions, and of elements."""
    question = sdgrad.value_and_grad(f, wrt=("x", "A"))
    signature, _, _, request = question.question(bind_arguments(f, arguments(), {}))
    program = optimize(signature.differentiated(request).program)
    kept = [c for c in program.containers.values() if c.name.startswith("tape_") and c.desc.total_size > 2 * N]
    return [(len(c.shape), int(c.desc.total_size)) for c in kept]


@pytest.mark.parametrize("name", PACKED)
def test_packed(name):
    packed = tapes(PACKED[name])
    with config.override(without=("checkpoints", "triangular-packing")):
        plain = tapes(PACKED[name])
    assert len(packed) == len(plain) >= 1
    assert all(dims == 1 for dims, _ in packed)
    assert sum(size for _, size in packed) < 0.62 * sum(size for _, size in plain)


@pytest.mark.parametrize("name", LEFT)
def test_left_as_they_are(name):
    with config.override(without=("checkpoints", "triangular-packing")):
        plain = tapes(LEFT[name])
    assert tapes(LEFT[name]) == plain
    assert any(dims == 2 for dims, _ in plain)


@pytest.mark.parametrize("name", [*PACKED, *LEFT])
def test_gradients(name):
    """Against complex steps in a few directions."""
    f = {**PACKED, **LEFT}[name]
    given = arguments()
    value, found = sdgrad.value_and_grad(f, wrt=("x", "A"))(*given)
    assert value == pytest.approx(f(*given), rel=1e-12)
    r = np.random.default_rng(1)
    for _ in range(4):
        step = [r.standard_normal(a.shape) for a in given]
        wanted = np.imag(f(*(a + 1e-30j * d for a, d in zip(given, step, strict=True)))) / 1e-30
        assert sum(np.sum(g * d) for g, d in zip(found, step, strict=True)) == pytest.approx(wanted, rel=1e-10)


# Programs in, programs out ----------------------------------------------------------------------------

TRIANGLE = """
    argument y: float64[100]
    local kept: float64[100, 100]
    body
      loop k = 1 .. 99 step 1:
        map i=0:{stop}:
          v = y[i]
          kept[k, i] = v
      loop k = 99 .. 1 step -1:
        map i=0:{stop}:
          w = kept[k, i]
          y[i] = w
"""


def test_a_triangle_is_packed():
    found = pack_triangles(tree(TRIANGLE.format(stop="k")))
    (store,) = [s for n in walk(found.body) if isinstance(n, Leaf) for s in n.stores if s.container == "kept"]
    (place,) = store.index
    names = {s.name: s for s in place.free_symbols}
    at = [int(place.subs({names["k"]: k, names["i"]: i})) for k in (1, 2, 3) for i in range(k)]
    assert at == [2, 4, 5, 7, 8, 9]  # row after row; each has one element more than is used, for the empty row 0
    assert found.containers["kept"].shape == (5050,)


def test_a_rectangle_is_not_packed():
    given = tree(TRIANGLE.format(stop="90"))
    assert pack_triangles(given) is given


@pytest.mark.parametrize("each", ["4", "ROW", "3 - 2*ROW", "(ROW + 1) * (7 - ROW)", "ROW*(ROW + 1)*(2*ROW + 1)", "0"])
def test_elements_before_a_row(each):
    width = sympy.sympify(each, {"ROW": ROW})
    found = _sum_of_rows(width)
    for row in range(9):
        assert found.subs(ROW, row) == sum(width.subs(ROW, before) for before in range(row))
