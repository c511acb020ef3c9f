"""Classes of the user's: attributes, methods, operators, and objects that change."""

import abc
import collections
import dataclasses
import enum
import functools
import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pytest

import sdgrad
from python.check import OTHER, Programs, X, check, name_of

program = Programs()


# Data ----------------------------------------------------------------------------------------------------


@dataclass
class Body:
    place: np.ndarray
    speed: np.ndarray
    mass: float = 2.0
    path: list = field(default_factory=list)

    def __post_init__(self):
        self.energy = 0.5 * self.mass * np.sum(self.speed**2)

    def step(self, dt):
        self.speed = self.speed - dt * self.place
        self.place = self.place + dt * self.speed
        self.path.append(self.place[0])
        return self


@program
def objects_that_move(x):
    bodies = [Body(x[:2], x[2:]), Body(x[1:3], np.zeros(2), mass=x[0])]
    for _ in range(3):
        for b in bodies:
            b.step(0.1).mass *= 1.1
    return sum(b.energy * b.mass + np.sum(b.place**2) for b in bodies) + sum(bodies[0].path) * len(bodies[1].path)


@dataclass(frozen=True)
class Settings:
    rate: float
    weights: np.ndarray = field(default_factory=lambda: np.arange(4.0))
    names: tuple = ("a", "b")

    @classmethod
    def slow(cls, rate):
        return cls(rate * 0.1)

    @staticmethod
    def largest(a, b):
        return a if a > b else b


@program
def frozen_settings(x):
    first = Settings.slow(x[0])
    second = replace(first, rate=x[1], weights=x)
    total = Settings.largest(first.rate, second.rate) * np.sum(first.weights * second.weights)
    return total * len(dataclasses.fields(second)) + getattr(second, first.names[0] and "rate") * len(first.names)


class Complex(NamedTuple):
    re: float
    im: float

    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @property
    def size(self):
        return self.re**2 + self.im**2


@program
def named_tuples_with_methods(x):
    z, c = Complex(x[0], x[1]), Complex(*x[2:])
    for _ in range(3):
        z = z * c
    re, im = z._replace(re=z.re + 1.0)
    return re * im + z.size + z[0] + sum(c)


# Attributes ----------------------------------------------------------------------------------------------


class Thermometer:
    scale = 1.8
    __slots__ = ("_celsius", "log")

    def __init__(self, celsius):
        self.log = 0
        self.celsius = celsius

    @property
    def celsius(self):
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        self._celsius = value
        self.log += 1

    @property
    def fahrenheit(self):
        return self._celsius * self.scale + 32.0


class Positive:
    """A descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return getattr(obj, self.name)

    def __set__(self, obj, value):
        setattr(obj, self.name, abs(value))


class Holder:
    size = Positive()

    def __init__(self, size):
        self.size = size

    def __getattr__(self, name):
        if name.startswith("times"):
            return self.size * int(name[5:])
        raise AttributeError(name)

    @functools.cached_property
    def square(self):
        return self.size**2


@program
def properties_and_descriptors(x):
    t = Thermometer(x[0])
    t.celsius = t.fahrenheit * x[1]
    t.celsius += x[2]
    h = Holder(x[2])
    s = h.square * h.times3
    h.size = x[3]
    return t.celsius * t.log + s * h.size + h.square + getattr(h, "none", x[0]) * hasattr(h, "size")


class Counted:
    made = 0
    shared = [1.0, 2.0]

    def __init__(self, v):
        type(self).made += 1
        self.v = v
        self.w = v * self.shared[1]


@program
def attributes_of_the_class(x):
    before = Counted.made
    a, b = Counted(x[0]), Counted(x[1])
    a.shared = [x[2]]
    return a.v * b.w * (Counted.made - before) + a.shared[0] * Counted.shared[1] + vars(b)["v"]


# Inheritance ---------------------------------------------------------------------------------------------


class Shape(abc.ABC):
    def __init__(self, size):
        self.size = size

    @abc.abstractmethod
    def area(self): ...

    def cost(self, price):
        return price * self.area() if self.size > 0 else price


class Square(Shape):
    def area(self):
        return self.size**2


class Ring(Square):
    def __init__(self, size, hole, **more):
        super().__init__(size, **more)
        self.hole = hole

    def area(self):
        return super().area() * math.pi - self.hole**2

    def cost(self, price):
        return 2.0 + super().cost(price=price)


@program
def inherited(x):
    shapes = [Square(x[0]), Ring(x[1], hole=x[2]), Ring(x[2], 0.5)]
    total = sum(shape.cost(x[3]) for shape in shapes)
    return total + sum(s.hole for s in shapes if isinstance(s, Ring)) * len(type(shapes[1]).__mro__)


class Kind(enum.Enum):
    SINE = "sine"
    POWER = 3

    def apply(self, v):
        return np.sin(v) if self is Kind.SINE else v**self.value


@program
def members_of_an_enum(x):
    rates = {Kind.SINE: x[0], Kind.POWER: x[1]}
    return np.sum(Kind("sine").apply(x) * rates[Kind.SINE]) + sum(rates[k] * np.sum(k.apply(x)) for k in Kind)


# Operators -----------------------------------------------------------------------------------------------


class Dual:
    """A number with a derivative."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a + other.a, self.b + other.b)

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    def __neg__(self):
        return Dual(-self.a, -self.b)

    def __pow__(self, n):
        return Dual(self.a**n, n * self.a ** (n - 1) * self.b)

    def size(self):
        return self * (-1.0 if self < Dual(0.0) else 1.0)

    def __lt__(self, other):
        return self.a < other.a

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other


