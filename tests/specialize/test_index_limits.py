"""Index arrays among the inputs are checked before a call: IndexError, as NumPy's, and nothing is written outside."""

import numpy as np
import pytest

import sdgrad
from sdgrad.specialize.signature import Signature

X = np.array([0.5, 1.5, -0.7])
TABLE = np.array([0, 2])


def read(x, i):
    return np.sum(x[i] ** 2)


def taken(x, i):
    return np.sum(np.take(x, i) ** 2)


def written(x, i):
    y = x.copy()
    y[i] = 7 * x[0]
    return np.sum(y**2)


def added(x, i):
    y = np.zeros(3)
    np.add.at(y, i, x[0])
    return np.sum(y**2)


def columns(x, i):
    return np.sum(np.outer(x, x)[:, i])


def default(x, i=TABLE):
    return np.sum(x[i] ** 2)


def outside(x):
    return np.sum(x[TABLE] ** 2)


def nested(pair):
    return np.sum(pair["x"][pair["i"]] ** 2)


@pytest.mark.parametrize("verify", ["auto", "never"])
@pytest.mark.parametrize("f", [read, taken, written, added, columns], ids=lambda f: f.__name__)
def test_an_argument(f, verify):
    """In the first call of a kind, in the general way, and in prepared calls."""
    with sdgrad.config.override(verify=verify):
        both = sdgrad.value_and_grad(f, "x")
        for index in ([0, 2], [-3, 1], [2, 2]):
            value, gradient = both(X, np.array(index))
            assert np.isclose(value, f(X, np.array(index))) and np.all(np.isfinite(gradient))
        for index in ([0, 3], [-4, 1], [0, 50_000_000], [-(2**40), 0]):
            for _ in range(2):
                with pytest.raises(IndexError, match="is out of bounds for axis [01] with size 3"):
                    both(X, np.array(index))
                with pytest.raises(IndexError, match="index .* in 'i' is out of bounds"):
                    sdgrad.grad(f, "x")(x=X, i=np.array(index))


def test_arrays_that_the_call_does_not_give():
    for f in (default, outside):
        gradient = sdgrad.grad(f)
        for _ in range(3):
            np.testing.assert_allclose(gradient(X), [2 * X[0], 0, 2 * X[2]])
        TABLE[1] = 5
        try:
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
                gradient(X)
        finally:
            TABLE[1] = 2
        np.testing.assert_allclose(gradient(X), [2 * X[0], 0, 2 * X[2]])


def test_a_nest():
    gradient = sdgrad.grad(nested)
    for _ in range(3):
        np.testing.assert_allclose(gradient({"x": X, "i": TABLE})["x"], [2 * X[0], 0, 2 * X[2]])
    with pytest.raises(IndexError, match="index 7 in 'pair_i' is out of bounds"):
        gradient({"x": X, "i": np.array([0, 7])})


def test_forward_and_jvp():
    i = np.array([0, 3])
    with pytest.raises(IndexError):
        sdgrad.compile_forward(read)(X, i)
    with pytest.raises(IndexError):
        sdgrad.jvp(read, (X, i), (np.ones(3), None))
    with pytest.raises(IndexError):
        sdgrad.vjp(read, X, i)


def test_an_index_that_is_not_used_is_not_checked():
    def f(x, i):
        return np.sum(x[i]) if x[0] > 0 else x[1]

    gradient = sdgrad.grad(f, "x")
    np.testing.assert_array_equal(gradient(-X, np.array([0, 9])), [0, 1, 0])


def test_the_line_is_shown():
    with pytest.raises(IndexError) as caught:
        sdgrad.grad(read, "x")(X, np.array([0, 3]))
    assert "return np.sum(x[i] ** 2)" in str(caught.value) and "test_index_limits.py:" in str(caught.value)


def by_a_number(x, i):
    return x[i] ** 2 + x[i - 1]


def test_an_integer():
    both = sdgrad.value_and_grad(by_a_number, "x")
    for i in (0, 1, 2, -1, -2, 1, 2):
        value, gradient = both(X, i)
        assert value == by_a_number(X, i) and gradient[i] == 2 * X[i] and gradient[i - 1] == 1.0
    for i in (3, 300, -3, -4, 3):
        with pytest.raises(IndexError):
            by_a_number(X, i)
        with pytest.raises(IndexError, match="is out of bounds for an axis of size 3"):
            both(X, i)
    assert both(X, 1)[0] == by_a_number(X, 1)


def test_an_integer_in_an_arm_is_not_checked():
    gradient = sdgrad.grad(lambda x, i: x[i] if i < len(x) else x[0] ** 2, "x")
    np.testing.assert_array_equal(gradient(X, 2), [0, 0, 1])
    np.testing.assert_array_equal(gradient(X, 7), [2 * X[0], 0, 0])


