"""The first results are compared with Python's: a wrong rule is found and placed; nothing outside is changed."""

import dataclasses
import random
import re

import numpy as np
import pytest
from scipy import optimize, stats

import sdgrad
from sdgrad.config import config
from sdgrad.errors import VerificationError
from sdgrad.record.functions import scipy_stats
from sdgrad.record.functions.distributions import beta_odds
from sdgrad.record.templates import UFUNCS
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.verification import compare

X = np.array([0.5, 1.5, -0.7])


@pytest.fixture(autouse=True)
def compared():
    """What a test compares does not depend on how busy the machine is."""
    with config.override(verify="always"):
        yield


@pytest.fixture
def wrong_tanh(monkeypatch):
    """A rule of NumPy's table that is wrong."""
    monkeypatch.setitem(UFUNCS, "tanh", "tanh({0}) + 0.01")


def first_wrong(x):
    y = np.sin(x)
    z = np.tanh(y)
    z = z + y
    return np.sum(z * z)


def wrong_in_a_loop(x):
    s = 0.0
    for i in range(3):
        s = s + np.tanh(x[i])
    return s


def wrong_in_what_is_returned(x):
    y = x * x
    return np.sum(np.tanh(y))


def helper(v):
    return np.tanh(v)


def wrong_in_a_helper(p, x):
    y = p["a"] * x
    z = helper(y) * 2.0
    return np.sum(z)


PLACES = {
    first_wrong: "z = np.tanh(y)",
    wrong_in_a_loop: "for i in range(3):",
    wrong_in_what_is_returned: "return np.sum(np.tanh(y))",
}
DOORS = {
    "grad": lambda f: sdgrad.grad(f)(X),
    "compile_forward": lambda f: sdgrad.compile_forward(f)(X),
    "vjp": lambda f: sdgrad.vjp(f, X),
    "jvp": lambda f: sdgrad.jvp(f, (X,), (X,)),
    "halves": lambda f: sdgrad.grad(f, requires=["x"])[0](X),
}