def horner(coefficients, v):
    s = Dual(0.0)
    for c in coefficients:
        s = s * v + c
    return s


@program
def numbers_of_the_users(x):
    p = horner([1.0, 2.0, x[1], 0.5], Dual(x[0], 1.0))
    q = Dual(x[2], x[3]).size() ** 3 - 2.0 * p + (1.0 - p) * x[3]
    r = Dual(p.a if p < q else q.a, p.b if p < q else q.b)
    return r.a * r.b + q.b


class Grid:
    """An array that is reached by other means."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, place):
        row, column = place if isinstance(place, tuple) else (0, place)
        return self.values[row * 2 + column]

    def __setitem__(self, place, value):
        self.values[place[0] * 2 + place[1]] = value

    def __len__(self):
        return 2

    def __iter__(self):
        for k in range(4):
            yield self.values[k]

    def __contains__(self, name):
        return name == "values"

    def __call__(self, by):
        return Grid(self.values * by)

    def __matmul__(self, other):
        return np.sum(self.values * other.values)

    def __iadd__(self, other):
        self.values += other.values
        return self

    def __eq__(self, other):
        return self is other

    def __bool__(self):
        return len(self) > 1

    def __enter__(self):
        return self.values

    def __exit__(self, *error):
        self.values[3] = 0.25
        return False


@program
def containers_of_the_users(x):
    g = Grid(x * 1.0)
    for i in range(len(g)):
        g[i, 1] = g[i, 0] * g[0, 1] + i
    h = g(2.0)
    h += g
    with g as values:
        values[0] *= 3.0
    s = sum(v * v for v in h) if h and "values" in h else 0.0
    return s + g @ h + g[1] * (g == h) + sum(k * v for k, v in enumerate(g))


class Pendulum:
    def __init__(self, angle):
        self.state = np.zeros(2)
        self.state[0] = angle

    def advance(self, dt):
        self.state[1] -= dt * np.sin(self.state[0])
        self.state[0] += dt * self.state[1]


@program
def arrays_of_an_object_in_a_loop(x):
    pendulums = Pendulum(x[0]), Pendulum(x[1])
    for _ in range(20):
        for p in pendulums:
            p.advance(0.1)
    return pendulums[0].state[0] * pendulums[1].state[1]


@dataclass
class Sums:
    """What its fields begin with is made by factories."""

    total: np.ndarray = field(default_factory=functools.partial(np.zeros, 2))
    counts: dict = field(default_factory=lambda: collections.defaultdict(int))
    last: Body = field(default_factory=lambda: Body(np.ones(2), np.ones(2)))

    def add(self, value, label):
        self.total[0] += value
        self.counts[label] += 1
        self.last.mass = value * self.counts[label]


@program
def factories_of_fields_and_entries(x):
    groups = collections.defaultdict(Sums)
    for value, label in zip(x, "aabb", strict=True):
        groups[label].add(value * x[0], label)
    return sum(g.total[0] ** 2 * g.last.mass for g in groups.values())


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)


def test_objects_at_another_point():
    check(numbers_of_the_users, OTHER)


def test_an_object_is_an_argument():
    """The gradient is an object of the same class, and the argument is what it was."""

    def energy(body):
        body.place = body.place + 0.1 * (body.speed - 0.1 * body.place)
        return np.sum(body.place**2) * body.mass

    body = Body(X[:2], X[2:], path=None)
    found = sdgrad.grad(energy)(body)
    place = X[:2] + 0.1 * (X[2:] - 0.1 * X[:2])
    np.testing.assert_allclose(found.place, 2 * 2.0 * place * (1.0 - 0.01))
    np.testing.assert_allclose(found.mass, np.sum(place**2))
    assert found.path is None and np.all(body.place == X[:2])
