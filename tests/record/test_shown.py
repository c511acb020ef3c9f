"""What users see: errors with their line first, and what was recorded."""

import traceback

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config

X = np.ones(4)


def helper(v):
    w = v + 1.0
    return np.packbits(w)


def loss(x):
    return np.sum(helper(np.sin(x)))


def test_errors_begin_with_the_users_line():
    with pytest.raises(sdgrad.errors.ParseError) as found:
        sdgrad.grad(loss)(X)
    lines = str(found.value).splitlines()
    assert lines[0].startswith("test_shown.py:") and "np.packbits(w)" in lines[1]
    assert any("numpy.packbits" in line for line in lines)
    assert lines[-1].strip().startswith("called from test_shown.py:") and "helper(np.sin(x))" in lines[-1]


def test_errors_of_axes_begin_with_the_users_line():
    def summed(x):
        return np.sum(np.sum(x, axis=1))

    with pytest.raises(np.exceptions.AxisError) as found:
        sdgrad.grad(summed)(X)
    lines = str(found.value).splitlines()
    assert lines[0].startswith("test_shown.py:") and "np.sum(x, axis=1)" in lines[1]
    assert lines[-1] == "axis 1 is out of bounds for array of dimension 1"


def test_tracebacks_are_short():
    try:
        sdgrad.grad(loss)(X)
    except sdgrad.errors.ParseError as error:
        short = traceback.format_exc().count("\n") - str(error).count("\n")
    with config.override(debug=True):
        try:
            sdgrad.grad(loss)(X)
        except sdgrad.errors.ParseError as error:
            long = traceback.format_exc().count("\n") - str(error).count("\n")
    assert short <= 24 and short < long / 2


def power(p, x):
    s = 0.0
    for i in range(len(x)):
        s += np.sin(x[i] * p["w"][i])
    return s


def test_a_trace_shows_lines_and_names():
    text = str(sdgrad.trace(power, {"w": X}, X))
    assert "argument p_w: float64[4]" in text and "s += np.sin(x[i] * p" in text and "loop i" in text


def test_the_graph_of_a_function():
    graph = sdgrad.to_sdfg(power, {"w": X}, X)
    graph.validate()
    assert {"p_w", "x", "__return"} <= set(graph.arglist())
