"""Methods that Python calls by itself: they are recorded as others are, and what they read outside is compared."""

import collections
import functools
import operator

import numpy as np
import pytest

import sdgrad
from python.check import OTHER, Programs, X, check, differences, name_of

program = Programs()


# What the methods do with recorded values -------------------------------------------------------------------


class Truss:
    def __init__(self, stiffness):
        self.stiffness = stiffness
        self.ends = [(0, 1), (1, 2), (2, 3)]

    def __iter__(self):
        for k, (a, b) in enumerate(self.ends):
            yield a, b, self.stiffness[k]

    @property
    def matrix(self):
        """Arrays that a property makes hold recorded numbers."""
        K = np.eye(4)
        for a, b, k in self:
            K[np.ix_([a, b], [a, b])] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return K

    @functools.cached_property
    def length(self):
        found = 0.0
        for k in self.stiffness:
            if k > 0.0:
                found = found + k
        return found


@program
def properties_that_loop(x):
    truss = Truss(x[:3] ** 2)
    return x @ np.linalg.solve(truss.matrix, x) + truss.length * truss.length


class Interval:
    """Arithmetic that branches on data, and writes arrays."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __mul__(self, other):
        if not isinstance(other, Interval):
            return NotImplemented
        ends = np.empty(4)
        for i, a in enumerate((self.low, self.high)):
            for j, b in enumerate((other.low, other.high)):
                ends[2 * i + j] = a * b
        return Interval(np.min(ends), np.max(ends))

    def __rmul__(self, number):
        low, high = number * self.low, number * self.high
        if number < 0:
            low, high = high, low
        return Interval(low, high)

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __abs__(self):
        return Interval(0.0 if self.low < 0 else self.low, np.maximum(self.high, -self.low))

    def __contains__(self, number):
        if number < self.low:
            return False
        return number < self.high

    def __lt__(self, other):
        return self.high < other.low

    def __getitem__(self, share):
        return self.low + share * (self.high - self.low) if self.high > 0 else self.high * share

    def __iadd__(self, other):
        for _ in range(2):
            self.low = self.low + 0.5 * other
            self.high = self.high + 0.5 * other
        return self

    def __bool__(self):
        return bool(self.low < self.high)

    def __enter__(self):
        width = self.high - self.low
        return width if width > 1.0 else 2.0 * width

    def __exit__(self, *error):
        self.low = self.low * 2.0


@program
def intervals(x):
    a, b = Interval(x[0], x[0] + 2.0), Interval(x[2], x[1] + 1.0)
    c = x[3] * (a * b)
    c += x[0]
    s = c[0.3] * 3.0 if a < b else c[0.7]
    if x[3] in c:
        s = s + x[3] ** 2
    with c as width:
        s = s * width
    return s * c.low + (c.high if c else c.low) + abs(-a).high


class Chain:
    def __init__(self, values):
        self.values, self.at = values, 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == len(self.values):
            raise StopIteration
        self.at += 1
        return self.values[self.at - 1]

    def __add__(self, other):
        return Chain([a + b if isinstance(other, Chain) else a for a, b in zip(self.values, other, strict=True)])

    def __radd__(self, start):
        return self


@program
def iterators(x):
    chain = Chain([x[0], x[1] * x[2]])
    first, second = chain
    total = sum([chain, Chain([x[3], x[0]])])
    return first * second + sum(v * v for v in total) + max(*chain) + operator.mul(*total) + list(chain)[1]


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X, OTHER)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __rmul__(self, other):
        return np.sum(other * self.factor)


class Asked(Scaled):
    __array_ufunc__ = None


def test_an_array_and_an_object():
    """NumPy leaves operators of numbers to an object, and of arrays where its class says so."""
    check(lambda x: x[0] * Scaled(x[1]) + x * Asked(x[2]) + np.ones(2) * Asked(x[3]))
    with pytest.raises(
        sdgrad.errors.ParseError, match="not an object .Scaled.: give its class '__array_ufunc__ = None'"
    ):
        sdgrad.grad(lambda x: np.sum(x * Scaled(x[1])))(X)


# What the methods read outside ------------------------------------------------------------------------------

RATE = 1.0


class Gain:
    def __init__(self):
        self.k = 2.0

    def __mul__(self, other):
        return self.k * RATE * other

    def __rsub__(self, other):
        return other - self.k * RATE

    def __neg__(self):
        return -self.k * RATE

    def __getitem__(self, index):
        return self.k * RATE * index

    def __len__(self):
        return int(self.k * RATE)

    def __contains__(self, other):
        return other == self.k * RATE

    def __iter__(self):
        yield self.k
        yield RATE

    def __enter__(self):
        return self.k * RATE

    def __exit__(self, *error):
        pass

    def __eq__(self, other):
        return self.k * RATE == other

    __hash__ = None

    def __bool__(self):
        return self.k * RATE > 3

    def __float__(self):
        return self.k * RATE

    def __getattr__(self, name):
        if name == "double":
            return 2.0 * self.k * RATE
        raise AttributeError(name)

    def times(self, other, more=1.0):
        return self.k * RATE * other * more


gain = Gain()


def entered(x):
    with gain as k:
        return np.sum(k * x)


def unpacked(x):
    a, b = gain
    return a * b * x[0]


def looped(x):
    total = 0.0
    for k in gain:
        total = total * k + k * x[0]
    return total


READERS = [
    entered,
    unpacked,
    looped,
    lambda x: np.sum(gain * x),
    lambda x: np.sum(operator.mul(gain, x)),
    lambda x: x[0] * (1.0 - gain),
    lambda x: x[0] * -gain,
    lambda x: x[0] * gain[3],
    lambda x: x[0] * len(gain),
    lambda x: x[0] * (2.0 if 2.0 in gain else 3.0),
    lambda x: x[0] * (2.0 if gain == 2.0 else 3.0),
    lambda x: x[0] * (2.0 if gain != 2.0 else 3.0),
    lambda x: x[0] * (2.0 if gain else 3.0),
    lambda x: x[0] * float(gain),
    lambda x: x[0] * sum(gain) * max(gain) * [*gain][0],
    lambda x: x[0] * sum(k for k in gain),
    lambda x: x[0] * gain.double * getattr(gain, "double"),  # noqa: B009
    lambda x: x[0] * getattr(gain, "k") * getattr(gain, "none", 2.0) * RATE,  # noqa: B009
    lambda x: x[0] * vars(gain)["k"] * RATE,
    lambda x: sum(map(gain.times, x)),
    lambda x: sum(map(functools.partial(gain.times, more=2.0), x)),
    lambda x: functools.reduce(gain.times, x),
    lambda x: max(list(x), key=gain.times),
    lambda x: np.sum(np.apply_along_axis(gain.times, 0, x)),
]


@pytest.mark.parametrize("f", READERS, ids=range(len(READERS)))
def test_what_methods_read_is_compared(f, monkeypatch):
    """The program of the first call was used again after an attribute, or a global name, had changed."""
    both = sdgrad.value_and_grad(f)
    for k, rate in ((2.0, 1.0), (5.0, 1.0), (5.0, 3.0), (2.0, 1.0)):
        monkeypatch.setattr(gain, "k", k)
        monkeypatch.setitem(globals(), "RATE", rate)
        value, gradient = both(X)
        assert np.isclose(value, f(X)) and np.allclose(gradient, differences(f, X), atol=1e-8)


class Kept:
    rate = 2.0


kept, queue, chosen = Kept(), collections.deque([2.0]), {2.0}


def with_default(x, factors=queue):
    return x[0] * factors[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] * queue[0] * sum(queue),
        lambda x: x[0] * max(chosen) * (2.0 if 2.0 in chosen else 3.0),
        with_default,
        lambda x: x[0] * with_default(x),
        lambda x: x[0] * type(kept).rate * getattr(type(kept), "rate"),  # noqa: B009
        lambda x: x[0] * getattr(kept, "more", 1.0),
        lambda x: x[0] * (2.0 if hasattr(kept, "more") else 3.0),
        lambda x: x[0] * operator.attrgetter("rate")(kept),
        lambda x: x[0] * max([kept], key=operator.attrgetter("rate")).rate,
    ],
    ids=range(9),
)
def test_what_is_outside_is_compared(f):
    """Queues, sets, what arguments are that are left out, and attributes that come later."""
    both = sdgrad.value_and_grad(f)
    for k in (2.0, 5.0, 2.0):
        queue[0], Kept.rate = k, k
        chosen.clear()
        chosen.add(k)
        if k == 5.0:
            kept.more = 3.0
        elif hasattr(kept, "more"):
            del kept.more
        value, gradient = both(X)
        assert np.isclose(value, f(X)) and np.allclose(gradient, differences(f, X), atol=1e-8)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8])
def test_integers_that_python_needs(kind):
    def f(x, n):
        table = {2: 1.5, 3: 2.5}
        return np.sum(np.arange(n) * x[:n]) * table[n] + sum(x[0] ** k for k in range(n))

    both = sdgrad.value_and_grad(f)
    for n in (2, 3):
        value, gradient = both(X, kind(n))
        assert np.isclose(value, f(X, n))
        assert np.allclose(gradient, differences(lambda x, n=n: f(x, n), X), atol=1e-8)


# Iterators, and keys ----------------------------------------------------------------------------------------

PAIRS = [[2.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] * max(k for k in [1.0, 2.0]) * max(map(len, ["a", "bb"])),
        lambda x: x[0] * min(iter([3.0, 1.0]), default=2.0) + max([], default=4.0),
        lambda x: x[0] * sorted(PAIRS)[0][1] + sorted(PAIRS, key=lambda p: [p[1], 1.0])[0][1],
        lambda x: x @ np.array(sorted(x, key=abs)),
        lambda x: x @ np.array(sorted(x, key=lambda v: -v, reverse=True)),
        lambda x: x @ np.array(sorted(x, key=lambda v: v > 0.0)),
        lambda x: x @ np.array(sorted(x, key=lambda v: np.floor(v), reverse=True)),
    ],
    ids=range(7),
)
def test_python_functions_of_iterables(f):
    check(f, X, OTHER)
