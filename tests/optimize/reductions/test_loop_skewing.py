"""Sums into overlapping windows, turned into sums for each element."""

import itertools

import numpy as np
import pytest
from scipy import signal
from treetext import block, program, text

import sdgrad
from sdgrad.optimize.reductions.loop_skewing import skew_windows
from sdgrad.program.tree import Leaf, Store

DECLARATIONS = """
argument x: float64[300]
argument g: float64[300]
argument v: float64[300]
argument b: float64[4, 300]
body
"""


def test_two_ends_and_the_interior():
    body = "  map i=0:100, k=0:20:\n    t = g[i]\n    w = v[k]\n    u = t * w\n    x[i + k + 5] += u\n"
    assert text(skew_windows(program(DECLARATIONS + body))) == block("""
        map element=5:24, k=0:element - 4:
          t = g[element - k - 5]
          w = v[k]
          u = t * w
          x[element] += u
        map element=24:105, k=0:20:
          t = g[element - k - 5]
          w = v[k]
          u = t * w
          x[element] += u
        map element=105:124, k=element - 104:20:
          t = g[element - k - 5]
          w = v[k]
          u = t * w
          x[element] += u
    """)


def visited(leaf):
    """Yield the element, the window and the tap of each iteration."""
    (load,), (store,) = leaf.loads[:1], [i for i in leaf.body if isinstance(i, Store)]
    outer, inner = leaf.params

    def number(expr, env):
        return int(expr.subs({s: env[s.name] for s in expr.free_symbols}))

    for p in range(int(outer.start), int(outer.stop) + 1):
        for q in range(number(inner.start, {outer.name: p}), number(inner.stop, {outer.name: p}) + 1):
            env = {outer.name: p, inner.name: q}
            yield number(store.index[0], env), number(load.index[0], env), env["k"]


@pytest.mark.parametrize("place", ["i + k", "i - k + 30", "150 - i + k", "200 - i - k"])
def test_every_iteration_stays_once(place):
    body = f"  map i=2:90, k=1:18:\n    t = g[i]\n    w = v[k]\n    u = t * w\n    x[{place}] += u\n"
    before = program(DECLARATIONS + body)
    after = skew_windows(before).body
    assert len(after) == 3
    assert all(isinstance(n, Leaf) for n in after)
    found = [v for leaf in after for v in visited(leaf)]
    assert sorted(found) == sorted(visited(before.body[0]))
    for one, other in itertools.pairwise(after):  # each element belongs to one nest
        assert {e for e, _, _ in visited(one)}.isdisjoint(e for e, _, _ in visited(other))


def test_rest_of_a_nest_stays():
    body = "  map i=0:100, k=0:20:\n    t = g[i]\n    w = v[k]\n    u = t * w\n    x[i + k] += u\n    b[0, k] += t\n"
    nests = skew_windows(program(DECLARATIONS + body)).body
    assert [n.stores[0].container for n in nests] == ["x", "x", "x", "b"]


@pytest.mark.parametrize(
    "body",
    [
        "  map i=0:100, k=0:20:\n    t = x[i]\n    x[i + k] += t\n",  # read, too
        "  map i=0:100, k=0:20:\n    t = g[i]\n    x[i + k] = t\n",  # assigned
        "  map i=0:100, k=0:20:\n    t = g[i]\n    x[i + k] += t\n    x[k] += t\n",  # two sums
        "  map i=0:100, k=0:20:\n    t = g[i]\n    x[i + 2*k] += t\n",  # a dilated kernel
        "  map i=0:100, k=0:8:\n    t = g[i]\n    x[i + k] += t\n",  # few taps
        "  map i=0:40, k=0:20:\n    t = g[i]\n    x[i + k] += t\n",  # few windows
        "  map i=0:100, k=0:20:\n    t = b[k, 0]\n    x[i + k] += t\n",  # a column
        "  map i=0:100, k=0:i:\n    t = g[i]\n    x[i + k] += t\n",  # a triangle
        "  map i=0:100, k=0:20:\n    t = g[i]\n    b[k, i + k] += t\n",  # a diagonal
        "  for i=0:100, k=0:20:\n    t = g[i]\n    x[i + k] += t\n",  # in order already
    ],
)
def test_declines(body):
    before = program(DECLARATIONS + body)
    assert text(skew_windows(before)) == text(before)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_gradients_of_a_long_convolution(mode):
    rng = np.random.default_rng(0)
    x, k = rng.standard_normal(180), rng.standard_normal(24)
    y = np.convolve(x, k, mode)
    w = rng.standard_normal(y.shape)
    by_x, by_k = sdgrad.grad(lambda x, k: np.sum(w * np.convolve(x, k, mode)), wrt=("x", "k"))(x, k)
    start = {"full": 0, "same": (k.size - 1) // 2, "valid": k.size - 1}[mode]
    full = np.zeros(x.size + k.size - 1)
    full[start : start + w.size] = w
    np.testing.assert_allclose(by_x, signal.correlate(full, k, "valid"), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_k, signal.correlate(full, x, "valid"), rtol=1e-12, atol=1e-12)
