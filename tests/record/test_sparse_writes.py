"""Elements of sparse matrices are written where these hold them, extremes count the zeros, diagonals make matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

D = np.array([[2.0, 1.0, 0.0, 0.0], [0.0, 3.0, 1.0, 0.0], [1.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.5, 5.0]])
X = np.array([0.7, -1.2, 2.0, 1.5])


def writes(A, x):
    B = A.copy()
    B[0, 1] = x[0] * 2.0
    B[2, 0] += 1.0
    B[1, 1:3] = x[:2]
    B[[0, 3], [0, 2]] = x[1:3]
    first = np.sum((B @ x) ** 2)
    B.setdiag(np.sin(x))
    B.setdiag(x[:1], -1 + 1)
    B.setdiag(x[3], k=0)
    B.setdiag(np.tanh(x[:2]))
    B.data *= x[0]
    return first + np.sum((B @ x) ** 3) + np.sum((A @ x) ** 2)


def shared(A, x):
    B = A.T  # shares its data with A, and a copy, a part and the other format do not
    C, E = A[:, :], A.tocsr() if A.format == "csc" else A.tocsc()
    B[1, 0] = x[2]
    C[0, 0] = 7.0
    return np.sum(A @ x) + 3.0 * np.sum(C @ x) + 5.0 * np.sum(E @ x)


def extremes(A, x):
    scaled = A * x[0]
    found = scaled.max() + 2.0 * (-scaled).min() + A.multiply(-1.0).max()
    found = found + (A + 10.0 * sp.csr_array(np.ones((4, 4)))).min()
    return found + np.max(scaled) * x[1] + scaled.max(explicit=True) + scaled.min(explicit=True)


def diagonals(A, x):
    made = sp.dia_array((np.stack([x, x * 2.0]), [0, 1]), shape=(4, 4))
    return np.sum((made @ x) ** 2) + np.sum(sp.dia_matrix(A) @ x) + np.sum(A.todia() @ x) + np.sum(made.T @ x)


def scaled(A, x):
    B, C = A, A.copy()  # two names of one matrix, and another one
    B *= x[0]
    B /= 2.0
    C *= 3.0
    C *= C  # a product, which is another matrix
    return np.sum((A @ x) ** 2) + np.sum(C @ x)


def columns(A, x):
    B, C = A.copy(), sp.lil_matrix((4, 4))
    B[1:3, 2] = x[:2]  # SciPy takes a row for a column
    C[1:3, 1] = x[1:3]
    C[:, 3:4] = np.sin(x)
    C[0] = x * x
    return np.sum((B @ x) ** 2) + np.sum((C.tocsr() @ x) ** 2)


def dictionaries(A, x):
    C = sp.dok_array((4, 4))
    C[0, 1] = x[0]
    C[2, 2] = C.get((0, 1)) * x[1]
    C[0, 1] = C.get((0, 1), 0.0) + C.get((3, 3), 2.5) * x[2]
    return np.sum((C.tocsr() @ x) ** 2) + C.get((2, 2)) ** 2 + np.sum((A @ x) ** 2)


def blocks(A, x):
    first = np.stack([np.outer(x[:2], x[1:3]), np.outer(x[2:], x[2:])])
    B = sp.bsr_array((first, [1, 0], [0, 1, 2]), shape=(4, 4))
    C = sp.bsr_matrix((x.reshape(2, 2, 1), np.array([1, 0]), np.array([0, 2])))
    E = sp.bsr_array((x, ([0, 1, 2, 2], [0, 1, 2, 0])), shape=(4, 4), blocksize=(2, 2))
    return np.sum((B @ x) ** 2) + np.sum((C @ x[:2]) ** 3) + np.sum((sp.bsr_array(A) @ (E @ x)) ** 2)


PROGRAMS = [writes, shared, extremes, diagonals, scaled, columns, dictionaries, blocks]


def absent(x):
    C = sp.dok_matrix((2, 2))
    C[0, 0] = x[0]
    return C.get((0, 0), 3.0)


def repeated(x):
    return sp.bsr_array((x.reshape(2, 2, 1), [1, 1], [0, 2]), shape=(2, 2)).sum()


@pytest.mark.parametrize(
    ("program", "told"), [(absent, "whether the matrix holds an element by then"), (repeated, None)]
)
def test_what_only_order_decides(program, told):
    if told is None:
        check_grads(program, (X,))
        return
    with pytest.raises(ParseError, match=told):
        sdgrad.grad(program)(X)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.csc_array])
def test_programs(program, cls):
    A = cls(D)
    assert np.isclose(sdgrad.compile_forward(program)(A, X), program(A.copy(), X), rtol=1e-13)
    check_grads(program, (A, X), modes=("rev", "fwd"), order=2 if cls is sp.csr_matrix else 1)


def test_extremes_of_repeated_and_of_no_elements():
    listed = sp.coo_matrix((np.array([1.0, 2.5, 3.0]), ([0, 0, 1], [1, 1, 1])), (2, 2))
    value, gradient = sdgrad.value_and_grad(lambda A: A.max())(listed)
    assert value == 3.5
    np.testing.assert_array_equal(gradient.data, [1.0, 1.0, 0.0])
    assert sdgrad.compile_forward(lambda A: A.max())(sp.csr_matrix((2, 2))) == 0.0


def written(A, x):
    B = A.copy()
    B.data = B.data * x[0]
    return np.sum(B @ x)


def lacking(A, x):
    A[0, 3] = x[0]
    return np.sum(A @ x)


def corner(A, x):
    A.setdiag(x, k=3)
    return np.sum(A @ x)


REFUSED = {
    r"write A.data\[:\] = values": written, "it does not hold": lacking,
    "coo_matrix": corner, r"write .toarray\(\).max\(axis\)": lambda A, x: A.max(axis=0),
    "argmax is not recorded: write .toarray": lambda A, x: A.argmax() * x[0],
    "maximum is not recorded: write .toarray": lambda A, x: A.maximum(A).sum(),
    "eliminate_zeros is not recorded: it writes": lambda A, x: A.eliminate_zeros(),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda A, x: np.sum(REFUSED[message](A, x)))(sp.csr_matrix(D), X)


def test_what_scipy_refuses():
    def f(A, x):
        A[0, 1] = x[0]
        return np.sum(A @ x)

    with pytest.raises(TypeError, match="does not support item assignment"):
        sdgrad.grad(f)(sp.coo_matrix(D), X)
