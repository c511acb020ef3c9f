"""Converted functions do in Python what they did: every construct, beside the function as it was written."""

import dataclasses
import functools
import inspect
import traceback

import pytest

from sdgrad.convert.functions import converted, is_converted
from sdgrad.convert.operators import Operators

OPERATORS = Operators()
SCALE = 3


def both(f, *args, **kwargs):
    """What a function returns, or the type of what it raises, and the same of its converted form."""
    found = []
    for function in (f, converted(f, OPERATORS)):
        assert function is not None
        try:
            found.append(function(*args, **kwargs))
        except Exception as error:
            found.append((type(error), str(error).split("\n")[0], type(error.__cause__)))  # pytest adds lines
    return found


def same(f, *args, **kwargs):
    original, new = both(f, *args, **kwargs)
    assert new == original
    return new


def early_returns(x):
    if x < 0:
        return "negative"
    if x == 0:
        return "zero"
    for k in range(x):
        if k * k == x:
            return k
        for j in range(k):
            if j + k > 20:
                return j, k
    else:
        x += 100
    return x


def exits_of_loops(n):
    found = []
    for i in range(n):
        if i % 3 == 0:
            continue
        j = 0
        while True:
            j += 1
            if j == i:
                break
            if j % 2:
                continue
            found.append((i, j))
        else:
            found.append("never")
        if i > 7:
            break
    else:
        found.append("all")
    while n > 0:
        n -= 1
    else:
        found.append("while")
    return found


def no_value(x):
    if x:
        return
    x = 1


def tries(x):
    log = []
    try:
        log.append(10 // x)
        if x == 2:
            return log
    except ZeroDivisionError as error:
        log.append(type(error).__name__)
    else:
        log.append("else")
    finally:
        log.append("finally")
    for k in range(3):
        try:
            if k == 1:
                continue
            log.append(k)
        finally:
            log.append("again")
    return log


def expressions(a, b):
    c = a if a > b else b
    d = 0 < a < b or (a and not b)
    e = [x * y for x in range(a) if x % 2 for y in (a, b) if y != x]
    f = {k: v for k, v in zip("ab", (a, b), strict=True)}
    g = f"{a:>4}{b!r}" + str(a is b) + str(a in (1, 2)) + str(b not in {3})
    if (h := a + b) > 3 and (i := h - 1):
        h = i
    first, *rest = e or [0]
    (p, q), r = (a, b), SCALE
    e[0:1] = [p, q]
    f["c"], e[-1] = r, h
    f["a"] += 5
    x = y = {}
    x["k"] = y
    return c, d, e, f, g, h, first, rest, len(x), next(v for v in (a, b))


def loops_over_things(pairs):
    total = 0
    for k, (name, value) in enumerate(pairs):
        total += k * value
        if name == "stop":
            break
    table = {}
    for table[total], _ in [(1, 2), (3, 4)]:
        pass
    return total, table, k, name


def generator(n):
    for k in range(n):
        if k == 2:
            continue
        if k == 5:
            return "early"
        got = yield k
        while got:
            got = yield -got
    yield from ("x" if k else "y" for k in range(2))


def runs_generator(n):
    run = generator(n)
    found = [next(run), run.send(4), run.send(None)]
    return found + list(run)


def matching(x):
    match x:
        case {"kind": kind, **rest}:
            return kind, rest
        case [first, *_] if first > 3:
            return first
        case int() | float():
            y = x * 2
        case _:
            y = None
    return "after", y


def inner_functions(x):
    count = 0

    def step(by=SCALE, *more, scale=1, **named):
        nonlocal count
        if by > 3:
            count += by
        else:
            count += 2 * by
        return count * scale + sum(more) + sum(named.values())

    step(4)
    step(x, 1, 2, scale=3, z=4)
    compose = lambda f, g: lambda v: f(g(v))  # noqa: E731
    fact = lambda n: 1 if n < 2 else n * fact(n - 1)  # noqa: E731
    return step(), compose(fact, abs)(-5), [f(x) for f in (lambda v: v + 1, lambda v: v if v else -1)]


class Counter:
    __slots__ = ("__hidden", "seen")

    def __init__(self, start):
        self.__hidden, self.seen = start, []

    def count(self, by):
        self.__hidden += by
        for k in range(by):
            if k == 2:
                break
            self.seen.append(k)
        return self.__hidden, __class__.__name__


class Child(Counter):
    def count(self, by):
        if by < 0:
            return super().count(-by)
        return "child", super().count(by)


def classes(x):
    @dataclasses.dataclass
    class Point:
        a: int
        b: int = 2

        def total(self):
            if self.a > self.b:
                return self.a
            return self.a + self.b

    return Point(x).total(), Point(x, 0).total()


def errors(x):
    assert x != 1, f"x is {x}"
    if x == 2:
        raise ValueError("two")
    try:
        if x == 3:
            raise KeyError
    except KeyError as error:
        raise RuntimeError("three") from error
    try:
        [][x]
    except IndexError:
        raise
    return x


def deletes(x):
    y = [1, 2, 3]
    del y[0]
    z = x
    del z
    try:
        return z  # noqa: F821
    except UnboundLocalError:
        return y


def managed(x):
    import contextlib

    log = []

    @contextlib.contextmanager
    def noting(name):
        log.append(name)
        yield name
        log.append("end " + name)

    for name in ("a", "b", "c"):
        with noting(name) as told, noting("inner"):
            if told == "b":
                break
            log.append(told)
    return log


def frames(y):
    x = 1
    return eval("x + y") + len(vars()) * 0 + ("x" in locals()) + ("SCALE" in globals())


GIVEN = {
    early_returns: [-1, 0, 4, 7, 30],
    exits_of_loops: [0, 2, 12],
    no_value: [0, 1],
    tries: [0, 1, 2, 5],
    runs_generator: [4, 8],
    matching: [{"kind": 1, "z": 2}, [5, 6], [1], 3, "s"],
    inner_functions: [1, 5],
    classes: [1, 5],
    errors: [0, 1, 2, 3, -1],
    deletes: [3],
    managed: [0],
    frames: [2],
}


def named(value):
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("f", "x"), [(f, x) for f, given in GIVEN.items() for x in given], ids=named)
def test_the_same_as_written(f, x):
    same(f, x)


