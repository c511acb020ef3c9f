"""Values of programs with sparse matrices, compared with SciPy: operators, methods, constructors, parts."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import scipy.sparse as sp

import sdgrad
from sdgrad.specialize import signature
from sdgrad.testing import check_grads

CLASSES = (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_matrix, sp.coo_array)
RNG = np.random.default_rng(3)


def _drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) * (RNG.random(shape) < 0.5)


D, E, F = _drawn(4, 4), _drawn(4, 4), RNG.standard_normal((4, 4))
D[2] = 0.0  # an empty row
X, W = RNG.standard_normal(4), RNG.standard_normal((4, 2))


def _dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def same(found, wanted):
    """Compare results by class, type, shape and content."""
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        own = found[key]
        if sp.issparse(value) and value.format not in ("dia", "bsr"):
            assert type(own) is type(value), key
        assert _dense(own).dtype == _dense(value).dtype, key
        precise = _dense(value).dtype.itemsize > 4
        np.testing.assert_allclose(_dense(own), _dense(value), rtol=1e-12 if precise else 1e-5, atol=1e-14, err_msg=key)


def operators(A, x, W, F):
    found = {
        "A @ x": A @ x, "A @ W": A @ W, "x @ A": x @ A, "W.T @ A": W.T @ A, "dot": A.dot(x), "2 A": 2 * A,
        "A 2": A * 2.5,
        "-A": -A, "abs": abs(A), "x A": A * x[0], "A x": x[1] * A, "A / 2": A / 2, "A / x": A / x[2], "A / F": A / F,
        "multiply": A.multiply(F), "by columns": A.multiply(x), "by rows": A.multiply(x[:, None]), "T": A.T,
        "transpose": A.transpose(), "sum": A.sum(), "np.sum": np.sum(A), "mean": A.mean(), "diagonal": A.diagonal(),
        "above": A.diagonal(1), "below": A.diagonal(-1), "trace": A.trace(), "toarray": A.toarray(),
        "power": A.power(2),
        "sin": A.sin(), "sinh": np.sinh(A), "expm1": A.expm1(), "copy": A.copy(), "astype": A.astype(np.float32),
        "conj": A.conj(), "data": A.data, "0 + A": 0 + A, "size": x * A.nnz * A.shape[0], "real": A.real,
        "tocoo": A.tocoo(), "A + A": A + A, "A - 2 A": A - 2 * A, "dot 2": A.dot(2),
    }  # fmt: skip
    if sp.issparse(A) and isinstance(A, sp.sparray):
        found |= {"A * x": A * x, "axis 0": A.sum(axis=0), "axis 1": A.mean(axis=1), "A + F": A + F, "A ** 2": A**2}
    else:
        found |= {"A * x": A * x, "axis 0": np.asarray(A.sum(axis=0)), "axis 1": A.mean(axis=1).A1}
        found |= {"A + F": np.asarray(A + F), "F - A": np.asarray(F - A), "todense": A.todense().A}
    return found


def rearranged(A, B):
    found = {
        "A + B": A + B, "A - B": A - B, "A @ B": A @ B, "A.T @ A": A.T @ A, "multiply": A.multiply(B), "A * B": A * B,
        "hstack": sp.hstack([A, B]), "vstack": sp.vstack([A, B], format="csc"), "bmat": sp.bmat([[A, None], [None, B]]),
        "block_diag": sp.block_diag([A, B]), "kron": sp.kron(A, B, format="csr"), "triu": sp.triu(A),
        "tril": sp.tril(A, -1), "kronsum": sp.kronsum(A, B), "kronsum csc": sp.kronsum(B, A, format="csc"),
        "tocsr": A.tocsr(), "tocsc": A.tocsc(), "A ** 3": A**3, "A + A.T": A + A.T, "sum": sum([A, B, A]),
        "reshape": A.reshape((2, 8)), "block_array": sp.block_array([[A, B]]), "asformat": A.asformat("coo"),
    }  # fmt: skip
    if A.format != "coo":
        found |= {"rows": A[1:3], "some": A[[0, 2]], "element": A[0, 1] * 2.0, "part": A[1:3, ::2], "last": A[-1:]}
    return found


@pytest.mark.parametrize("cls", CLASSES)
def test_operators_and_methods(cls):
    A = cls(D)
    wanted = operators(A, X, W, F)
    same(sdgrad.compile_forward(operators)(A, X, W, F), wanted)

    def closed(x, W, F):
        return operators(A, x, W, F)

    if cls is sp.csr_array:
        same(sdgrad.compile_forward(closed)(X, W, F), wanted)


@pytest.mark.parametrize("cls", CLASSES)
def test_operations_that_make_other_places(cls):
    same(sdgrad.compile_forward(rearranged)(cls(D), cls(E)), rearranged(cls(D), cls(E)))


def made(x, i, j):
    n = 4
    whole = sp.csr_matrix((x, ([0, 1, 3, 1], [1, 0, 2, 0])), shape=(n, n))
    main = np.exp(x)
    return {
        "csr": whole, "csc": sp.csc_array((x, ([0, 1, 3, 1], [1, 0, 2, 0]))),
        "coo": sp.coo_matrix((x, (i, j)), shape=(n, n)), "rows": sp.coo_array((x, np.stack([i, j])), shape=(n, n)),
        "known rows": sp.csc_array((x, np.array([[0, 1, 3, 1], [1, 0, 2, 0]]))),
        "parts": sp.csr_array((x, [0, 1, 3, 2], [0, 1, 1, 2, 4]), shape=(n, n)), "again": sp.csc_matrix(whole),
        "diags": sp.diags([x[:-1], main, 2.0 * x[1:]], [-1, 0, 1]), "one": sp.diags(x),
        "two": sp.diags(x, 1, format="csc"),
        "array": sp.diags_array([x[0], main], offsets=[1, 0], shape=(n, n)),
        "spdiags": sp.spdiags(x[None, :], [1], n, n),
        "eye": sp.eye(n, format="csr") * x[0] + whole, "identity": (sp.identity(n) - whole) @ x,
        "known": sp.csr_matrix(np.eye(n)) @ x, "empty": sp.csr_matrix((n, n)) @ x, "nothing": whole * 0.0,
        "is": x[0] if sp.issparse(whole) and sp.isspmatrix(whole) and not sp.issparse(x) else x[1],
    }  # fmt: skip


def test_constructors():
    i, j = np.array([0, 0, 3, 1]), np.array([2, 2, 0, 1])
    same(sdgrad.compile_forward(made)(X, i, j), made(X, i, j))


def test_integers_and_mixed_types():
    A = sp.csr_array(np.array([[1, 0, 2], [0, 3, 0]]))

    def mixed(A, v, y):
        return {"int": A @ v, "float": A @ y, "sum": A.sum(), "mean": A.mean(axis=0), "half": A / 2}

    v, y = np.array([1, 2, 3]), np.array([0.5, 1.5, 2.5])
    same(sdgrad.compile_forward(mixed)(A, v, y), mixed(A, v, y))


@dataclasses.dataclass
class Model:
    A: object
    b: np.ndarray


def nested(p, m, x):
    total = 0.0
    for A in p["As"]:
        total = total + np.sum((A @ x) ** 2)
    return total + np.sum(np.tanh(m.A @ x + m.b))


def test_nests_hold_matrices():
    p = {"As": [sp.csr_matrix(D), sp.coo_array(E)]}
    m = Model(sp.csc_matrix(E), X.copy())
    check_grads(nested, (p, m, X), modes=("rev", "fwd"))
    dp, dm = sdgrad.grad(nested, wrt=("p", "m"))(p, m, X)
    assert [type(a) for a in dp["As"]] == [sp.csr_matrix, sp.coo_array] and type(dm.A) is sp.csc_matrix


def test_control_flow_carries_matrices():
    def program(A, x):
        B = A
        for _ in range(3):
            B = B * 0.5
            x = B @ x
        if np.sum(x) > 0:
            C = 2 * A
        else:
            C = A * A.data[0]
        for i in range(A.shape[0]):
            for k in range(A.indptr[i], A.indptr[i + 1]):
                x = x + A.data[k] * x[A.indices[k]]
        return np.sum((C @ x) ** 2)

    check_grads(program, (sp.csr_matrix(D), X), modes=("rev", "fwd"))


def test_matrices_outside_are_read_at_each_call():
    A = sp.csr_matrix(D)
    gradient = sdgrad.grad(lambda x: np.sum((A @ x) ** 2))
    before = gradient(X)
    A.data *= 2
    np.testing.assert_allclose(gradient(X), 4 * before)
    A.indices[:] = A.indices[::-1].copy()
    np.testing.assert_allclose(gradient(X), 2 * A.T @ (A @ X))


def test_one_program_serves_matrices_with_as_many_elements(monkeypatch):
    recorded, record = [], signature.record
    monkeypatch.setattr(signature, "record", lambda *args, **more: recorded.append(1) or record(*args, **more))
    gradient = sdgrad.grad(lambda A, x: np.sum((A @ x) ** 3))
    for shift in range(3):
        A = sp.csr_matrix(np.roll(np.diag(X), shift, axis=1))
        found = gradient(A, X)
        assert np.array_equal(found.indices, A.indices) and type(found) is type(A)
        wanted = 3 * np.outer((A @ X) ** 2, X)
        np.testing.assert_allclose(found.toarray(), np.where(A.toarray() != 0, wanted, 0))
    assert len(recorded) == 1


def test_places_that_decide_are_part_of_the_program():
    gradient = sdgrad.grad(lambda A, x: np.sum((A.tocsr()[0:2] @ x) ** 2))
    for own in (D, D[::-1]):
        found = gradient(sp.coo_matrix(own), X).toarray()
        wanted = 2 * np.outer(own @ X, X) * (own != 0) * (np.arange(4) < 2)[:, None]
        np.testing.assert_allclose(found, wanted)


@functools.cache
def _repeated():
    data = np.arange(1.0, 6.0)
    listed = sp.coo_matrix((data, ([0, 0, 2, 1, 0], [1, 1, 3, 0, 1])), (3, 4))
    unsorted = sp.csr_matrix((data, [3, 1, 1, 0, 0], [0, 3, 3, 5]), (3, 4))
    return listed, unsorted


def test_repeated_and_unsorted_places():
    def program(A, x):
        found = np.sum((A @ x) ** 2) + np.sum(A.toarray() ** 3) + np.sum(A.diagonal() ** 2)
        return found + np.sum((A + A.multiply(x)).toarray() ** 2) + np.sum((A @ A.T).toarray() ** 2)

    for A in _repeated():
        check_grads(program, (A, X), modes=("rev", "fwd"))


def test_thin_and_empty_matrices():
    def program(A, x):
        return np.sum((A @ x) ** 2) + np.sum(A.T @ (A @ x)) + A.sum()

    for cls in CLASSES[::2]:
        check_grads(program, (cls(np.ones((1, 4))), X))
        check_grads(program, (cls(np.ones((4, 1))), X[:1]))
        value, gradient = sdgrad.value_and_grad(program)(cls((3, 4)), X)
        assert value == 0.0 and gradient.nnz == 0 and gradient.shape == (3, 4) and type(gradient) is cls
    assert sdgrad.compile_forward(lambda A, x: A @ x)(sp.csr_matrix((0, 4)), X).shape == (0,)


def test_functions_of_elements_are_of_those_at_one_place_together():
    """Functions that are not linear, of elements at one place: of their sum, or refused."""
    data, rows, columns = np.array([1.0, 2.0, -4.0, 1.5]), np.array([0, 0, 2, 2]), np.array([1, 1, 2, 0])

    def inside(x):
        matrix = sp.coo_array((x, ([0, 0, 2, 2], [1, 1, 2, 0])), shape=(3, 3))
        return np.sin(matrix).sum() + matrix.power(2).sum() + abs(matrix.tocsc()).sum()

    def of_argument(matrix):
        return np.expm1(matrix).sum() + sp.linalg.norm(matrix) + (-matrix).sum()

    value, slope = sdgrad.value_and_grad(inside)(data)
    assert value == pytest.approx(inside(data), rel=1e-14)
    both = np.cos(3.0) + 6.0 + 1.0
    np.testing.assert_allclose(slope, [both, both, np.cos(4.0) - 9.0, np.cos(1.5) + 4.0], rtol=1e-13)
    for kind in (sp.coo_array, sp.csr_matrix, sp.csc_array):
        alone = kind(sp.coo_array((data, ([0, 1, 2, 2], columns)), shape=(3, 3)))
        alone.sum_duplicates()
        run = sdgrad.compile_forward(of_argument)
        assert run(alone) == pytest.approx(of_argument(alone), rel=1e-14)
        if kind is sp.coo_array:
            several = kind((data, (rows, columns)), shape=(3, 3))
        else:
            several = kind((data, [1, 1, 2, 0], [0, 2, 2, 4]), shape=(3, 3))
        with pytest.raises(ValueError, match=r"numpy.expm1 needs one element at a place.*sum_duplicates"):
            run(several)