def fresh(f):
    """The function as a new one, of which nothing has been compiled."""
    return type(f)(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


@pytest.mark.parametrize("f", PLACES, ids=lambda f: f.__name__)
def test_the_first_statement_that_differs_is_named(f, wrong_tanh):
    with pytest.raises(VerificationError) as caught:
        sdgrad.grad(fresh(f))(X)
    place, line, *_ = str(caught.value).splitlines()
    assert re.fullmatch(r"test_verification\.py:\d+", place) and line.strip() == PLACES[f]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_compares(door, wrong_tanh):
    with pytest.raises(VerificationError, match="the value is"):
        DOORS[door](fresh(first_wrong))


def test_arguments_in_nests(wrong_tanh):
    with pytest.raises(VerificationError, match=r"z = helper\(y\) \* 2.0\n'z' is .* in Python"):
        sdgrad.grad(fresh(wrong_in_a_helper))({"a": 2.0}, X)


def test_never(wrong_tanh):
    with config.override(verify="never"):
        assert sdgrad.compile_forward(fresh(first_wrong))(X) != first_wrong(X)


def test_a_shape_that_differs_is_found(monkeypatch):
    from sdgrad.specialize.verification import difference

    assert "shape (1,), and () in Python" in difference(np.ones(1), 1.0)


def test_rounding_is_no_difference():
    """A logistic map doubles rounding at each step: nothing but noise is left after sixty."""

    def chaotic(x):
        for _ in range(60):
            x = 3.9999 * x * (1.0 - x)
        return np.sum(x) / 3.0 + np.sum(np.sqrt(x))

    sdgrad.grad(chaotic)(np.array([0.3, 0.4, 0.6]))


log, table = [], {"calls": 0}


class Counter:
    calls = 0

    def loss(self, x):
        self.calls = self.calls + 1
        return np.sum(x * x)


def changes_what_lies_outside(x):
    np.random.seed(3)
    noise = np.random.standard_normal(3)
    log.append("called")
    table["calls"] = table["calls"] + 1
    print("called")
    return np.sum(x * noise)


def test_rounding_where_all_is_zero_is_no_difference():
    """The rest of a solution that is exact in Python, and to the last place here."""
    matrix, solution = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    rest = sdgrad.compile_forward(lambda b: optimize.nnls(matrix, b)[1])(matrix @ solution)
    assert 0 <= rest < 1e-14
    with pytest.raises(VerificationError):
        compare_zero(1e-9)


def compare_zero(found):
    signature = Signature.of(zero, {"x": X})
    compare(signature, {"x": X}, {signature.outputs[0]: found})


def zero(x):
    return np.sum(x - x)


def test_nothing_outside_is_changed_twice(capsys, monkeypatch):
    def state():
        """What has been changed, after one recording."""
        own = Counter()
        log.clear()
        table["calls"] = 0
        sdgrad.grad(fresh(changes_what_lies_outside))(X)
        sdgrad.grad(own.loss)(X)
        return len(log), table["calls"], own.calls, capsys.readouterr().out.count("called")

    before = random.getstate()
    with config.override(verify="never"):
        wanted = state()
    assert state() == wanted
    assert random.getstate() == before


def test_arguments_that_are_written_are_the_callers_afterwards():
    def fills(x, out):
        out[:] = x * x

    out = np.zeros(3)
    assert np.array_equal(sdgrad.compile_forward(fills)(X, out), X * X)
    assert not out.any()


def test_nothing_is_compiled_for_a_comparison():
    def inner(x):
        return np.sum(x**3)

    def outer(x):
        return np.sum(sdgrad.grad(inner)(x) ** 2)

    assert np.allclose(sdgrad.grad(outer)(X), 36 * X**3)


def test_what_python_refuses_is_said():
    def adds(a):
        return a + {True: 0.0}[hasattr(a, "recorder")]  # a number of Python's has none

    with pytest.raises(VerificationError, match="cannot be run as it stands"):
        sdgrad.compile_forward(adds)(0.0)
    with config.override(verify="auto"):
        assert sdgrad.compile_forward(adds)(0.0) == 0.0


def test_what_python_raises_by_data_is_raised():
    def divides(a):
        return 1.0 / a

    for verify in ("auto", "always"):
        with config.override(verify=verify), pytest.raises(ZeroDivisionError):
            sdgrad.compile_forward(divides)(0.0)
    with config.override(verify="never"):
        assert np.isinf(sdgrad.compile_forward(divides)(0.0))


def test_a_value_that_python_refuses_is_refused():
    with config.override(verify="auto"), pytest.raises(ValueError, match="no identity"):
        sdgrad.compile_forward(lambda x: np.max(x[x > 100.0]))(X)


def tails(q, y, a):
    frozen = stats.betaprime(a, 3.5, scale=2.0)
    return (
        stats.f.isf(q, 5.0, 7.0), frozen.isf(0.1 * q), stats.powernorm.ppf(q * 1e-3, a), stats.alpha.isf(q * 1e-280, a),
        stats.rice.sf(y, 1.0), stats.skewnorm.logcdf(-y - 0.29, 4.0), stats.skewnorm.logcdf(-2.0 * y, 4.0),
    )  # fmt: skip


@pytest.mark.parametrize("k", range(7))
def test_small_probabilities_of_scipy_are_no_reference(k):
    """SciPy computes them by ``1 - q``: the rounding of 1 is all that is left of them."""
    given = 1e-12, 9.0, 2.5
    own = sdgrad.jvp(lambda *at: tails(*at)[k], given, (0.0, 0.0, 0.0))[0]
    assert not np.isclose(own, tails(*given)[k], rtol=1e-6, atol=0)


def test_small_probabilities_are_compared():
    """A wrong formula of a probability is found, and a wrong function beside a right one."""
    wrong = dataclasses.replace(scipy_stats.TABLE["f"], isf=lambda q, n, m: 2.0 * beta_odds(q, 0.5 * m, 0.5 * n, -1.0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(scipy_stats.TABLE, "f", wrong)
        with pytest.raises(VerificationError, match="in Python"):
            sdgrad.jvp(lambda q: stats.f.isf(q, 5.0, 7.0), (1e-7,), (1.0,))


def test_wrong_functions_of_small_probabilities(wrong_tanh):
    with pytest.raises(VerificationError, match="in Python"):
        sdgrad.jvp(lambda q: np.tanh(1e-4 * stats.f.isf(q, 5.0, 7.0)), (1e-12,), (1.0,))
    assert "_isf" not in vars(type(stats.f))  # SciPy's class is as before
