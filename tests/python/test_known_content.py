"""Arrays of integers whose content Python needs: a program is made for it, and another content makes another one."""

import math

import numpy as np
import pytest
from references import assert_close

import sdgrad
from python.check import differences
from sdgrad.errors import ParseError

X = np.array([0.53, 1.57, -0.71, 2.03, 0.4])
FACES = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4]])


def neighbours(faces):
    around = {}
    for a, b, c in faces:
        for u, v in ((a, b), (b, c), (c, a)):
            around.setdefault(int(u), set()).add(int(v))
            around.setdefault(int(v), set()).add(int(u))
    return around


def smoothed(x, faces):
    y = np.zeros_like(x)
    for k, ring in neighbours(faces).items():
        y[k] = x[sorted(ring)].mean()
    return np.sum((x - y) ** 2)


def smoothed_outside(x):
    return smoothed(x, FACES)


def tree(x, parents):
    children = [[] for _ in parents]
    for k, p in enumerate(parents):
        if p >= 0:
            children[p].append(k)

    def weight(k):
        return x[k] * (1.0 + sum(weight(c) for c in children[k]))

    return weight(0)


def labelled(x, labels):
    groups = {}
    for k in range(len(x)):
        groups.setdefault(labels[k], []).append(x[k])
    return sum(np.var(np.array(g)) for g in groups.values())


def of_another_shape(x, missing):
    total = 0.0
    for k in range(len(x)):
        if not missing[k]:
            total = total + x[k : k + 1] ** 2
    return np.sum(total)


def selected(x, mask):
    part = x[mask]
    return part[0] * part[-1] + part.shape[0] * np.linalg.norm(part)


def of_computed_ones(x, faces):
    names = {}
    for k in (faces[:, 0] + faces[:, 1]) % 5:
        names[int(k)] = x[k]
    return sum(v**2 for v in names.values())


PARENTS, LABELS = np.array([-1, 0, 0, 1, 1]), np.array([1, 0, 1, 1, 0])
MASK = np.array([True, False, True, True, False])
CASES = [
    (smoothed, FACES, FACES[:2]),
    (tree, PARENTS, np.array([-1, 0, 1, 2, 3])),
    (labelled, LABELS, 1 - np.eye(5, dtype=int)[1]),
    (of_another_shape, MASK, ~MASK),
    (selected, MASK, ~MASK),
    (of_computed_ones, FACES, FACES[1:]),
]


@pytest.mark.parametrize(("f", "first", "second"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_an_argument(f, first, second):
    """In each call its content is what it is then."""
    both = sdgrad.value_and_grad(f, "x")
    for content in (first, second, first):
        value, gradient = both(X.copy(), content.copy())
        assert_close(value, f(X, content), 1e-12, "value")
        assert_close(gradient, differences(lambda x, c=content: f(x, c), X), 1e-6, "gradient")


def test_an_array_outside(monkeypatch):
    gradient = sdgrad.grad(smoothed_outside)
    assert_close(gradient(X), differences(smoothed_outside, X), 1e-6, "gradient")
    monkeypatch.setitem(globals(), "FACES", np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]]))
    assert_close(gradient(X), differences(smoothed_outside, X), 1e-6, "gradient")
    FACES[0] = 4, 3, 0
    assert_close(gradient(X), differences(smoothed_outside, X), 1e-6, "gradient")


def test_written_in_place_between_calls():
    labels, gradient = LABELS.copy(), sdgrad.grad(labelled, "x")
    for k in range(3):
        labels[k] = 0
        assert_close(gradient(X, labels), differences(lambda x: labelled(x, labels), X), 1e-6, "gradient")


def test_what_needs_no_content_is_for_all_contents(monkeypatch):
    """An array of integers that is an index in the program stays an input."""
    made = []
    monkeypatch.setattr(
        "sdgrad.specialize.signature.record",
        lambda *a, record=sdgrad.record.function.record, **more: made.append(a) or record(*a, **more),
    )

    def picked(x, which):
        return np.sum(x[which] ** 2)

    gradient = sdgrad.grad(picked, "x")
    for which in (np.array([0, 1]), np.array([3, 2])):
        assert_close(gradient(X, which), np.bincount(which, minlength=5) * 2 * X, 1e-12, "gradient")
    assert len(made) == 1


