"""Operands whose rows overlap, or may do so with sizes that only a run knows, are no operands of BLAS."""

import dace
import numpy as np
import scipy.ndimage
from references import assert_close

import sdgrad
from sdgrad.canonicalize.normal_form import normalize
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk

N, M = dace.symbol("N"), dace.symbol("M")


@dace.program
def filtered(x: dace.float64[N], w: dace.float64[M, 30], y: dace.float64[N - M + 1, 30]):
    for i, k, j in dace.map[0 : N - M + 1, 0:30, 0:M]:
        y[i, k] += x[i + j] * w[j, k]


def test_no_call_and_the_right_gradient():
    program = optimize(normalize(filtered.to_sdfg()))
    assert not [n for n in walk(program.body) if isinstance(n, NodeCall)]
    sdfg = filtered.to_sdfg()
    sdgrad.add_backward_pass(sdfg, inputs=["x", "w"], outputs="y")
    rng = np.random.default_rng(0)
    x, w, seed = rng.random(60), rng.random((20, 30)), rng.random((41, 30))
    dx, dw = np.zeros(60), np.zeros((20, 30))
    sdfg(x=x, w=w, y=np.zeros((41, 30)), gradient_x=dx, gradient_w=dw, gradient_y=seed.copy(), N=60, M=20)
    windows = np.lib.stride_tricks.sliding_window_view(x, 20)
    expected = np.zeros(60)
    for i in range(41):
        expected[i : i + 20] += w @ seed[i]
    assert_close(dw, windows.T @ seed, 1e-12, "by w")
    assert_close(dx, expected, 1e-12, "by x")


def test_rows_that_are_known_to_overlap():
    """All elements of an image are one line, which moves by one row for each weight."""

    def smoothed(x, w):
        return scipy.ndimage.correlate1d(x, w, axis=0, mode="wrap")

    rng = np.random.default_rng(0)
    x, w, seed = rng.random((30, 24)), rng.random(17), rng.random((30, 24))
    with sdgrad.config.override(verify="never"):
        value, pullback = sdgrad.vjp(smoothed, x, w)
        dx, dw = pullback(seed)
    assert_close(value, smoothed(x, w), 1e-13, "value")
    assert_close(dx, smoothed(seed, w[::-1]), 1e-12, "by x")
    assert_close(dw, [np.sum(seed * np.roll(x, 8 - k, axis=0)) for k in range(17)], 1e-12, "by w")
