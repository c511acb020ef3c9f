"""Sparse Jacobians and Hessians, many directions in a call, and one more axis: against dense and single ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.sparsity.colouring import colour_columns

RNG = np.random.default_rng(11)


def stencil(u):
    out = u * u
    out[1:-1, 1:-1] += u[:-2, 1:-1] + u[2:, 1:-1] + np.sin(u[1:-1, :-2]) + u[1:-1, 2:] * u[1:-1, 1:-1]
    return out


def steps(u, n):
    v = u * 1.0
    for _ in range(n):
        v[1:-1] = v[1:-1] + 0.1 * (v[:-2] - 2.0 * v[1:-1] + v[2:]) * v[1:-1]
    return v


def gathered(x, idx):
    y = np.zeros(idx.shape[0])
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]] * x[i]
    return y


def chosen(x):
    y = x * 1.0
    if x[0] > 0.0:
        y[1:] = x[:-1] * x[1:]
    return y


def branch_on_an_index(x):
    y = np.zeros(6)
    for i in range(6):
        if i % 2 == 0:
            y[i] = x[i] ** 2
        else:
            y[i] = x[i] * x[i - 1]
    return y


def until(x):
    y = x * 1.0
    while np.sum(y) < 10.0:
        y[1:] = y[1:] + y[:-1] * y[:-1]
    return y


def reduced(a):
    return np.sum(a * a, axis=1)


def product(a):
    return np.sin(a @ np.ones(4))


def rounded(x):
    return np.floor(x) * x


CASES = [
    (stencil, (RNG.uniform(0.1, 1, (6, 5)),)),
    (steps, (RNG.uniform(0.1, 1, 9), 3)),
    (gathered, (RNG.uniform(0.1, 1, 6), np.array([3, 0, 5, 5, 1, 2]))),
    (chosen, (RNG.uniform(0.1, 1, 5),)),
    (chosen, (RNG.uniform(-1, -0.1, 5),)),
    (branch_on_an_index, (RNG.uniform(0.1, 1, 6),)),
    (until, (RNG.uniform(0.1, 1, 4),)),
    (reduced, (RNG.uniform(0.1, 1, (3, 4)),)),
    (product, (RNG.uniform(0.1, 1, (3, 4)),)),
    (rounded, (RNG.uniform(0.1, 5, 4),)),
]


@pytest.mark.parametrize(
    "f, arguments, mode",
    [(*c, "auto") for c in CASES] + [(*c, m) for c in CASES[:3] for m in ("forward", "reverse")],
    ids=lambda v: getattr(v, "__name__", v if isinstance(v, str) else ""),
)
def test_entries(f, arguments, mode):
    found = sdgrad.sparse_jacobian(f, mode=mode)(*arguments)
    assert isinstance(found, sp.csr_matrix)
    dense = sdgrad.jacobian(f)(*arguments).reshape(found.shape)
    assert_close(found.toarray(), dense, 1e-12, f.__name__)


def test_patterns_are_no_larger_than_they_must_be():
    """No entry of these is zero for all arguments: the pattern has exactly the dense Jacobian's nonzeros."""
    for f, arguments in (CASES[0], CASES[1], CASES[2], CASES[5], CASES[7]):
        found = sdgrad.sparse_jacobian(f)(*arguments)
        dense = sdgrad.jacobian(f)(*arguments).reshape(found.shape)
        assert np.array_equal(found.astype(bool).toarray(), dense != 0), f.__name__


def test_an_integer_argument_makes_another_pattern():
    f, x = sdgrad.sparse_jacobian(gathered), CASES[2][1][0]
    for idx in (np.array([3, 0, 5, 5, 1, 2]), np.array([1, 1, 1, 1, 1, 1])):
        assert_close(f(x, idx).toarray(), sdgrad.jacobian(gathered)(x, idx), 1e-12, "gathered")


def five_points(u):
    return u[1:-1, 1:-1] * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - 4.0 * u[1:-1, 1:-1]


def test_a_stencil_with_a_million_unknowns():
    """Five colours, five passes: entry by entry what the formula says."""
    n = 1000
    u = RNG.uniform(0.1, 1, (n, n))
    jacobian = sdgrad.sparse_jacobian(five_points)
    plan = jacobian.plan(u)
    assert plan.passes == 5 and plan.shape == ((n - 2) ** 2, n * n)
    found = jacobian(u).tocsr()
    assert found.nnz == 5 * (n - 2) ** 2
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    middle = np.arange(n * n).reshape(n, n)[1:-1, 1:-1].ravel()
    rows = np.arange((n - 2) ** 2)
    for offset, want in ((0, around - 4), (1, inner), (-1, inner), (n, inner), (-n, inner)):
        assert_close(np.asarray(found[rows, middle + offset]).ravel(), want.ravel(), 1e-12, f"offset {offset}")


