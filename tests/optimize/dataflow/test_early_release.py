"""Nodes move up to where large arrays die, unless something is in the way."""

from dataclasses import replace

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.memory.footprint import Footprint
from sdgrad.optimize import optimize
from sdgrad.optimize.dataflow.early_release import release_early
from sdgrad.program.tree import reads, writes

N = 80  # squares of it are large enough
NAMES = tuple("ATUVW")
APART = ("early-release", "buffer-sharing")


def layers(A, T, U, V, W):
    B = np.tanh(A @ T)
    C = np.tanh(B @ U)
    D = np.tanh(C @ V)
    E = np.tanh(D @ W)
    return np.sum(E * E)


def overwritten(A, T, U, V, W):
    """What is read last is read behind a write of what it is multiplied by, and in front of another one."""
    S = np.sin(A @ T)
    B = np.cos(A @ U)
    C = B @ A
    B[:] = C @ V
    D = np.exp(C @ B)
    E = S @ B
    B[:] = D @ W
    return np.sum(E @ C) + np.sum(B @ D)


def arguments():
    return tuple(np.random.default_rng(0).standard_normal((5, N, N)) / N)


def apart(function):
    """The program of a gradient, as if there were no early release."""
    differentiated = sdgrad.value_and_grad(function, wrt=NAMES)
    signature, _, _, request = differentiated.question(bind_arguments(function, arguments(), {}))
    with config.override(without=APART):
        return optimize(signature.differentiated(request).program)


def meets(first, second, program):
    """True if two nodes may not be exchanged."""
    made, used = ({program.root(n) for n in found(first)} for found in (writes, reads))
    read, written = ({program.root(n) for n in found(second)} for found in (reads, writes))
    return bool(made & (read | written) or used & written)


def late(program):
    """The program with each node that makes a result as late as what it depends on allows."""
    waiting, order = [], []
    for node in program.body:
        behind = [n for n in waiting if meets(n, node, program)]
        order += behind
        waiting = [n for n in waiting if n not in behind]
        makes_a_result = writes(node) & set(program.arguments)
        (waiting if makes_a_result and not behind else order).append(node)
    return replace(program, body=(*order, *waiting))


def test_layers_die_one_by_one():
    program = late(apart(layers))
    early = release_early(program)
    assert sorted(map(id, early.body)) == sorted(map(id, program.body))
    assert Footprint.of(early).peak < 0.85 * Footprint.of(program).peak
    assert release_early(early) is early


@pytest.mark.parametrize("function", [layers, overwritten])
def test_what_depends_on_each_other_stays_in_order(function):
    program = late(apart(function))
    early = release_early(program)
    place = {id(node): k for k, node in enumerate(early.body)}
    for k, second in enumerate(program.body):
        for first in program.body[:k]:
            assert not meets(first, second, program) or place[id(first)] < place[id(second)]


@pytest.mark.parametrize("function", [layers, overwritten])
def test_results_are_the_same_to_the_bit(function):
    value, gradients = sdgrad.value_and_grad(function, wrt=NAMES)(*arguments())
    with config.override(without=APART):
        again, others = sdgrad.value_and_grad(function, wrt=NAMES)(*arguments())
    assert value == again and all(np.array_equal(a, b) for a, b in zip(gradients, others, strict=True))
    np.testing.assert_allclose(value, function(*arguments()), rtol=1e-12)