def test_one_that_the_function_writes():
    def f(x, marks):
        groups = {int(m): x[0] for m in marks}
        marks[0] = 7
        return sum(groups.values())

    with pytest.raises(ParseError, match="'marks' is written, and its content decides what is recorded: copy it first"):
        sdgrad.grad(f, "x")(X, LABELS.copy())


def test_content_that_is_computed_from_real_numbers():
    def f(x):
        return {int(np.argmax(x)): x[0]}[3]

    with pytest.raises(ParseError, match=r"a key of a number that only a run of the program knows: dicts and sets"):
        sdgrad.grad(f)(X)


# -- integers that data decide
def test_a_window_around_a_position():
    def peak(x):
        k = int(np.argmax(x))
        a, b, c = x[k - 1 : k + 2]
        return b - 0.125 * (a - c) ** 2 / (a - 2 * b + c) + np.sum(x[k - 1 : k + 1] ** 2)

    both = sdgrad.value_and_grad(peak)
    for x in (X, np.roll(X, -2)):
        value, gradient = both(x)
        assert_close(value, peak(x), 1e-12, "value")
        assert_close(gradient, differences(peak, x), 1e-6, "gradient")
    with pytest.raises(IndexError, match="a slice that only a run knows begins or ends outside"):
        both(np.array([9.0, 1, 2, 3, 4]))


def test_nothing_is_written_outside_of_an_array():
    """A call whose check of a slice fails goes on to its end, and raises then."""

    def f(x):
        k = int(x[0])
        y = np.zeros(8)
        y[k : k + 3] = x[1:4]
        y[k + 2 : k : -1] *= 2.0
        return np.sum(y[k - 1 : k + 2] * x[2:5]) + np.sum(y[k:]) + np.sum(y[1:k] ** 2)

    both = sdgrad.value_and_grad(f)
    for k in (1, 3, 5):
        x = np.array([k + 0.5, *X[1:]])
        value, gradient = both(x)
        assert_close(value, f(x), 1e-12, "value")
        assert_close(gradient, differences(f, x), 1e-6, "gradient")
    for k in (6, 7, 8, 100, 10**7, -1, -8, -(10**7)):
        with pytest.raises(IndexError, match="a slice that only a run knows begins or ends outside"):
            both(np.array([k + 0.5 * np.sign(k), *X[1:]]))


def test_factorials():
    def f(x):
        n = int(x[0])
        s = x[1] ** n / math.factorial(n) + math.comb(n + 3, 2) * x[2] + math.comb(2, n) * x[3]
        return s + sum(x[1] ** k / math.factorial(k) for k in range(6))

    both = sdgrad.value_and_grad(f)
    for n in (0, 1, 4, 12):
        x = X.copy()
        x[0] = n + 0.5
        value, gradient = both(x)
        assert_close(value, f(x), 1e-12, "value")
        assert_close(gradient, differences(f, x), 1e-6, "gradient")
    x[0] = -3.5
    with pytest.raises(ValueError, match="negative"):
        both(x)
    with pytest.raises(TypeError, match="integer"):
        sdgrad.grad(lambda x: math.factorial(x[0]))(X)


VELOCITIES = np.array([[0, 1, 0], [-1, 0, 1], [-1, 1, 0], [1, 0, 0], [0, 0, 1]])


def content_after_a_loop(x):
    total = 0.0
    for k, (cx, cy, _) in enumerate(VELOCITIES):
        total += (cx + 2 * cy) * x[k] * x[k]
    left = [k for k, c in enumerate(VELOCITIES) if c[0] == -1]
    for k in range(len(x)):
        total += VELOCITIES[k, 2] * np.sin(x[k])
    return total + np.sum(x[left]) * VELOCITIES[3].tolist().index(1)


def test_content_stays_known_after_loops():
    """A loop that read the array by its counter had made it one of which only a run knows the content."""
    value, gradient = sdgrad.value_and_grad(content_after_a_loop)(X)
    assert_close(value, content_after_a_loop(X), 1e-12, "value")
    assert_close(gradient, differences(content_after_a_loop, X), 1e-6, "gradient")
