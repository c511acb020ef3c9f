"""What each use changes, random generators and iterators: every trip draws for itself, an arm does not draw."""

import itertools
import random

import numpy as np
import pytest
from python.check import Programs, X, check, name_of

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.program.tree import Loop, walk

program = Programs()


@program
def generator_of_numpy(x):
    rng = np.random.default_rng(0)
    s = 0.0
    for k in range(4):
        s = s + x[k] * rng.normal()
    return s


@program
def seeded_numbers(x):
    np.random.seed(0)
    s = 0.0
    for k in range(4):
        s = s + x[k] * np.random.rand()
    return s


@program
def generator_of_python(x):
    own = random.Random(3)
    s = 0.0
    for k in range(4):
        s = s + x[k] * own.random()
    return s


@program
def counter(x):
    numbers = itertools.count(1)
    s = 0.0
    for k in range(4):
        s = s + x[k] * next(numbers)
    return s


@program
def generator(x):
    def powers():
        v = 1.0
        while True:
            yield v
            v = v * 2

    numbers = powers()
    s = 0.0
    for k in range(4):
        s = s + x[k] * next(numbers)
    return s


class Noise:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def draw(self, n):
        return self.rng.normal(size=n)


@program
def generator_of_an_object_in_two_loops(x):
    noise = Noise()
    s = 0.0
    for _ in range(2):
        for k in range(3):
            s = s + np.sum(x * noise.draw(4)) * k
        x = x * 0.9
    return s


@program
def iterator_that_loops_share(x):
    numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    s = 0.0
    for k in range(3):
        for u, v in zip(numbers, [0.1, 0.2], strict=False):
            s = s + u * v * x[k]
    return s


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X)


def test_what_a_trip_makes_itself_is_recorded():
    def own(x):
        s = 0.0
        for k in range(3):
            s = s + sum(v * v for v in (x[0], x[k])) + next(iter([1.0, 2.0])) * np.random.default_rng(3).normal()
        return s

    check(own, X)
    assert [n for n in walk(sdgrad.trace(own, X).program.body) if isinstance(n, Loop)]


def test_an_arm_that_data_decide_draws_nothing():
    def arm(x):
        rng = np.random.default_rng(0)
        s = 0.0
        if x[0] > 0:
            s = s + rng.normal()
        return (s + rng.normal()) * x[1]

    with pytest.raises(ParseError, match="drawn in an arm of the condition in line"):
        sdgrad.compile_forward(arm)(X)
