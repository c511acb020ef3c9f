"""Loops that index with data: nests where their trips do not depend on each other, and sums in order where they do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, Loop, Scope, walk
from sdgrad.symbolic.expr import free_names, sym

MANY = 700  # trips that are more than a block


def gathered(x, w, idx):
    total = 0.0
    for i in range(idx.shape[0]):
        k = idx[i]
        total += np.sin(x[k]) * w[i]
    return total


def scattered(x, w, idx):
    y = np.zeros_like(x)
    for i in range(idx.shape[0]):
        y[idx[i]] += np.sin(w[i]) * x[idx[i]]
    return np.sum(y * y)


def counted(x, w, idx):
    """Two sums, into elements that the same number chooses."""
    count, weight = np.zeros_like(x), np.ones_like(x)
    for i in range(idx.shape[0]):
        count[idx[i]] += 1.0
        weight[idx[i]] += np.exp(w[i]) * w[i]
    return np.sum(weight * x / (1 + count))


def from_the_end(x, w, idx):
    y = np.zeros_like(x)
    for i in range(idx.shape[0]):
        y[idx[i] - x.shape[0]] += x[-1 - idx[i]] * w[i]
    return np.sum(y * y)


def through_two(x, w, idx):
    y = np.zeros_like(x)
    for i in range(idx.shape[0]):
        k = idx[idx[i]]
        y[k] += w[i] * x[idx[k]]
    return np.sum(y * y)


def binned(x, w, idx):
    y = np.zeros_like(x)
    bins = np.minimum((np.abs(w) * 3).astype(np.int64), x.shape[0] - 1)
    for i in range(idx.shape[0]):
        y[bins[i]] += w[i] * x[idx[i]]
    return np.sum(y * y)


def in_rows(x, w, idx):
    y = np.zeros((x.shape[0], 3))
    for i in range(idx.shape[0]):
        for j in range(3):
            y[idx[i], j] += np.sin(w[i] * (j + 1)) * x[idx[i]]
    return np.sum(y * y)


def that_change(x, w, idx):
    """Places that the loop itself moves on."""
    at = np.minimum(2 * idx, x.shape[0] - 1)
    y = np.zeros_like(x)
    for i in range(idx.shape[0]):
        y[at[i]] += x[at[i]] * w[i]
        at[i] = 0
    return np.sum(y * y) + np.sum(x[at])


def one_after_another(x, w, idx):
    """Each trip reads what an earlier one may have left."""
    y = np.copy(x)
    for i in range(idx.shape[0]):
        y[idx[i]] = np.sin(y[idx[i]]) + w[i]
    return np.sum(y * y)


def assigned(x, w, idx):
    """The last one counts."""
    y = np.copy(x)
    for i in range(idx.shape[0]):
        y[idx[i]] = w[i] * x[i % 5]
    return np.sum(y * y)


def the_last_is_read(x, w, idx):
    k = 0
    total = 0.0
    for i in range(idx.shape[0]):
        k = idx[i]
        total += x[k] * w[i]
    return total * x[k]


FUNCTIONS = (
    gathered, scattered, counted, from_the_end, through_two, binned, in_rows, that_change, one_after_another, assigned,
    the_last_is_read,
)  # fmt: skip
RAISED = (gathered, scattered, counted, from_the_end, through_two, binned, in_rows, that_change)


def arguments(n):
    rng = np.random.default_rng(1)
    return rng.standard_normal(7), rng.standard_normal(n), rng.integers(0, 7, n)


def differences(function, n):
    """Central differences of the plain function."""
    x, w, idx = arguments(n)
    found = []
    for v in (x, w):
        own = np.zeros_like(v)
        for k in range(min(v.size, 40)):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [u.copy() for u in (x, w)]
                moved[0 if v is x else 1][k] += step
                ends.append(function(*moved, idx.copy()))
            own[k] = (ends[0] - ends[1]) / 2e-6
        found.append(own)
    return found


@pytest.mark.parametrize("n", [1, 40, MANY])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradient(function, n):
    n = max(n, 7) if function is through_two else n  # it looks up where its numbers say
    x, w, idx = arguments(n)
    value, gradients = sdgrad.value_and_grad(function, wrt=("x", "w"))(x, w, idx)
    assert value == pytest.approx(function(*arguments(n)), rel=1e-11)
    for ours, theirs in zip(gradients, differences(function, n), strict=True):
        np.testing.assert_allclose(ours[:40], theirs[:40], rtol=1e-5, atol=1e-7 * (1 + np.abs(theirs).max()))


def test_the_gradient_of_jax():
    x, w, idx = arguments(MANY)
    wanted = jax.grad(lambda x, w: jnp.sum(jnp.sin(x[idx]) * w), argnums=(0, 1))(x, w)
    for ours, theirs in zip(sdgrad.grad(gathered, wrt=("x", "w"))(x, w, idx), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


def program_of(function, args=None):
    differentiated = sdgrad.grad(function, wrt=("x", "w"))
    signature, _, _, request = differentiated.question(bind_arguments(function, args or arguments(MANY), {}))
    return optimize(signature.differentiated(request).program)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_loops_are_nests_where_their_trips_do_not_meet(function):
    loops = [n for n in walk(program_of(function).body) if isinstance(n, Loop)]
    assert bool(loops) != (function in RAISED)


def test_what_is_scattered_is_computed_in_blocks():
    """Of the two loops in a block, the one that computes has instances in any order, and the one that adds has not."""
    with sdgrad.config.override(without=("function-reuse",)):  # or the one that computes writes to the gradient's array
        nodes = [*walk(program_of(counted).body)]
    blocks = [n for n in nodes if isinstance(n, Scope) and any(p.name.startswith("block") for p in n.params)]
    assert blocks
    for block in blocks:
        computed, added = block.body
        assert isinstance(computed, Leaf) and isinstance(added, Leaf)
        assert added.sequential and not computed.sequential and block.sequential
        assert not any("exp" in str(i) for i in added.lets)


def rows_of_several(x, w, idx):
    """Whole rows are gathered for several elements of a row: what is added to them walks along rows, too."""
    y = 0.0
    for i in range(idx.shape[0]):
        for j in range(idx.shape[1]):
            y = y + np.sum(np.abs(x[idx[i, j]]) * w[i])
    return y


def test_rows_that_data_choose_are_added_up_as_rows():
    rng = np.random.default_rng(4)
    x, w, idx = rng.standard_normal((30, 8)), rng.standard_normal(50), rng.integers(0, 30, (50, 2))
    value, (gradient, _) = sdgrad.value_and_grad(rows_of_several, wrt=("x", "w"))(x, w, idx)
    assert value == pytest.approx(rows_of_several(x, w, idx), rel=1e-12)
    wanted = np.zeros_like(x)
    np.add.at(wanted, idx.ravel(), np.sign(x[idx.ravel()]) * np.repeat(w, 2)[:, None])
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)
    chosen = [
        n
        for n in walk(program_of(rows_of_several, (x, w, idx)).body)
        if isinstance(n, Leaf) and any(free_names(*s.index) & n.defined for s in n.stores)
    ]
    assert chosen
    for leaf in chosen:
        (store,) = leaf.stores
        assert store.index[-1].has(sym(leaf.params[-1].name)), "the innermost loop walks along rows"
