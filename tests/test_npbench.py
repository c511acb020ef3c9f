"""sdgrad's gradients of NPBench's kernels are JAX's."""

import numpy as np
import pytest
from references import assert_close

import sdgrad
from benchmarks.kernels import ALL, load


@pytest.mark.parametrize("name", ALL)
def test_the_gradient_of_a_kernel_is_that_of_jax(name):
    jax = pytest.importorskip("jax")
    kernel = load(name)

    def args():  # afresh for each: a kernel may write its arguments
        return kernel.inputs(kernel.sizes["small"], np.random.default_rng(3))

    with jax.enable_x64(True):
        both = jax.value_and_grad(kernel.jax_version, argnums=kernel.positions)
        expected, wanted = jax.jit(both, static_argnums=kernel.counts(args()))(*args())
    value, gradients = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)(*args())
    assert_close(value, expected, 1e-10, f"value of {name}")
    for argument, found, reference in zip(kernel.wrt, gradients, wanted, strict=True):
        # Of a complex argument, JAX returns the conjugate.
        assert_close(found, np.conj(reference), 1e-8, f"gradient by {argument} of {name}")