def by_a_position(x):
    k, y = int(x[0]), x * 1.0
    y[k] = 7 * x[1]
    y[k - 1] += x[2]
    return np.sum(y**2)


def by_a_row(x):
    M = np.outer(x, x)
    return np.sum(M[int(x[0])] ** 2) + M[int(x[0]), 1] * M[1, int(x[0])]


@pytest.mark.parametrize("f", [by_a_position, by_a_row], ids=lambda f: f.__name__)
def test_a_position_that_data_decide(f):
    """A call in which it lies outside goes on to its end inside of the array, and raises then."""
    both = sdgrad.value_and_grad(f)
    for k in (0, 1, 2, -1, -2):
        x = np.array([k + 0.5 * np.sign(k + 0.1), *X[1:]])
        value, gradient = both(x)
        steps = 1e-6 * np.eye(3)
        assert np.isclose(value, f(x))
        np.testing.assert_allclose(gradient, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], atol=1e-5)
    for k in (3, -4, 10**8, -(10**8)):
        with pytest.raises(IndexError, match="an index that only a run knows is out of bounds for axis 0 with size 3"):
            both(np.array([k + 0.5 * np.sign(k), *X[1:]]))


# In loops, arms and parts: the function itself tells whether an element that lies outside is used ----------


def read_in_a_loop(x, idx):
    s = 0.0
    for k in range(idx.shape[0]):
        s += x[idx[k]] ** 2
    return s


def written_in_a_loop(x, idx):
    y = np.zeros(4)
    for k in range(idx.shape[0]):
        y[idx[k]] += x[k] ** 2
    return np.sum(y)


def read_where_it_fits(x, idx):
    s = 0.0
    for k in range(idx.shape[0]):
        if idx[k] < 5:
            s += x[idx[k]] ** 2
    return s


def parts_of_the_indices(x, idx):
    s = 0.0
    for k in range(2):
        s += np.sum(x[idx[k : k + 2]])
    return s


def in_an_arm(x, idx):
    return np.sum(x[idx] ** 2) if x[0] > 0 else x[1]


@pytest.mark.parametrize("f", [read_in_a_loop, written_in_a_loop, read_where_it_fits, parts_of_the_indices, in_an_arm])
def test_where_indices_may_not_be_used(f):
    x, gradient = np.arange(5.0) + 1, sdgrad.value_and_grad(f)
    with sdgrad.config.override(verify="never"):
        for indices in ([0, 1, 2], [0, 1, 9], [0, -1, 2], [0, 1, -7], [0, 1, 2], [0, 1, 9]):
            idx = np.array(indices)
            try:
                wanted = f(x, idx)
            except IndexError:
                with pytest.raises(IndexError):
                    gradient(x, idx)
                continue
            assert gradient(x, idx)[0] == wanted


def test_indices_that_the_program_writes_first():
    """What the caller hands over says nothing then."""

    def f(x, idx):
        s = 0.0
        for k in range(3):
            idx[k] = k
            s += x[idx[k]] ** 2
        return s

    assert sdgrad.value_and_grad(f)(np.arange(5.0), np.array([9, 9, 9]))[0] == 5.0


def test_the_check_can_be_turned_off():
    def f(x, idx):
        return np.sum(x[idx])

    x = np.zeros(1000)
    with sdgrad.config.override(check_indices=False, verify="never"):
        sdgrad.compile_forward(f)(x[:500], np.array([500]))  # memory that is there
    with pytest.raises(IndexError):
        sdgrad.compile_forward(f)(x[:500], np.array([500]))


def test_a_change_of_the_setting_takes_effect_at_the_next_call():
    def f(x, n, k):
        total = 0.0
        for i in range(3):
            total += x[n[0] + i] * np.sum(x[k])
        return total

    x, given = np.arange(1000.0), (np.array([498]), np.array([1]))
    gradient = sdgrad.grad(f)
    with pytest.raises(IndexError):
        gradient(x[:500], *given)
    with sdgrad.config.override(check_indices=False, verify="never"):
        for _ in range(2):  # the second call is a prepared one; memory behind the part is there
            gradient(x[:500], *given)
    with pytest.raises(IndexError):
        gradient(x[:500], *given)


def cubes(x, i):
    return np.sum(x[i] ** 3)


def squares(x, i):
    s = 0.0
    for k in range(3):
        s += x[i[k]] ** 2
    return s


