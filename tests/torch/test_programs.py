"""What is made of modules: graphs, hooks; and modules that NumPy-style programs call."""

import copy

import dace
import numpy as np
import pytest
import torch
from dace.transformation.passes.simplify import SimplifyPass
from torch import nn

import sdgrad
from sdgrad.errors import ArgumentError, CaptureError, ParseError
from sdgrad.onnx_ops.nodes import ONNXOp

DOUBLE = torch.float64


def wrapped() -> sdgrad.Module:
    torch.manual_seed(0)
    return sdgrad.Module(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double())


def batch(rows: int = 5) -> torch.Tensor:
    return torch.linspace(-1, 1, rows * 4, dtype=DOUBLE).reshape(rows, 4).requires_grad_()


def test_graphs_of_a_module():
    net, x = wrapped(), batch()
    with pytest.raises(ArgumentError, match="nothing was compiled yet"):
        _ = net.sdfg
    with torch.no_grad():
        net(x)
    assert net.forward_sdfg.arrays and net.sdfg.arrays
    with pytest.raises(ArgumentError, match="no backward pass"):
        _ = net.backward_sdfg
    net(x).sum().backward()
    operators = [n for n, _ in net.sdfg.all_nodes_recursive() if isinstance(n, ONNXOp)]
    assert {type(n).__name__ for n in operators} >= {"ONNXTanh"}
    assert any(n.startswith("gradient_") for n in net.backward_sdfg.arrays)
    weights = {p.shape: p.detach() for p in (*net.parameters(), x)}
    assert len(weights) == 5
    order = [weights[torch.Size(net.sdfg.arrays[n].shape)] for n in net.compiled_function.order]
    (result,) = net.compiled_function(*order)
    assert torch.equal(result, net(x)) and not result.requires_grad


def test_hooks_run_in_order_and_may_change_graphs():
    net, x = wrapped(), batch()
    seen = []
    net.append_post_onnx_hook("simplify", lambda graph: SimplifyPass().apply_pass(graph.sdfg, {}))
    net.append_post_onnx_hook("second", lambda graph: seen.append(type(graph.sdfg)))
    net.prepend_post_onnx_hook("first", lambda graph: seen.append("first"))
    net.append_post_autodiff_hook("diff", lambda forward, backward: seen.append((type(forward), type(backward))))
    net.append_post_autodiff_hook("diff", lambda forward, backward: setattr(backward, "name", "renamed"))
    net.append_post_compile_hook("compiled", lambda function: seen.append(len(function.order)))
    net(x).sum().backward()
    assert seen == ["first", dace.SDFG, (dace.SDFG, dace.SDFG), 5]
    assert net.backward_sdfg.name == "renamed"
    right = x.grad.clone()
    x.grad = None
    net.model(x).sum().backward()
    assert torch.allclose(x.grad, right)
    seen.clear()
    net.append_post_compile_hook("late", lambda function: seen.append("late"))
    net(x)
    assert seen[-1] == "late" and len(seen) == 5
    net.reset_sdfg()
    with pytest.raises(ArgumentError, match="nothing was compiled yet"):
        _ = net.sdfg
    with pytest.raises(ArgumentError, match="cannot be called"):
        net.append_post_compile_hook("wrong", 3)


def test_what_a_hook_changes_is_compiled():
    """Not what was compiled for the same module without it; and the graph shows what is computed."""
    net, x = wrapped(), batch()
    right = net(x).detach()
    changed = sdgrad.Module(net.model, verify=False)

    def steeper(forward: dace.SDFG, backward: dace.SDFG) -> None:
        tasklets = [n for n, _ in forward.all_nodes_recursive() if isinstance(n, dace.nodes.Tasklet)]
        (own,) = (t for t in tasklets if "tanh(" in t.code.as_string)
        own.code = dace.properties.CodeBlock(own.code.as_string.replace("tanh(", "1 * sin("), own.language)

    changed.append_post_autodiff_hook("steeper", steeper)
    found = changed(x).detach()
    first, _, last = net.model
    assert torch.allclose(found, last(torch.sin(first(x))))
    assert not torch.allclose(found, right)
    assert torch.equal(wrapped()(x).detach(), right)


@sdgrad.module(backward=True)
class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm, self.factor = nn.Linear(4, 3), nn.BatchNorm1d(3), 2.0

    def forward(self, x, shift=0.0):
        return torch.tanh(self.norm(self.inner(x))) * self.factor + shift


def test_a_decorated_class_has_the_same_surface():
    net = Scaled().double().eval()
    seen = []
    net.append_post_compile_hook("mine", seen.append)
    net(batch())
    assert len(seen) == 1 and isinstance(net.sdfg, dace.SDFG)
    with pytest.raises(AttributeError):
        _ = net.nothing
    other = copy.deepcopy(net)
    other(batch())
    assert len(seen) == 1, "a copy has hooks of its own"


net = Scaled().double().eval()


def loss(A):
    y = net(A)
    return np.sum(y * y)


def wanted(module: nn.Module, A: np.ndarray) -> tuple[float, np.ndarray]:
    x = torch.from_numpy(A).requires_grad_()
    normed = nn.functional.batch_norm(
        module.inner(x), module.norm.running_mean, module.norm.running_var, module.norm.weight, module.norm.bias
    )
    value = (torch.tanh(normed) * module.factor).square().sum()
    value.backward()
    return value.item(), x.grad.numpy()


