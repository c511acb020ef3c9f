"""Iterators, files and queues that a function takes something of: what comes next is another item at each call."""

import csv
import io
import itertools
import queue

import numpy as np
import pytest

import sdgrad

X = np.ones(3)
LINES = ["1.0\n", "2.0\n", "3.0\n"]


def generator():
    while True:
        yield 2.0


class Batches:
    """An iterator of the user's."""

    def __init__(self, inner=None):
        self.k, self.inner = 0.0, inner

    def __iter__(self):
        return self

    def __next__(self):
        if self.inner is not None:
            return next(self.inner)
        self.k += 1.0
        return self.k


def filled():
    found = queue.Queue()
    found.put(2.0)
    return found


TAKEN = {
    "next": (lambda: iter([1.0, 2.0]), lambda x, it: np.sum(x) * next(it)),
    "next, or else": (lambda: iter([1.0, 2.0]), lambda x, it: np.sum(x) * next(it, 3.0)),
    "generator": (generator, lambda x, it: np.sum(x) * next(it)),
    "send": (generator, lambda x, it: np.sum(x) * it.send(None)),
    "array": (lambda: iter(np.arange(3.0)), lambda x, it: np.sum(x) * next(it)),
    "zip": (lambda: iter([1.0, 2.0]), lambda x, it: sum(np.sum(x) * a for a, _ in zip(it, [0], strict=False))),
    "islice": (lambda: itertools.cycle([1.0, 2.0]), lambda x, it: np.sum(x) * sum(itertools.islice(it, 1))),
    "list": (lambda: map(float, "12"), lambda x, it: np.sum(x) * list(it)[0]),
    "for": (lambda: iter([1.0, 2.0]), lambda x, it: sum([np.sum(x) * v for v in it])),
    "readline": (lambda: io.StringIO("".join(LINES)), lambda x, it: np.sum(x) * float(it.readline())),
    "csv": (lambda: csv.reader(LINES), lambda x, it: np.sum(x) * float(next(it)[0])),
    "queue": (filled, lambda x, it: np.sum(x) * it.get()),
    "inside of another": (lambda: Batches(iter([1.0, 2.0])), lambda x, it: np.sum(x) * next(it)),
}


@pytest.mark.parametrize("case", TAKEN)
def test_what_comes_next_is_refused(case):
    make, f = TAKEN[case]
    it = make()
    with pytest.raises(sdgrad.errors.SdgradError, match="from outside of the function is something else at each call"):
        sdgrad.grad(lambda x: f(x, it))(X)
    np.sum(f(X, it))  # nothing was taken: there is something left for Python


def test_iterators_of_users_go_on():
    batches = Batches()
    gradient = sdgrad.grad(lambda x: np.sum(x) * next(batches))
    assert [gradient(X)[0] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_counters_go_on():
    counter = itertools.count(1)

    def f(x):
        names = {f"part {next(counter)}": x}
        total = sum(np.sum(v) for v in names.values())
        for _ in range(30):  # recorded, and written out when it turns out that trips draw
            total = total + np.sum(np.sin(x)) * next(counter)
        return total * next(counter)

    gradient = sdgrad.value_and_grad(f)
    found = [gradient(X) for _ in range(2)]
    assert next(counter) == 65
    for k, (value, slope) in enumerate(found):
        numbers = np.arange(1, 33) + 32 * k
        counted, last = numbers[1:-1].sum(), numbers[-1]
        np.testing.assert_allclose(value, (3.0 + 3 * np.sin(1.0) * counted) * last)
        np.testing.assert_allclose(slope, (1.0 + np.cos(1.0) * counted) * last)


def test_those_made_inside_are_python():
    def f(x):
        numbers, lines = iter([2.0, 3.0]), io.StringIO("4.0\n")
        counter, inner = itertools.count(5), queue.Queue()
        inner.put(6.0)
        return np.sum(x) * next(numbers) * next(numbers) * float(lines.readline()) * next(counter) * inner.get()

    gradient = sdgrad.grad(f)
    assert [gradient(X)[0] for _ in range(2)] == [720.0] * 2


def test_to_look_at_one_takes_nothing(capsys):
    it = iter([1.0])

    def f(x):
        print(isinstance(it, list), hasattr(it, "send"))
        return np.sum(x) * (2.0 if it is not None else 3.0)

    assert sdgrad.grad(f)(X)[0] == 2.0
    assert next(it) == 1.0