def chain(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(x**4)


def test_hessian_of_a_chain():
    x = RNG.uniform(0.1, 1, 30)
    hessian = sdgrad.sparse_hessian(chain)
    assert hessian.plan(x).passes == 3
    assert_close(hessian(x).toarray(), sdgrad.hessian(chain)(x), 1e-11, "hessian")


def scaled(x, a):
    return x * a


def test_several_arguments():
    x, a = RNG.uniform(0.1, 1, 4), RNG.uniform(0.1, 1, 4)
    by_x, by_a = sdgrad.sparse_jacobian(scaled, wrt=(0, 1))(x, a)
    assert_close(by_x.toarray(), np.diag(a), 1e-14, "x")
    assert_close(by_a.toarray(), np.diag(x), 1e-14, "a")


def test_colours_of_a_pattern_without_a_period():
    pattern = sp.random(60, 80, 0.05, "csr", rng=3).astype(bool)
    colours = colour_columns(pattern, (80,))
    shared = (pattern.T.astype(int) @ pattern.astype(int)).tocoo()
    assert all(colours[i] != colours[j] for i, j in zip(shared.row, shared.col, strict=True) if i != j)


def test_wrong_use():
    with pytest.raises(ValueError, match="mode is"):
        sdgrad.sparse_jacobian(stencil, mode="sideways")
    with pytest.raises(NotScalarError, match="by one argument"):
        sdgrad.sparse_hessian(chain, wrt=(0, 1))


# Many directions -------------------------------------------------------------------------------------------------


def test_many_directions_in_one_call():
    f, (u,) = stencil, CASES[0][1]
    tangents = RNG.standard_normal((4, *u.shape))
    values, moved = sdgrad.jvp(f, (u,), (tangents,), batched=True)
    assert_close(values, f(u), 1e-14, "value")
    for t, m in zip(tangents, moved, strict=True):
        assert_close(m, sdgrad.jvp(f, (u,), (t,))[1], 1e-14, "direction")


def test_many_directions_of_several_arguments():
    x, a = RNG.uniform(0.1, 1, 4), RNG.uniform(0.1, 1, 4)
    dx, da = RNG.standard_normal((2, 3, 4))
    _, moved = sdgrad.jvp(scaled, (x, a), (dx, da), batched=True)
    assert_close(moved, dx * a + x * da, 1e-14, "directions")
    with pytest.raises(ArgumentError, match=r"tangents of 'a': expected shape \(3, 4\)"):
        sdgrad.jvp(scaled, (x, a), (dx, da[:2]), batched=True)


# Over one more axis ----------------------------------------------------------------------------------------------


def energy(x, w, n):
    h = x * 1.0
    for _ in range(n):
        h[1:] = np.sin(h[1:]) + w * h[:-1]
    return np.sum(h * h)


def test_vmap():
    xs, ws = RNG.uniform(0.1, 1, (5, 4)), RNG.uniform(0.1, 1, 5)
    wanted = [energy(x, w, 3) for x, w in zip(xs, ws, strict=True)]
    assert_close(sdgrad.vmap(energy, (0, 0, None))(xs, ws, 3), wanted, 1e-12, "values")
    gradients = sdgrad.vmap(sdgrad.grad(energy), (0, None, None))(xs, 0.3, 3)
    assert_close(gradients, np.stack([sdgrad.grad(energy)(x, 0.3, 3) for x in xs]), 1e-12, "gradients")
    values, pullback = sdgrad.vjp(sdgrad.vmap(energy, (0, None, None)), xs, 0.3, 3)
    by_x, by_w, _ = pullback(np.ones_like(values))
    assert_close(by_x, gradients, 1e-12, "gradient by x")
    assert_close(by_w, sum(sdgrad.grad(energy, wrt=1)(x, 0.3, 3) for x in xs), 1e-12, "gradient by w")


def test_vmap_used_wrongly():
    with pytest.raises(ArgumentError, match="in_axes is 0 or None"):
        sdgrad.vmap(energy, (0, 1, None))
    with pytest.raises(ArgumentError, match="one common first axis"):
        sdgrad.vmap(energy, (0, 0, None))(np.ones((5, 4)), np.ones(3), 3)


def taken(x, by):
    return x[by]


def twice_taken(x, by):
    return 2.0 * x[by[::-1]] + x[by] ** 2 if by.size else x


@pytest.mark.parametrize(("f", "passes"), [(taken, 1), (twice_taken, 2)], ids=["taken", "twice_taken"])
def test_arrays_of_indices_leave_few_directions(f, passes):
    """Which elements an index array takes is known, whatever sign its elements have."""
    x, by = RNG.random(50), np.arange(30) * 3 % 50
    by[::2] -= 50
    plan = sdgrad.sparse_jacobian(f).plan(x, by)
    assert plan.passes == passes
    found = sdgrad.sparse_jacobian(f)(x, by)
    assert_close(found.toarray(), sdgrad.jacobian(f)(x, by), 1e-14, "Jacobian")
    assert found.nnz == 30 * passes
