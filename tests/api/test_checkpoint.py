"""``checkpoint``: the same derivatives, and values that are computed again instead of kept."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk
from sdgrad.specialize.arguments import Call
from sdgrad.testing import check_grads

POLICIES = ("nothing", "dots", ["sums"], "everything")
RNG = np.random.default_rng(0)


def body(y, p):
    h = np.tanh(sdgrad.checkpoint_name(y @ p["w"], "sums"))
    return h * np.sin(y) + p["b"], np.sum(h)


def network(layer):
    """A chain of layers."""

    def f(x, ps):
        total = 0.0
        for p in ps:
            x, part = layer(x, p)
            total = total + part
        return np.sum(x * x) + total

    return f


def parameters(n, layers):
    rng = np.random.default_rng(1)
    return rng.random((n, n)), [{"w": 0.3 * rng.random((n, n)), "b": rng.random(n)} for _ in range(layers)]


def flat(nest):
    return [nest["w"], nest["b"]] if isinstance(nest, dict) else [nest]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_nests(policy):
    x, ps = parameters(4, 2)
    f, plain = network(sdgrad.checkpoint(body, policy=policy)), network(body)
    value, (dx, dps) = sdgrad.value_and_grad(f, wrt=("x", "ps"))(x, ps)
    wanted, (wx, wps) = sdgrad.value_and_grad(plain, wrt=("x", "ps"))(x, ps)
    assert value == wanted
    assert f(x, ps) == plain(x, ps)
    for a, b in zip([dx, *(v for p in dps for v in flat(p))], [wx, *(v for p in wps for v in flat(p))], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    check_grads(f, (x, ps), wrt=("x", "ps"), order=2, modes=("fwd", "rev"))


def products(policy):
    """How many products of matrices a gradient computes."""
    x, ps = parameters(40, 3)
    f = network(sdgrad.checkpoint(body, policy=policy))
    call = Call.of(f, (x, ps), {})
    signature, _, _, request = sdgrad.grad(f, wrt=("x", "ps")).of_leaves(call).question(call.arguments)
    nodes = [*walk(optimize(signature.differentiated(request).program).body)]
    return sum(isinstance(n, NodeCall) and "MatMul" in n.kind for n in nodes)


def test_what_is_computed_again():
    once = products("everything")
    assert products("nothing") == once + 3  # layers
    assert products("dots") == products(["sums"]) == once


def chain(block):
    def f(x, w):
        for _ in range(24):
            x = block(x, w)
        return np.sum(x)

    return f


def block(x, w):
    """Three products on its way, and one array in the end."""
    for _ in range(3):
        x = np.tanh(x @ w)
    return x


def test_less_memory():
    """Of all blocks one is there at a time, beside the arrays between them."""
    args = RNG.random((60, 60)), 0.1 * RNG.random((60, 60))
    whole, less = (sdgrad.explain(chain(b), *args).memory for b in (block, sdgrad.checkpoint(block)))
    assert max(less.live) < 0.6 * max(whole.live)
    wanted, found = (sdgrad.grad(chain(b))(*args) for b in (block, sdgrad.checkpoint(block)))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_is_read_from_outside():
    def f(x, w):
        z = np.sin(x) * w
        own = sdgrad.checkpoint(lambda y: np.exp(-y * z) * w.sum())
        for _ in range(4):
            x = x + own(x) * 0.1
        return np.sum(x)

    check_grads(f, (RNG.random(5), RNG.random(5)), wrt=("x", "w"), order=2, modes=("fwd", "rev"))


def test_loops_branches_and_integers():
    @sdgrad.checkpoint(policy="nothing")
    def inner(x, n, index):
        y = x[index]
        while np.sum(y * y) > 0.5:
            y = 0.8 * np.sin(y)
        for k in range(n):
            y = y * 1.1 if y[0] > 0.1 else y + 0.2 * k
        return y * n, n

    def f(x):
        y, n = inner(x, 3, np.array([2, 0, 1, 1]))
        return np.sum(y * y) * n

    check_grads(f, (RNG.random(3) + 0.5,), order=2, modes=("fwd", "rev"))


def test_other_doors():
    f = sdgrad.checkpoint(lambda x: np.sum(np.sin(x) ** 3))
    x = RNG.random(4)
    wanted = 3 * np.sin(x) ** 2 * np.cos(x)
    np.testing.assert_allclose(sdgrad.grad(f)(x), wanted, rtol=1e-13)
    np.testing.assert_allclose(sdgrad.vjp(f, x)[1](1.0)[0], wanted, rtol=1e-13)
    np.testing.assert_allclose(sdgrad.vmap(sdgrad.grad(f))(np.stack([x, x + 1]))[0], wanted, rtol=1e-13)
    second = 6 * np.sin(x) * np.cos(x) ** 2 - 3 * np.sin(x) ** 3
    np.testing.assert_allclose(sdgrad.hessian(f)(x), np.diag(second), rtol=1e-12, atol=1e-13)
    inside = sdgrad.grad(lambda x: np.sum(sdgrad.grad(f)(x) * 2.0))
    np.testing.assert_allclose(inside(x), 2 * second, rtol=1e-12)
    assert f(x) == np.sum(np.sin(x) ** 3)


def test_it_is_the_same_function():
    @sdgrad.checkpoint
    def named(x, scale=2.0):
        """Scale."""
        return x * scale

    assert (named.__name__, named.__doc__) == ("named", "Scale.")
    assert np.array_equal(sdgrad.grad(lambda x: np.sum(named(x, scale=3.0) + named(x)))(np.ones(2)), [5.0, 5.0])
    assert sdgrad.checkpoint_name(3.0, "three") == 3.0


def test_checks_are_made_once_and_at_the_call():
    @sdgrad.checkpoint
    def guarded(x):
        if x[0] > 2.0:
            raise ValueError("too large")
        return np.sin(x)

    g = sdgrad.grad(lambda x: np.sum(guarded(x)))
    np.testing.assert_allclose(g(np.ones(2)), np.cos(np.ones(2)))
    with pytest.raises(ValueError, match="too large"):
        g(3 * np.ones(2))


def test_parts_of_arrays_are_arguments():
    """Rows, transposes and windows that a loop moves: layers whose weights are in one array."""
    for policy in ("nothing", "dots"):
        layer = sdgrad.checkpoint(lambda x, w: np.tanh(w @ x), policy=policy)

        def stacked(ws, x, layer=layer):
            for k in range(3):
                x = layer(x, ws[k])
            for w in ws[1:]:
                x = layer(x[::-1], w.T)
            return np.sum(x)

        check_grads(stacked, (0.4 * RNG.random((3, 3, 3)), RNG.random(3)), wrt=(0, 1))


class Model:
    def __init__(self):
        self.scale = np.ones(3)

    @sdgrad.checkpoint
    def layer(self, x):
        return np.sin(x) * self.scale

    def loss(self, x):
        return np.sum(self.layer(self.layer(x)))


def test_methods_and_what_is_bound_anew():
    """An array that takes the place of another one outside is read at the next call; it was not."""
    model, x = Model(), RNG.random(3)
    g = sdgrad.value_and_grad(model.loss)
    for factor in (1.0, 3.0):
        model.scale = model.scale * factor
        value, gradient = g(x)
        assert value == pytest.approx(model.loss(x), rel=1e-14)
        inner = np.sin(x) * model.scale
        np.testing.assert_allclose(gradient, np.cos(inner) * model.scale * np.cos(x) * model.scale, rtol=1e-13)


def writes(x):
    x[0] = 0.0
    return x * 2


def no_products(x):
    return np.sin(x)


def calls(g):
    """The gradient of a function that calls another one with a list."""
    return lambda: sdgrad.grad(lambda x: np.sum(sdgrad.checkpoint(g)([x * 1.0, x * 2.0])))(np.ones(3))


def changes(arrays):
    arrays[0] = arrays[0] * 2
    return arrays[0] + arrays[1]


def binds(x):
    total = 0.0

    @sdgrad.checkpoint
    def inner(y):
        nonlocal total
        total = total + np.sum(y)
        return np.sin(y)

    if x[0] > 1.0:
        x = inner(x)
    return np.sum(x) * (1 + total)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sdgrad.checkpoint(np.sin, policy="dot"), "policy is 'nothing', 'everything', 'dots', or a list"),
        (lambda: sdgrad.checkpoint(3), "takes a function, not int"),
        (lambda: sdgrad.grad(lambda x: np.sum(sdgrad.checkpoint(writes)(x)))(np.ones(2)), "writes x"),
        (calls(lambda arrays: arrays[1][1:]), "returns an array that it is given, or a part of one.*a copy"),
        (calls(changes), "'changes' changes a list or a dict"),
        (lambda: sdgrad.grad(binds)(np.ones(2)), "'inner' binds a name of a function around it"),
        (lambda: sdgrad.checkpoint(np.sin, policy=3), "policy is .*, or a list of names, not 3"),
        (lambda: sdgrad.checkpoint(np.sin, policy=[3]), r"or a list of names, not \[3\]"),
        (
            lambda: sdgrad.grad(lambda x: np.sum(sdgrad.checkpoint(no_products, policy=["a"])(x)))(np.ones(2)),
            "no value named a to keep",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("policy", ["dots", [], ()])
def test_policies_with_nothing_to_keep(policy):
    x = np.array([0.3, 1.2])
    found = sdgrad.grad(lambda x: np.sum(sdgrad.checkpoint(lambda y: np.sin(np.sin(y)), policy=policy)(x)))(x)
    np.testing.assert_allclose(found, np.cos(np.sin(x)) * np.cos(x), rtol=1e-14)
