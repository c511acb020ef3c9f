"""What a function changes outside of itself: each call goes on from there as Python does, or is refused."""

import collections

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError, UnboundVariable

COUNT = 0


def counted(held, add, size):
    """Return a function that adds to something outside, and whose result depends on how much is there."""

    def f(x):
        add(held)
        return x * size(held)

    return f


def with_default(x, added=[]):  # noqa: B006
    added.append(1)
    return x * len(added)


def of_default(x):
    return with_default(x)


def of_global(x):
    global COUNT
    COUNT += 1
    return x * COUNT


class Nested(dict):
    """A dict whose entries are lists."""


CASES = {
    "a list": counted([], lambda h: h.append(1), len),
    "a deque": counted(collections.deque(), lambda h: h.append(1), len),
    "a set": counted(set(), lambda h: h.add(len(h)), len),
    "a Counter": counted(collections.Counter(), lambda h: h.update("a"), lambda h: h["a"]),
    "a defaultdict": counted(collections.defaultdict(list), lambda h: h["a"].append(1), lambda h: len(h["a"])),
    "a list in a class of dicts": counted(Nested(a=[]), lambda h: h["a"].append(1), lambda h: len(h["a"])),
    "a default": of_default,
    "a global name": of_global,
}


@pytest.mark.parametrize("name", CASES)
def test_each_call_goes_on(name):
    gradient = sdgrad.grad(CASES[name])
    first = gradient(1.0)
    assert [gradient(1.0) for _ in range(3)] == [first + 1.0, first + 2.0, first + 3.0]


class Solver:
    def __init__(self):
        self.evaluations = 0
        self.time = 0.0
        self.last = None


def counting(solver, x):
    for _ in range(5):
        solver.evaluations += 1
        x = x * 1.5
    return np.sum(x)


def counting_while(solver, x):
    y = np.sum(x)
    while y < 100.0:
        solver.evaluations += 1
        y = y * 1.5
    return y


def leaving(solver, x):
    for k in range(5):
        solver.last = np.sum(x) * k
        x = x * 1.5
    return np.sum(x)


def beginning(solver, x):
    solver.evaluations = 0
    for _ in range(5):
        solver.evaluations += 1
        x = x * 1.5
    return np.sum(x) * solver.evaluations


@pytest.mark.parametrize("f", [counting, counting_while, leaving, beginning])
def test_state_that_no_result_needs(f):
    solver = Solver()
    gradient = sdgrad.grad(lambda x: f(solver, x))
    for size in (2, 2, 3):
        assert gradient(np.ones(size)) == pytest.approx(sdgrad.grad(lambda x: f(Solver(), x))(np.ones(size)))
    with pytest.raises(UnboundVariable, match="compiled program only: return it instead"):
        print(solver.evaluations if f is not leaving else solver.last)


def depending(solver, x):
    for _ in range(5):
        solver.evaluations += 1
    return np.sum(x) * solver.evaluations


def moving(solver, x):
    for _ in range(5):
        solver.time += 0.1
        x = x * solver.time
    return np.sum(x)


def stopping(solver, x):
    y = np.sum(x)
    while solver.evaluations < 7:
        solver.evaluations += 1
        y = y * 1.5
    return y


def test_a_loop_that_state_ends():
    solver = Solver()
    gradient = sdgrad.grad(lambda x: stopping(solver, x))
    assert [gradient(np.ones(1)) for _ in range(2)] == [pytest.approx(1.5**7), 1.0]
    assert solver.evaluations == 7


class Counts:
    evaluations = 0
    time = 0.0


@pytest.mark.parametrize("kind", [Solver, Counts])
@pytest.mark.parametrize("f", [depending, moving])
def test_results_that_depend_on_state(f, kind):
    solver = kind()
    with pytest.raises(ParseError, match=r"(?s)solver\.\w+ \+= .*reads it and then changes it"):
        sdgrad.grad(lambda x: f(solver, x))(np.ones(2))
    assert (solver.evaluations, solver.time) == (0, 0.0)


@pytest.mark.parametrize(
    ("held", "add"),
    [
        ([], lambda h, x: h.append(x)),
        (collections.deque(maxlen=2), lambda h, x: h.append(x)),
        (collections.defaultdict(list), lambda h, x: h["a"].append(x)),
        (collections.OrderedDict(), lambda h, x: h.update(a=x)),
        (collections.OrderedDict(), lambda h, x: h.update(a=[x])),
    ],
    ids=["a list", "a deque", "a defaultdict", "an OrderedDict", "a list in one"],
)
def test_nothing_recorded_stays(held, add):
    def f(x):
        add(held, x * 2.0)
        return x * x

    with pytest.raises(ParseError, match="exists outside of the function is changed"):
        sdgrad.grad(f)(1.0)
    assert not held or held == {"a": []}


class Switched:
    def __init__(self):
        self.on, self.calls, self.names = False, 0, ["a", "b"]

    def toggled(self, x):
        self.on = not self.on
        return x * (2.0 if self.on else 3.0)

    def counted(self, x):
        self.calls = (self.calls + 1) % 3
        return x * self.calls

    def turned(self, x):
        self.names.reverse()
        return x * (2.0 if self.names[0] == "a" else 3.0)


@pytest.mark.parametrize("method", ["toggled", "counted", "turned"])
def test_states_that_come_again(method):
    own, other = Switched(), Switched()
    gradient = sdgrad.grad(getattr(own, method))
    assert [gradient(1.0) for _ in range(7)] == [getattr(other, method)(1.0) for _ in range(7)]
    assert vars(own) == vars(other)


def test_counters_that_are_set_again():
    model = Switched()

    def loss(x):
        model.calls += 1
        return x * model.calls

    gradient = sdgrad.grad(loss)
    for _ in range(3):
        model.calls = 0
        assert [gradient(1.0) for _ in range(3)] == [1.0, 2.0, 3.0]


class Begins:
    """Set the same again in each call."""

    recordings = 0

    def __init__(self):
        self.history, self.state, self.mode = None, None, ""

    def loss(self, x):
        self.history, self.state, self.mode = [], np.zeros(3), "train"
        self.history.append((1, "first"))
        return np.sum(x) * len(self.history)


def test_what_is_set_again_is_recorded_twice(monkeypatch):
    model = Begins()
    gradient = sdgrad.grad(model.loss)
    begun = []
    own = sdgrad.specialize.signature.record
    monkeypatch.setattr(sdgrad.specialize.signature, "record", lambda *a, **k: begun.append(1) or own(*a, **k))
    for _ in range(5):
        np.testing.assert_array_equal(gradient(np.ones(2)), np.ones(2))
    assert len(begun) == 2
    assert (model.history, model.mode) == ([(1, "first")], "train")


def test_arrays_in_collections_of_others():
    held = collections.OrderedDict(a=np.ones(2), n=0)

    def f(x):
        held["n"] += 1
        return np.sum(x * held["a"]) * held["n"]

    gradient = sdgrad.grad(f)
    for k in range(1, 4):
        held["a"] = np.full(2, float(k))
        np.testing.assert_array_equal(gradient(np.ones(2)), [k * k, k * k])
