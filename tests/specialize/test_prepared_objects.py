"""Prepared calls with objects among the arguments: each call sees what its objects hold, whatever they are equal to."""

import gc

import numpy as np

import sdgrad

X = np.ones(3)


class Model:
    """Equal to all others."""

    def __init__(self, gain):
        self.weights, self.gain, self.steps = np.ones(3) * gain, gain, [1.0]

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def loss(self, x):
        return np.sum(x * self.weights) * self.gain * len(self.steps)


class Named(str):
    """A text with an attribute."""


def test_objects_are_told_apart():
    gradient = sdgrad.grad(lambda x, model: model.loss(x))
    one, other = Model(2.0), Model(3.0)
    found = [gradient(X, m)[0] for m in (one, one, one, other, one, other)]
    assert found == [4.0, 4.0, 4.0, 9.0, 4.0, 9.0]
    for k in range(20):  # each may lie where the one before was
        assert gradient(X, Model(float(k)))[0] == k**2
        gc.collect()


def test_what_objects_hold():
    gradient = sdgrad.grad(lambda x, model: model.loss(x))
    model = Model(2.0)
    assert [gradient(X, model)[0] for _ in range(3)] == [4.0] * 3
    model.gain = 5.0
    assert gradient(X, model)[0] == 10.0
    model.weights[:] = 1.0
    assert gradient(X, model)[0] == 5.0
    model.steps.append(1.0)
    assert gradient(X, model)[0] == 10.0
    model.weights = np.ones(4)
    assert gradient(np.ones(4), model)[0] == 10.0


def test_sets_functions_texts_and_none():
    of_set = sdgrad.grad(lambda x, members: np.sum(x) * len(members))
    members = {1, 2}
    assert [of_set(X, m)[0] for m in (members, members, {1}, members)] == [2.0, 2.0, 1.0, 2.0]
    members.add(3)
    assert of_set(X, members)[0] == 3.0
    of_function = sdgrad.grad(lambda x, f: f(np.sum(x)))
    assert [of_function(X, f)[0] for f in (np.sin, np.exp, np.sin)] == [np.cos(3.0), np.exp(3.0), np.cos(3.0)]
    of_none = sdgrad.grad(lambda x, given: np.sum(x) * (2.0 if given is None else 3.0))
    assert [of_none(X, given)[0] for given in (None, members, None)] == [2.0, 3.0, 2.0]
    one, other = Named("a"), Named("a")
    one.gain, other.gain = 2.0, 3.0
    of_text = sdgrad.grad(lambda x, text: np.sum(x) * text.gain)
    assert [of_text(X, t)[0] for t in (one, one, other, one)] == [2.0, 2.0, 3.0, 2.0]


def test_arrays_with_gaps():
    def f(x, y, scale=1.0):
        return np.sum(x**2 * y) * scale

    gradient = sdgrad.grad(f)
    whole = np.arange(12.0).reshape(3, 4)
    views = [whole[:, 1], whole[0, :3], whole[::-1, 2], whole.T[3], np.asfortranarray(whole)[:, 0]]
    for _ in range(3):
        for x in views:
            np.testing.assert_array_equal(gradient(x, X, scale=2.0), 4.0 * x)
            np.testing.assert_array_equal(gradient(X, y=x), 2.0 * x)
        whole += 1.0
    matrix = sdgrad.compile_forward(lambda a: a @ a)
    for a in (whole[:, :3], whole[:, :3].T, np.asfortranarray(whole[:, :3])):
        np.testing.assert_allclose(matrix(a), a @ a)