def check(A: np.ndarray) -> None:
    value, gradient = sdgrad.value_and_grad(loss)(A)
    right, slope = wanted(net, A)
    assert np.isclose(value, right) and np.allclose(gradient, slope)


def test_a_module_inside_of_a_program_follows_its_changes():
    A = batch().detach().numpy().copy()
    check(A)
    net.factor = 3.0
    check(A)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net(torch.from_numpy(A)).sum().backward()
    optimizer.step()
    check(A)
    net.inner = nn.Linear(4, 3).double()
    check(A)
    net.inner.weight = nn.Parameter(torch.randn(3, 4, dtype=DOUBLE))
    check(A)
    first = sdgrad.hvp(loss, (A,), (A,))
    net.factor = 1.0
    second = sdgrad.hvp(loss, (A,), (A,))
    assert np.allclose(first, 9.0 * second), "a derivative of a derivative was kept across the change"
    net.train()
    try:
        with pytest.raises(CaptureError, match=r"running_mean.*\n.*eval"):
            sdgrad.grad(loss)(A)
    finally:
        net.eval()


def test_a_module_inside_of_a_dace_program():
    inner = wrapped()

    @dace.program
    def program(A: dace.float64[5, 4]):
        return np.sum(inner(A))

    A = batch().detach().numpy().copy()
    assert np.isclose(program(A)[0], inner.model(torch.from_numpy(A)).sum().item())


class Pair(nn.Module):
    """Two results; with ``same``, one of them is the argument."""

    def __init__(self, same: bool) -> None:
        super().__init__()
        self.inner, self.same = nn.Linear(4, 4).double(), same

    def forward(self, x, y):
        h = self.inner(x) * y
        return h.sum(0), x if self.same else torch.exp(h)


def test_a_module_with_several_arguments_and_results():
    torch.manual_seed(0)
    pair = sdgrad.Module(Pair(False))

    def program(A, B):
        first, second = pair(A, y=B)
        return np.sum(first * first) + np.sum(second * A)

    x, y = batch(), torch.full((5, 4), 0.3, dtype=DOUBLE, requires_grad=True)
    first, second = pair.model(x, y)
    value = first.square().sum() + (second * x).sum()
    value.backward()
    found, (da, db) = sdgrad.value_and_grad(program, wrt=("A", "B"))(x.detach().numpy(), y.detach().numpy())
    assert np.isclose(found, value.item())
    assert np.allclose(da, x.grad.numpy()) and np.allclose(db, y.grad.numpy())


def test_what_programs_cannot_call():
    alike = sdgrad.Module(Pair(True))
    dropping = sdgrad.Module(nn.Dropout(0.5))
    tables = sdgrad.Module(Table())
    N = dace.symbol("N")

    def drops(A):
        return np.sum(dropping(A))

    def looks_up(A):
        return np.sum(tables(A))

    @dace.program
    def open_sizes(A: dace.float64[N, 4]):
        return np.sum(net(A))

    def argument_back(A):
        first, second = alike(A, A)
        return np.sum(first) + np.sum(second)

    A = batch().detach().numpy().copy()
    with pytest.raises(CaptureError, match="results that are not"):
        sdgrad.grad(argument_back)(A)
    with pytest.raises(CaptureError, match="random numbers"):
        sdgrad.grad(drops)(A)
    with pytest.raises(CaptureError, match="constants of the module"):
        sdgrad.grad(looks_up)(A)
    with pytest.raises(CaptureError, match="sizes that are numbers"):
        open_sizes.to_sdfg()


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(400, dtype=DOUBLE).reshape(100, 4).sin()

    def forward(self, x):
        return x * self.table[: x.shape[0]]


@pytest.mark.parametrize("closure", [{"w": np.arange(4.0)}, {}], ids=["given", "missing"])
def test_arrays_of_the_closure_of_a_graph(closure):
    class Hidden:
        """An object that becomes a graph with an argument of its own."""

        def __sdfg__(self, *args):
            sdfg = dace.SDFG("hidden")
            sdfg.add_array("a", [4], dace.float64)
            sdfg.add_array("w", [4], dace.float64)
            sdfg.add_array("__return", [4], dace.float64)
            state = sdfg.add_state()
            memlets = {"x": dace.Memlet("a[i]"), "y": dace.Memlet("w[i]")}
            state.add_mapped_tasklet(
                "mul", {"i": "0:4"}, memlets, "z = x * y", {"z": dace.Memlet("__return[i]")}, external_edges=True
            )
            sdfg.arg_names = ["a"]
            return sdfg

        def __sdfg_signature__(self):
            return ["a"], []

        def __sdfg_closure__(self, reevaluate=None):
            return closure

    hidden = Hidden()

    def f(a):
        return np.sum(hidden(a))

    if closure:
        assert np.array_equal(sdgrad.grad(f)(np.ones(4)), closure["w"])
        return
    with pytest.raises(ParseError, match="neither an argument nor an array of the closure"):
        sdgrad.grad(f)(np.ones(4))
