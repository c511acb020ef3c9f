"""Matrices without rows or columns: results have NumPy's shapes, types and values, and gradients are empty."""

from __future__ import annotations

import numpy as np
import pytest

import sdgrad

L = np.linalg
SQUARE = {"n": np.ones((0, 0)), "s": np.ones((2, 0, 0))}
OF_SQUARE = (
    L.eigh, L.eigvalsh, L.inv, L.det, L.slogdet, L.cholesky, L.eig, L.eigvals, L.svd, L.qr, L.pinv, L.matrix_rank,
)  # fmt: skip
WIDE, TALL = np.ones((0, 3)), np.ones((3, 0))
OF_ALL = (
    L.svd, L.qr, L.pinv, L.matrix_rank, L.svdvals, L.norm,
    lambda a: L.svd(a, full_matrices=False), lambda a: L.qr(a, "complete"), lambda a: L.qr(a, "r"),
)  # fmt: skip


def leaves(value) -> list:
    return [x for v in value for x in leaves(v)] if isinstance(value, (tuple, list)) else [value]


def squares(n, s):
    return [f(a) for f in OF_SQUARE for a in (n, s)]


def rectangles(wide, tall):
    return [f(a) for f in OF_ALL for a in (wide, tall)]


def systems(n, s, wide, tall, full):
    found = [L.solve(n, n[0:, :0].sum(axis=1)), L.solve(n, wide), L.solve(full, tall), L.solve(s, s)]
    for a, b in ((wide, n.sum(axis=1)), (tall, full[0]), (wide, wide[:, :2]), (tall, full[:, :2]), (n, n.sum(axis=0))):
        found += L.lstsq(a, b, rcond=None)
    return found


FULL = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize(
    "program, given", [
        (squares, (SQUARE["n"], SQUARE["s"])), (rectangles, (WIDE, TALL)),
        (systems, (SQUARE["n"], SQUARE["s"], WIDE, TALL, FULL)),
    ],
)  # fmt: skip
def test_values_are_those_of_numpy(program, given):
    found, wanted = leaves(sdgrad.compile_forward(program)(*given)), leaves(program(*given))
    assert len(found) == len(wanted) > 15
    for own, other in zip(found, wanted, strict=True):
        assert np.shape(own) == np.shape(other) and np.asarray(own).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(own, other)


def test_gradients_are_empty_or_zero():
    def program(n, x):
        w, v = L.eigh(n)
        parts = np.sum(w) + np.sum(v) + L.det(n) * x[0] + L.slogdet(n)[1] + np.sum(L.inv(n)) + np.sum(L.svd(n)[1])
        return parts + np.sum(L.solve(n, n)) + np.sum(L.cholesky(n)) + np.sum(L.lstsq(n, n, rcond=None)[0])

    value, (dn, dx) = sdgrad.value_and_grad(program, wrt=(0, 1))(np.ones((0, 0)), np.array([3.0]))
    assert value == 3.0 and dn.shape == (0, 0) and dx == [1.0]


def test_the_condition_is_not_defined():
    with pytest.raises(L.LinAlgError, match="not defined on empty"):
        sdgrad.compile_forward(lambda a: L.cond(a))(WIDE)
