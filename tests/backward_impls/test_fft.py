"""The adjoint of a Fourier transform: one node, which writes or adds."""

import numpy as np

import sdgrad
from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk


def reversed_calls(f, x):
    """The calls of transforms in the optimized gradient, each as a node, its operand and its result."""
    question = sdgrad.grad(f)
    signature, _, _, request = question.question(bind_arguments(f, (x,), {}))
    program = optimize(differentiate_program(signature.program, request).program)
    calls = [n for n in walk(program.body) if isinstance(n, NodeCall)]
    return [(n.node, n.inputs["_inp"].container, n.outputs["_out"].container) for n in calls]


def once(x):
    return np.sum(np.fft.rfft(x).real ** 2)


def twice(x):
    return np.sum(np.fft.rfft(x).real ** 2) + np.sum(np.fft.fft(x).imag ** 3)


def test_an_adjoint_that_is_zero_is_written():
    (forward, _, _), (backward, _, target) = reversed_calls(once, np.ones(8))
    assert not forward.back and backward.back and forward.half and backward.half
    assert target == "gradient_x"


def test_a_second_contribution_is_added():
    found = reversed_calls(twice, np.ones(8))
    assert len(found) == 4 and sum(target == "gradient_x" for _, _, target in found) == 1
    x = np.random.default_rng(0).standard_normal(8)
    j = np.outer(np.arange(8), np.arange(8)) * (2 * np.pi / 8)
    cosines, sines = np.cos(j), -np.sin(j)
    expected = 2 * cosines[:5].T @ (cosines[:5] @ x) + 3 * sines.T @ (sines @ x) ** 2
    np.testing.assert_allclose(sdgrad.grad(twice)(x), expected, 1e-12, 1e-12)


def in_each_iteration(x, w):
    y, total = 2.0 * x, 0.0
    for i in range(len(w)):
        total = total + np.sum(np.abs(np.fft.fft(y) * w[i]) ** 2)
        y[0] = y[0] * 0.5
    return total


def test_contributions_of_iterations_are_added():
    x, w = np.random.default_rng(0).standard_normal((2, 4))
    scaled = np.cumprod(np.array([1.0, *[0.25] * 3])) * w**2  # of the first element, which is halved
    expected = 2 * 4 * 4 * x * np.array([np.sum(scaled), *[np.sum(w**2)] * 3])
    np.testing.assert_allclose(sdgrad.grad(in_each_iteration)(x, w), expected, 1e-12)
    found = sdgrad.jvp(in_each_iteration, (x, w), (np.ones(4), np.zeros(4)))[1]
    np.testing.assert_allclose(found, np.sum(expected), 1e-12)
