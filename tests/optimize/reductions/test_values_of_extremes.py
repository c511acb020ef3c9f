"""What an extreme is compared with later on has the same bits: no other loop computes it again.

The compiler computes functions of several numbers at once by other code than those of one, so that two loops differ.
It does that with optimization only.
"""

import dace
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from treetext import program, text

import sdgrad
from sdgrad.optimize.reductions.schedule import schedule_accumulations

FUNCTIONS = {
    "all": lambda np, q: np.sum(q) + np.max(q),
    "rows": lambda np, q: np.sum(np.ptp(q, axis=1) * np.mean(q, axis=1)),
    "columns": lambda np, q: np.sum(np.max(q, axis=0)) * np.sum(np.min(q, axis=1)),
    "one of them": lambda np, q: np.sum(np.where(q == np.max(q, axis=1, keepdims=True), q * q, 0.0)),
    "range": lambda np, q: np.sum(((q - np.min(q)) / (np.max(q) - np.min(q))) ** 2),
}


OF = {"exp": lambda np, p: np.exp(p), "power": lambda np, p: np.abs(p) ** 1.3, "sum": lambda np, p: p * p * 0.3 + p}


@pytest.mark.parametrize("of_what", OF)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name, of_what):
    def of(module):
        return lambda p: FUNCTIONS[name](module, OF[of_what](module, p))

    with sdgrad.config.override(optimization_level=3):
        for shape in ((3, 4), (50, 12)):
            p = np.random.default_rng(0).standard_normal(shape)
            value, gradient = sdgrad.value_and_grad(of(np))(p)
            wanted, right = jax.value_and_grad(of(jnp))(p)
            np.testing.assert_allclose(value, wanted, rtol=1e-12)
            np.testing.assert_allclose(gradient, right, rtol=1e-10, atol=1e-12)


def with_extreme_of(value):
    """The nests of a value that is kept, and of an extreme that depends on it."""
    return text(
        schedule_accumulations(
            program(f"""
                argument p: float64[9]
                argument kept: float64[9]
                argument m: float64[1]
                body
                  map i=0:9:
                    v = p[i]
                    e = {value}
                    w = 2 * e
                    m[0] max= w
                    kept[i] = e
            """)
        )
    )


def test_the_loop_of_an_extreme_reads_what_is_kept():
    first, *rest = with_extreme_of("0.3 * v").split("scope:")
    assert "0.3" in first and "kept[i] = e" in first
    assert rest and "e = kept[i]" in rest[0] and "0.3" not in rest[0]


def test_an_extreme_of_a_function_shares_the_loop_that_keeps_it():
    found = with_extreme_of("exp(v)")
    assert found.count("exp") == 1 and "= kept[i]" not in found


def test_sums_read_the_functions_that_are_kept():
    """At places that data decide, the sums have a loop of their own."""
    found = schedule_accumulations(
        program("""
            argument p: float64[9]
            argument places: int64[9]
            argument kept: float64[9]
            argument m: float64[3]
            body
              map i=0:9:
                v = p[i]
                k = places[i]
                e = exp(v)
                m[k] += e
                kept[i] = e
        """)
    )
    assert text(found).count("exp") == 1 and "e = kept[i]" in text(found)


def in_a_map(p):
    out = np.zeros(p.shape[0])
    for i in dace.map[0 : p.shape[0]]:
        q = np.exp(p[i])
        out[i] = np.max(q) * np.sum(q)
    return np.sum(out)


def test_a_map_that_runs_again():
    """The extreme that the adjoint of a map computes again is one of the values on the tape."""

    def of(p):
        q = jnp.exp(p)
        return jnp.sum(jnp.max(q, axis=1) * jnp.sum(q, axis=1))

    with sdgrad.config.override(optimization_level=3):
        p = np.random.default_rng(0).standard_normal((20, 13))
        np.testing.assert_allclose(sdgrad.grad(in_a_map)(p), jax.grad(of)(p), rtol=1e-10)
