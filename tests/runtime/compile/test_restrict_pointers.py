"""Generated code that reads the pointers of its state once."""

import numpy as np

import sdgrad
from sdgrad.runtime.compile.restrict_pointers import local_pointers

CODE = """struct f_state_t {
    double * __restrict__ __0_x;
    int8_t * __restrict__ __0_tape;
    double * __restrict__ __0_made;
    int calls;
};

void helper(f_state_t *__state)
{
    __state->__0_x[0] = 1.0;
}

void __program_f_internal(f_state_t*__state, double * __restrict__ y)
{
    __state->__0_made = new double[3];
    for (int i = 0; i < 3; i += 1) {
        __state->__0_tape[i] = __state->__0_x[i] < y[i];
        __state->__0_made[i] = __state->calls;
    }
}
"""
LOCAL = """void __program_f_internal(f_state_t*__state, double * __restrict__ y)
{
    int8_t * const __0_tape = __state->__0_tape;
    double * const __0_x = __state->__0_x;
    __state->__0_made = new double[3];
    for (int i = 0; i < 3; i += 1) {
        __0_tape[i] = __0_x[i] < y[i];
        __state->__0_made[i] = __state->calls;
    }
}
"""


def test_what_is_local():
    """Arrays of the state that the function does not make itself; no numbers, and nothing of other functions."""
    start = CODE.index("void __program")
    assert local_pointers(CODE) == CODE[:start] + LOCAL


def test_code_without_a_state_stays():
    assert local_pointers(CODE[CODE.index("void helper") :]) == CODE[CODE.index("void helper") :]


def capped(x):
    for _ in range(30):
        x[:] = np.minimum(1.01 * x, 2.0)
    return np.sum(x)


def test_bytes_are_kept_in_memory_of_the_state():
    """Large enough that its tape is allocated once; values at the bound have no derivative."""
    x = np.linspace(0.5, 2.5, 3000)
    gradient = sdgrad.grad(capped)(x.copy())
    moved = [capped(x.copy() + s) for s in (1e-7, -1e-7)]
    assert np.isclose(np.sum(gradient), (moved[0] - moved[1]) / 2e-7, rtol=1e-6)
    np.testing.assert_allclose(gradient[x < 1.4], 1.01**30, rtol=1e-12)
    assert not gradient[x > 2.0].any()
