"""Functions of every kind, and what they do with their arguments."""

import functools
import operator

import numpy as np
import pytest

from python.check import Programs, check, name_of

program = Programs()


# Arguments and names -------------------------------------------------------------------------------------


def doubled_sum(a):
    a = a * 2.0
    return np.sum(a)


@program
def function_that_binds_its_argument(x):
    return doubled_sum(x) * np.sum(x)


def not_below_zero(t):
    if t < 0:
        t = 0.0
    return t


@program
def function_that_binds_a_number(x):
    a = x[2]
    b = not_below_zero(a)
    return a * a + b


def scaled(t):
    t *= 2.0
    return t


@program
def function_that_updates_a_number(x):
    s = x[0]
    z = scaled(s)
    return s * z


def total(x, s=0.0):
    for i in range(4):
        s = s + x[i]
    return s


@program
def default_that_is_bound_again(x):
    return total(x)


def weighted(a, /, b, *others, scale=1.0, **named):
    s = a * b * scale
    for k, o in enumerate(others):
        s = s + o * k
    return s + sum(named[n] * len(n) for n in sorted(named))


@program
def every_kind_of_argument(x):
    given = {"scale": x[3], "zz": x[0]}
    s = weighted(x[0], x[1]) + weighted(*x) + weighted(*x[:2], 1.0, *x[2:], yy=x[1])
    return s * weighted(x[2], b=x[3], **given) + weighted(1.0, 2.0, **{**given, "scale": 0.5})


def passed_on(*args, **kwargs):
    return weighted(*args, **kwargs) * len(args)


@program
def arguments_passed_on(x):
    return passed_on(x[0], x[1], x[2], scale=x[3]) + passed_on(x[0], b=x[1], a=x[2])


def collects(v, into=[]):  # noqa: B006
    return v * (len(into) + 2)


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])


def weighed(x, n=None, weights=WEIGHTS):
    n = n or len(x)
    return np.sum(x[:n] * weights[:n])


@program
def defaults(x):
    return collects(x[0]) * weighed(x) + weighed(x, 2) + weighed(x, weights=x)


def several(a):
    return a * a, {"sine": np.sin(a), "parts": [a[:2], a[2:]]}, None


@program
def several_results(x):
    square, named, nothing = several(x)
    assert nothing is None
    return np.sum(square * named["sine"]) + named["parts"][0] @ named["parts"][1]


# Recursion -----------------------------------------------------------------------------------------------


def fibonacci(n, a, b):
    return a if n == 0 else fibonacci(n - 1, b, a + b * 0.5)


def is_even(n, v):
    return v * 2.0 if n == 0 else is_odd(n - 1, v * v)


def is_odd(n, v):
    return v + 1.0 if n == 0 else is_even(n - 1, v * 0.5)