@pytest.mark.parametrize(("a", "b"), [(1, 2), (5, 2), (2, 2), (0, 3)])
def test_expressions(a, b):
    same(expressions, a, b)


def test_loops_over_things():
    same(loops_over_things, [("a", 1), ("b", 2), ("stop", 3), ("c", 4)])


def test_methods_private_names_and_super():
    count = converted(Child.count, OPERATORS)
    assert count(Child(1), 3) == Child(1).count(3) == ("child", (4, "Counter"))
    assert converted(Counter.count, OPERATORS)(Child(1), 4) == (5, "Counter")


def test_lambdas_of_one_line():
    f, g = (lambda v: v + 1 if v else 0), (lambda v: v - 1 if v else 0)
    assert [converted(h, OPERATORS)(5) for h in (f, g)] == [6, 4]
    outer = lambda v: lambda v: v * 2  # noqa: E731
    assert converted(outer, OPERATORS)(0)(4) == 8
    assert converted(outer(0), OPERATORS)(4) == 8


def test_defaults_keywords_and_cells_are_the_functions_own():
    factor = [2]

    def f(x, /, y=3, *args, z, **more):
        return x * factor[0], y, args, z, more

    new = converted(f, OPERATORS)
    assert inspect.signature(new) == inspect.signature(f)
    factor[0] = 7
    assert new(1, 2, 3, z=4, w=5) == f(1, 2, 3, z=4, w=5)
    assert is_converted(new)
    assert not is_converted(f)


def test_functions_without_a_source_are_left_alone():
    namespace = {}
    exec("def f(x):\n    return x + 1", namespace)
    assert converted(namespace["f"], OPERATORS) is None


def test_an_error_shows_the_line_that_was_written():
    with pytest.raises(ValueError, match="two") as caught:
        converted(errors, OPERATORS)(2)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == 'raise ValueError("two")'
    assert last.filename == __file__


class Recording(Operators):
    """Note what is asked."""

    def __init__(self):
        self.asked = []

    def call(self, function, /, *args, **kwargs):
        self.asked.append(("call", getattr(function, "__name__", "")))
        return super().call(function, *args, **kwargs)

    def branch(self, condition, names, later):
        self.asked.append(("branch", names, later))
        return super().branch(condition, names, later)

    def for_(self, iterable, targets, flags, head, names, later):
        self.asked.append(("for", names, later))
        return super().for_(iterable, targets, flags, head, names, later)

    def free(self, name, value):
        self.asked.append(("free", name))
        return super().free(name, value)


def hands_on(x, flag):
    y = 0.0
    unread = 0  # noqa: F841
    for i in range(3):
        y = y + x * i
        local = y * SCALE
        unread = local  # noqa: F841
    if flag:
        z = y
        other = 1  # noqa: F841
    else:
        z = x
    return z


def test_names_that_are_read_later_are_handed_on():
    operators = Recording()
    converted(hands_on, operators)(2.0, True)
    assert ("for", ("y",), ("y",)) in operators.asked
    assert ("branch", ("z",), ("z",)) in operators.asked
    assert {name for kind, name, *_ in operators.asked if kind == "free"} == {"range", "SCALE"}
    assert ("call", "range") in operators.asked


@functools.wraps(hands_on)
def decorated(*args, **kwargs):
    return hands_on(*args, **kwargs)


def test_a_decorated_function_is_its_wrapper():
    same(decorated, 1.0, flag=False)
