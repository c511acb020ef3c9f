"""Calls that are the same for all iterations of the last loop are made before it."""

import numpy as np
from treetext import program

import sdgrad
from sdgrad.program.cpp_code import Writer
from sdgrad.program.invariant_calls import invariant_calls, without

SOURCE = """
argument x: float64[6]
argument a: float64[6, 4]
argument y: float64[6, 4]
body
  map i=0:6, j=0:4:
    v = x[i]
    w = exp(v)
    k = 2 * v
    u = a[i, j]
    s = sin(u)
    r = w * s + k
    y[i, j] = r
"""


def names(source):
    found = program(source)
    (leaf,) = found.body
    early = invariant_calls(leaf, found)
    assert [i for i in leaf.body if i in early] == list(early)
    assert len(without(leaf, early)) == len(leaf.body) - len(early)
    return [i.name for i in early]


def test_calls_and_what_they_need():
    assert names(SOURCE) == ["v", "w"]


def test_calls_that_stay():
    assert names(SOURCE.replace("x[i]", "x[j]")) == []
    assert names(SOURCE.replace("exp(v)", "3 * v")) == []
    assert names(SOURCE.replace("j=0:4", "j=0:i")) == []
    assert names(SOURCE.replace("i=0:6, j=0:4", "i=0:6").replace("[i, j]", "[i, 0]")) == []
    assert names(SOURCE.replace("x[i]", "y[i, 0]")) == []


def test_they_are_written_before_the_loop():
    found = program(SOURCE)
    writer = Writer(found, set())
    writer.block(found.body)
    text = [line.strip() for line in writer.lines]
    inner = next(k for k, line in enumerate(text) if line.startswith("for (int j"))
    assert "auto w = exp(v);" in text[:inner] and "auto s = sin(u);" in text[inner:]
    assert text[inner - 1] == "#pragma GCC ivdep"


def test_a_gradient_is_right():
    def f(x, a):
        y = np.zeros((5, 7))
        for i in range(5):
            for j in range(7):
                y[i, j] = np.exp(x[i]) * np.sin(a[i, j]) + x[i] ** a[i, 0]
        return np.sum(y * y)

    x, a = np.linspace(0.5, 1.5, 5), np.linspace(0.1, 0.9, 35).reshape(5, 7)
    sdgrad.testing.check_grads(f, (x, a))