DERIVED = {
    "hessian": lambda f, x, i: sdgrad.hessian(f, wrt="x")(x, i),
    "hvp": lambda f, x, i: sdgrad.hvp(f, (x, i), (x, None))[0],
    "jvp": lambda f, x, i: sdgrad.jvp(f, (x, i), (x, None))[1],
    "vjp": lambda f, x, i: sdgrad.vjp(f, x, i)[1](1.0)[0],
    "jacobian": lambda f, x, i: sdgrad.jacobian(lambda x, i: x[i] * f(x, i), wrt="x")(x, i),
    "vmap": lambda f, x, i: sdgrad.vmap(f, in_axes=(None, 0))(x, np.array([i, i])),
    "linearize": lambda f, x, i: sdgrad.linearize(f, x, i)[1](x, None),
    "inside": lambda f, x, i: sdgrad.grad(lambda x, i: np.sum(sdgrad.grad(f, wrt="x")(x, i)), wrt="x")(x, i),
    "inside, computed": lambda f, x, i: sdgrad.grad(
        lambda x, i: np.sum(sdgrad.grad(f, wrt="x")(x, i - 1 + 1)), wrt="x"
    )(x, i),
    "inside, in a loop": lambda f, x, i: sdgrad.grad(in_a_loop(f), wrt="x")(x, i),
}


def in_a_loop(f):
    def looped(x, i):
        s = 0.0
        for k in range(2):
            s += np.sum(sdgrad.vmap(f, in_axes=(None, 0))(x * k, np.stack([i, i])))
        return s

    return looped


@pytest.mark.parametrize("f", [cubes, squares])
@pytest.mark.parametrize("how", DERIVED)
def test_functions_of_derivatives_are_checked(how, f):
    """They read and wrote outside of arrays."""
    x = np.arange(4.0)
    with sdgrad.config.override(verify="never"):
        assert np.all(np.isfinite(DERIVED[how](f, x, np.array([0, 3, -4]))))
        with pytest.raises(IndexError):
            DERIVED[how](f, x, np.array([0, 9, 1]))
        with pytest.raises(IndexError):
            DERIVED[how](f, x, np.array([0, 1, -5]))


# Parts of index arrays: columns that index arrays of different sizes.

A, B = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
SEEN = np.array([[0, 2], [1, 0]])


def by_columns(a, b, seen):
    return np.sum(a[seen[:, 0]] * b[seen[:, 1]] ** 2)


def by_steps(a, b, seen):
    flat = np.reshape(seen, -1)
    return np.sum(a[flat[::2]] * b[flat[1::2]] ** 2)


def by_rows(a, b, seen):
    pairs = seen.T
    return np.sum(a[pairs[0]] * b[pairs[1]] ** 2)


def one_by_one(a, b, seen):
    found = 0.0
    for i in range(seen.shape[0]):
        found += a[seen[i, 0]] * b[seen[i, -1]] ** 2
    return found


def from_behind(a, b, seen):
    return np.sum(a[seen[::-1, 0]] * b[seen[::-1, 1]] ** 2)


@pytest.mark.parametrize("f", [by_columns, by_steps, by_rows, one_by_one, from_behind], ids=lambda f: f.__name__)
def test_columns_of_an_argument(f):
    """Each is compared with the axis that it indexes, and no more than it."""
    gradient = sdgrad.grad(f, wrt=(0, 1))
    for _ in range(3):
        of_a, of_b = gradient(A, B, SEEN)
        assert np.array_equal(of_a, [B[2] ** 2, B[0] ** 2])
        assert np.array_equal(of_b, [2 * A[1] * B[0], 0.0, 2 * A[0] * B[2]])
    for wrong in ([[0, 3], [1, 0]], [[2, 0], [1, 0]], [[0, 0], [-3, 0]]):
        for _ in range(2):
            with pytest.raises(IndexError, match="is out of bounds for axis 0 with size [23]"):
                gradient(A, B, np.array(wrong))


@pytest.mark.parametrize("f", [by_columns, by_rows, one_by_one], ids=lambda f: f.__name__)
def test_columns_need_no_second_run(f, monkeypatch):
    """The function itself tells what lies outside only where that is not certain."""
    gradient = sdgrad.grad(f)
    gradient(A, B, SEEN)
    runs = []
    monkeypatch.setattr(Signature, "run_as_it_stands", lambda *given: runs.append(given))
    gradient(A, B, SEEN[::-1].copy())
    assert not runs


def test_derivatives_of_columns():
    def both(a, b, seen):
        return a[seen[:, 0]] * b[seen[:, 1]]

    of_a = [[B[2], 0.0], [0.0, B[0]]]
    assert np.array_equal(sdgrad.jacobian(both)(A, B, SEEN), of_a)
    assert np.array_equal(sdgrad.sparse_jacobian(both)(A, B, SEEN).toarray(), of_a)
