"""Reductions in lanes: what is marked in generated code, and that results stay what they are."""

import numpy as np
import pytest

import sdgrad
from sdgrad.runtime.compile.simd import in_lanes

LOOP = """\
    double acc;
    for (int i = 0; i < n; i += 1) {
        {
            double v = x[i];
            double out0;
            auto w = (v * v);
            out0 = w;
            dace::wcr_fixed<dace::ReductionType::Sum, double>::reduce(&acc, out0);
        }
    }"""


def test_a_sum_is_marked():
    found = in_lanes(LOOP)
    assert "    #pragma omp simd reduction(+: acc)\n    for (int i = 0; i < n; i += 1) {" in found
    assert "            acc = acc + out0;" in found and "reduce" not in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("auto w = (v * v);", "auto w = (v * acc);"),  # the number is read
        ("auto w = (v * v);", "auto w = 0.0;\n            last = v;"),
        ("            out0 = w;", "            last = w;"),  # the last trip's value is kept
        ("            out0 = w;", "            if (v > 0) out0 = w;"),
        ("            out0 = w;", "            for (int k = 0; k < 2; k += 1) {\n            }"),
        ("            out0 = w;", "            some_1_2(__state, &x[0], i);"),
        ("reduce(&acc,", "reduce(&acc[i],"),
        ("reduce(&acc,", "reduce_atomic(&acc,"),
        ("for (int i", "#pragma omp parallel for\n    for (int i"),
        ("i < n", "i < 4"),
        ("        {\n", "        if (c) {\n"),
        ("ReductionType::Sum", "ReductionType::Custom"),
    ],
)
def test_what_must_keep_its_order_is_not(old, new):
    assert old in LOOP
    code = LOOP.replace(old, new)
    assert in_lanes(code) == code


def collected(x, w):
    top, low, s, p = x[0], x[0], 0.0, 1.0
    for i in range(1, x.shape[0]):
        top = max(top, x[i])
        low = min(low, x[i])
    for i in range(x.shape[0]):
        s += x[i] * w[i]
        p *= 1.0 + 0.01 * x[i]
    return top * low + s * p + np.max(w) * np.min(x) + np.sum(np.exp(x) * w) + np.prod(1.0 + 0.1 * w)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 33, 100])
def test_results(n):
    """Against differences of the function itself: at a kink of an extreme there are none for n = 1."""
    rng = np.random.default_rng(n)
    x, w = rng.standard_normal(n), rng.standard_normal(n)
    value, (dx, dw) = sdgrad.value_and_grad(collected, wrt=("x", "w"))(x, w)
    np.testing.assert_allclose(value, collected(x, w), rtol=1e-13)
    for k in range(n):
        for found, at in ((dx, 0), (dw, 1)):
            step = 1e-6 * np.eye(n)[k]
            up, down = ((x + s, w) if at == 0 else (x, w + s) for s in (step, -step))
            assert found[k] == pytest.approx((collected(*up) - collected(*down)) / 2e-6, rel=1e-6, abs=1e-7)


def total(x):
    return np.sum(x)


def test_single_precision_and_the_same_in_every_run():
    x = np.random.default_rng(0).random(200_001).astype(np.float32)
    f = sdgrad.compile_forward(total)
    assert f(x) == pytest.approx(x.astype(np.float64).sum(), rel=2e-6)
    assert len({float(f(x)) for _ in range(20)}) == 1


PARALLEL = """\
    #pragma omp parallel for
    for (int i = 0; i < n; i += 1) {
        {
            double v = x[i];
            // Tasklet code (scaled_apart)
            y[i] = v;
        }
    }"""


def test_parallel_loops_are_marked_unless_they_hold_complex_numbers():
    """For which GCC would have an array with one for each lane, and compute them one by one."""
    assert "parallel for simd" in in_lanes(PARALLEL)
    assert "simd" not in in_lanes(PARALLEL.replace("double v", "dace::complex128 v"))
