"""The C functions of an exported library, as text."""

import textwrap
from types import SimpleNamespace

import dace
import pytest
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.compile.c_export import _declaration, _definition

N = dace.symbol("n")


def library(dtype=dace.float64):
    arguments = {
        "x": dt.Array(dtype, [N]),
        "gradient_x": dt.Array(dace.float64, [N]),
        "seed": dt.Array(dace.float64, [1]),
        "n": dt.Scalar(dace.int64),
    }
    return SimpleNamespace(name="f", arguments=arguments, initial=["n"])


GIVEN = (["x"], {"gradient_x": "grad_x"}, "seed")


def test_a_declaration_has_the_shapes():
    notes = {"x": "positive\n1: or it fails"}
    assert _declaration("grad", library(), *GIVEN, notes) == textwrap.dedent("""\
        /*
         *   x: float64[n], positive
         *     1: or it fails
         *   n: int64
         *   grad_x: float64[n], written
         */
        void grad(double *x, int64_t n, double *grad_x);""")


def test_a_definition_clears_results_and_seeds_the_program():
    assert _definition("grad", library(), *GIVEN) == textwrap.dedent("""\
        void *__dace_init_f(int64_t n);
        void __program_f(void *, double *x, double *gradient_x, double *seed, int64_t n);
        void grad(double *x, int64_t n, double *grad_x) {
            static void *state = __dace_init_f(n);
            double one = 1;
            for (int64_t k = 0; k < n; ++k) grad_x[k] = 0;
            __program_f(state, x, grad_x, &one, n);
        }""")


def test_types_that_c_lacks_are_refused():
    with pytest.raises(ArgumentError, match="'x' is float16"):
        _declaration("grad", library(dace.float16), *GIVEN, {})