def transformed(z):
    if len(z) == 1:
        return z
    even, odd = transformed(z[::2]), transformed(z[1::2])
    turn = np.exp(-2j * np.pi * np.arange(len(z) // 2) / len(z)) * odd
    return np.concatenate([even + turn, even - turn])


def leaves(tree):
    return sum(leaves(t) for t in tree) if isinstance(tree, list) else tree * tree


@program
def recursions(x):
    tree = [x[0], [x[1], [x[2]], x[3] * x[0]]]
    return fibonacci(5, x[0], x[1]) + is_even(3, x[2]) + np.sum(np.abs(transformed(x)) ** 4) + leaves(tree)


# Functions as values -------------------------------------------------------------------------------------


@program
def lambdas(x):
    power = lambda n: lambda v: v**n  # noqa: E731
    scaled = [lambda v, k=k: v * k for k in range(3)]
    late = [lambda v: v * k for k in range(3)]  # noqa: B023
    pick = {"square": power(2), "cube": power(3)}
    return pick["square"](x[0]) + pick["cube"](x[1]) + scaled[1](x[2]) + late[0](x[3]) + (lambda *a: sum(a))(*x)


@program
def closures_see_later_values(x):
    rate = 2.0
    total = x[0]

    def grown(v):
        return v * rate + total

    a = grown(x[1])
    rate = x[2]
    total = total * 3.0
    return a * grown(x[1])


def counter(start):
    count = start

    def step(by):
        nonlocal count
        count = count + by
        return count

    def read():
        return count

    return step, read


@program
def closures_with_a_state(x):
    step, read = counter(x[0])
    other, _ = counter(1.0)
    step(x[1])
    for v in x:
        step(v * v)
    return read() * other(x[2]) + step(0.0)


def composed(*functions):
    def run(v):
        for f in functions:
            v = f(v)
        return v

    return run


@program
def functions_of_functions(x):
    layers = composed(np.sin, lambda v: v * 2.0, functools.partial(np.multiply, x), np.tanh, operator.neg)
    second = operator.itemgetter(1)
    clip = functools.partial(np.clip, a_min=-1.0, a_max=1.0)
    return np.sum(layers(x)) * second(x) + operator.mul(x[0], x[2]) + np.sum(clip(x)) + operator.attrgetter("T")(x)[3]


def noted(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return wrapper


def to_the_power(n):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(v):
            return f(v) ** n

        return wrapper

    return decorate


@noted
@to_the_power(3)
def decorated(v):
    """A docstring."""
    if v > 0:
        return np.sin(v)
    return v


@program
def decorators(x):
    return decorated(x[0]) + decorated(x[2]) * decorated.__wrapped__(x[1]) + len(decorated.__doc__) * x[3]


@functools.lru_cache
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


@functools.singledispatch
def area(shape):
    return shape * 2.0


@area.register
def _(shape: list):
    return shape[0] * shape[1]


@program
def decorators_of_the_standard_library(x):
    return sum(binomial(3, k) * v for k, v in enumerate(x)) + area(x[0]) * area([x[1], x[2]])


NAMES: dict = {"np": np}
exec("def without_a_source(v, n=3):\n    return sum(np.sin(v) * k for k in range(n))\n", NAMES)


@program
def functions_without_a_source(x):
    return np.sum(NAMES["without_a_source"](x)) * eval("v * 2.0", {"v": x[0]})


def powers(v, n):
    p = 1.0
    for _ in range(n):
        yield p
        p = p * v


def with_ends(parts):
    yield 1.0
    yield from parts
    yield 2.0


def averages():
    total, n, got = 0.0, 0, None
    while True:
        got = yield total / max(n, 1)
        total, n = total + got, n + 1


@program
def generators(x):
    s = sum(c * p for c, p in zip(x, powers(x[0], 4), strict=True))
    ends = list(with_ends(v * v for v in x))
    mean = averages()
    next(mean)
    mean.send(x[1])
    return s * ends[0] + ends[2] * ends[-1] + mean.send(x[2] * x[3])


class Layer:
    def __init__(self, w):
        self.w = w

    def run(self, v):
        return np.tanh(self.w * v)


@program
def methods_as_values(x):
    layer, again = Layer(x[0]), Layer(2.0)
    runs = [layer.run, again.run, Layer.run.__get__(layer)]
    joined = ", ".join
    find = x.dot
    for run in runs:
        x = run(x)
    return np.sum(Layer.run(again, x)) * find(x) + len(joined("ab"))


@program
def functions_with_attributes(x):
    def f(v):
        return v * f.rate

    f.rate = 3.0
    g = vars(f)["rate"]
    return f(x[0]) * g


def settled(values):
    """Branches, loops and exits between the places where it stops; one name is bound in one arm only."""
    total, late = 0.0, None
    for k, value in enumerate(values):
        if value > 0.0:
            late = value * values[0]
            if value > 1.0:
                total = total + late
        for i in range(30):
            value = np.sin(value) + 0.1
            if value < 0.3:
                break
            total += i * value
        if k == 1:
            yield total
            continue
        match k:
            case 0:
                found = total if late is None else late
            case _:
                found = -total
        yield found


def positive_first(values):
    for value in values:
        if value < 0.0:
            value = value * value
        yield value
    yield from Doubled(values)


class Doubled:
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        for value in self.values:
            double = 2.0 * value
            if double > 1.0:
                double = double * value
            yield double


@program
def generators_with_branches_and_loops(x):
    return sum(v * (k + 1) for k, v in enumerate(settled(x))) + sum(v * v * k for k, v in enumerate(positive_first(x)))


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)
