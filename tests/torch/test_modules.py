"""Modules of PyTorch on generated code, compared with themselves in eager mode."""

import copy
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fresh_cache import without_programs
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils import _pytree as pytree
from torch_zoo import ZOO

import sdgrad
from sdgrad.errors import ArgumentError, CaptureError
from sdgrad.torch.watch import STATE

pytestmark = pytest.mark.filterwarnings("ignore")
TOLERANCE = {torch.float64: 1e-9, torch.float32: 3e-4}


@pytest.fixture(autouse=True)
def quickly_compiled():
    """What is tested here is which graphs are made; how fast they run is not."""
    with sdgrad.config.override(optimization_level=0):
        yield


def converted(arguments, dtype):
    """Arguments in a type, as leaves that want gradients."""

    def convert(x):
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            return x.detach().to(dtype, copy=True).requires_grad_()
        return x

    return pytree.tree_map(convert, arguments)


def close(found, wanted, dtype):
    scale = 1 + wanted.detach().abs().max().item() if wanted.numel() else 1
    torch.testing.assert_close(found, wanted, rtol=0, atol=TOLERANCE[dtype] * scale)


def compare(module, arguments, dtype=torch.float64, wrap=sdgrad.Module):
    """Results, gradients of weights and inputs, and buffers, of a module and of a copy in eager mode."""
    own = module.to(dtype)
    eager = copy.deepcopy(own)
    given, known = converted(arguments, dtype), converted(arguments, dtype)
    torch.manual_seed(3)
    found = wrap(own)(*given)
    torch.manual_seed(3)
    wanted = eager(*known)
    leaves, structure = pytree.tree_flatten(found)
    expected, other = pytree.tree_flatten(wanted)
    assert structure == other
    total = [0.0, 0.0]
    for mine, right in zip(leaves, expected, strict=True):
        if not isinstance(right, torch.Tensor):
            assert mine == right
        elif right.is_floating_point():
            assert mine.dtype == right.dtype
            close(mine, right, dtype)
            seed = torch.randn(right.shape, dtype=torch.float64).to(dtype)
            total = [total[0] + (mine * seed).sum(), total[1] + (right * seed).sum()]
        else:
            assert torch.equal(mine, right)
    for t in total:
        t.backward()
    mine_of_all = [*own.parameters(), *pytree.tree_leaves(given)]
    for mine, right in zip(mine_of_all, [*eager.parameters(), *pytree.tree_leaves(known)], strict=True):
        if isinstance(right, torch.Tensor) and right.requires_grad:
            assert (mine.grad is None) == (right.grad is None)
            if right.grad is not None:
                close(mine.grad, right.grad, dtype)
    for mine, right in zip(own.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(mine, right, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", ZOO)
def test_module(name, dtype):
    torch.manual_seed(0)
    compare(*ZOO[name](), dtype=dtype)


@sdgrad.module(backward=True)
class Net(nn.Module):
    """A decorated class, at the top of a file so that it can be pickled."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.fc1, self.drop, self.fc2 = nn.Linear(4, width), nn.Dropout(0.5), nn.Linear(width, 3)

    def forward(self, x):
        return self.fc2(self.drop(torch.tanh(self.fc1(x))))


def by_hand(net, x):
    return net.fc2(F.dropout(torch.tanh(net.fc1(x)), 0.5, net.training))


def test_a_decorated_class_stays_a_class():
    torch.manual_seed(0)
    net, x = Net(), torch.randn(5, 4)
    assert type(net) is Net and Net.__name__ == "Net" and net.model is net
    for training in (False, True, False):
        net.train(training)
        torch.manual_seed(1)
        found = net(x)
        torch.manual_seed(1)
        close(found, by_hand(net, x), torch.float32)
    net(x).sum().backward()
    assert net.model.fc1.weight.grad is net.fc1.weight.grad is not None
    content = io.BytesIO()
    torch.save(net, content)
    content.seek(0)
    twin, other = torch.load(content, weights_only=False), copy.deepcopy(net)
    other.fc1.weight.data.zero_()
    assert torch.equal(twin(x), net(x)) and not torch.equal(other(x), net(x))

    class Derived(Net):
        def __init__(self):
            super().__init__(8)
            self.last = nn.Linear(3, 1)

        def forward(self, x):
            return self.last(super().forward(x))

    derived = Derived().eval()
    close(derived(x), derived.last(by_hand(derived, x)), torch.float32)


def test_changes_are_noticed():
    """Batch size, mode, types, attributes, hooks and submodules."""
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(5, 4)
    for y in (x, x[:2], x.T[:, :4].T):
        close(net(y), by_hand(net, y), torch.float32)
    net.fc2 = nn.Linear(6, 2)
    close(net(x), by_hand(net, x), torch.float32)
    net.double()
    close(net(x.double()), by_hand(net, x.double()), torch.float64)
    net.float()
    handle = net.fc1.register_forward_hook(lambda m, i, o: o * 2)
    assert torch.allclose(net(x), net.fc2(torch.tanh(net.fc1(x))))
    handle.remove()
    net.fc1.weight = nn.Parameter(torch.zeros(6, 4))
    close(net(x), by_hand(net, x), torch.float32)

    class Scaled(nn.Module):
        factor = 2.0

        def forward(self, x):
            return x * self.factor

    scaled = Scaled()
    wrapped = sdgrad.Module(scaled)
    assert torch.equal(wrapped(x), 2 * x)
    scaled.factor = 3.0
    assert torch.equal(wrapped(x), 3 * x)


def test_everyday_use():
    """Optimizers, clipping, accumulation, frozen weights, hooks, several calls before backward, retained graphs."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    eager, x = copy.deepcopy(net), torch.randn(5, 4)
    wrapped = sdgrad.Module(net)
    pairs = [(f, torch.optim.Adam(f.parameters(), 1e-2)) for f in (wrapped, eager)]
    for step in range(6):
        for f, optimizer in pairs:
            optimizer.zero_grad()
            (f(x) ** 2).mean().backward()
            (f(2 * x) ** 2).mean().backward()
            nn.utils.clip_grad_norm_(f.parameters(), 1.0)
            optimizer.step()
    for mine, right in zip(net.parameters(), eager.parameters(), strict=True):
        close(mine, right, torch.float32)
    a, b = wrapped(x), wrapped(2 * x)
    a.sum().backward(retain_graph=True)
    a.sum().backward()
    b.sum().backward()
    seen = []
    net[0].weight.register_hook(lambda g: seen.append(g.shape))
    handle = wrapped.register_forward_hook(lambda m, i, o: seen.append(o.shape))
    net[2].weight.requires_grad_(False)
    net.zero_grad()
    wrapped(x).sum().backward()
    handle.remove()
    assert seen == [(5, 1), (4, 4)]
    assert net[2].weight.grad is None and net[2].bias.grad is not None
    with torch.no_grad():
        assert not wrapped(x).requires_grad
    assert not sdgrad.Module(net, backward=False)(x).requires_grad
    assert list(wrapped.state_dict()) == list(net.state_dict())
    wrapped.load_state_dict(eager.state_dict())
    close(wrapped(x), eager(x), torch.float32)
    outer = nn.Sequential(sdgrad.Module(net), nn.Linear(1, 1))
    twin = nn.Sequential(net, outer[1])
    twin.load_state_dict(outer.state_dict())
    outer.load_state_dict(twin.state_dict())


class Partly(nn.Module):
    """Weights that no result depends on, or only one of two, or only as a constant or by a comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.first, self.second, self.constant, self.compared, self.shape, self.unused = (
            nn.Parameter(torch.randn(3)) for _ in range(7)
        )

    def forward(self, x):
        y = x * self.both + self.constant.detach() + torch.zeros_like(self.shape)
        return y * self.first, torch.where(self.compared > 0, y, 2 * y) * self.second, (x * x).detach() * 2


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("double", [False, True])
def test_what_a_result_does_not_depend_on_has_no_gradient(used, double):
    """None, and not zero: optimizers skip it."""
    net = Partly().double()
    eager, x = copy.deepcopy(net), torch.randn(4, 3, dtype=torch.float64)
    for module, call in ((net, sdgrad.Module(net)), (eager, eager)):
        results = call(x)
        assert [r.requires_grad for r in results] == [True, True, False]
        loss = sum((results[k] ** 2).sum() for k in used)
        names = [n for n, _ in module.named_parameters()]
        found = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True, create_graph=double)
        module.found = dict(zip(names, found, strict=True))
    for name, right in eager.found.items():
        mine = net.found[name]
        assert (mine is None) == (right is None), name
        if right is not None:
            close(mine, right, torch.float64)
    assert [n for n, g in net.found.items() if g is None][-4:] == ["constant", "compared", "shape", "unused"]


def test_writes_after_a_call_are_found():
    """What backward needs of a result or an argument must not have changed, as in eager mode."""
    x = torch.randn(3, 4, requires_grad=True)
    wrapped = sdgrad.Module(ZOO["autoencoder"]()[0])
    y = wrapped(given := torch.randn(5, 12))
    with torch.no_grad():
        given.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    result = sdgrad.Module(nn.Sequential(nn.Sigmoid()))(x)
    result.add_(1)
    try:
        result.sum().backward()  # right where backward does not need the result
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        close(x.grad, torch.sigmoid(x) * (1 - torch.sigmoid(x)), torch.float32)


def test_second_derivatives():
    """A gradient penalty."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    x = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)

    def penalty(f):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return torch.autograd.grad(((g.norm(dim=1) - 1) ** 2).mean(), list(net.parameters())[:3])

    for mine, right in zip(penalty(sdgrad.Module(net)), penalty(net), strict=True):
        close(mine, right, torch.float64)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


def counted(self, x):
    self.calls = getattr(self, "calls", 0) + 1
    return x * self.calls


REFUSED = {
    "a branch on data": (lambda self, x: x * 2 if x.sum() > 0 else x, "depends on the content of a tensor"),
    "a backward of its own": (lambda self, x: Straight.apply(x), "torch.autograd.Function 'Straight'"),
    "a write of its argument": (lambda self, x: x.add_(1), "arguments and weights are not written in place"),
    "a counter": (counted, "a call that sets an attribute"),
    "no rule": (lambda self, x: torch.linalg.householder_product(x, x[0]), "householder"),
    "Python's numbers": (lambda self, x: x * __import__("random").random(), "Python's random numbers"),
    "a size of data": (lambda self, x: x[x > 0], "."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    forward, message = REFUSED[case]
    refused = type("Refused", (nn.Module,), {"forward": forward})()
    with pytest.raises(CaptureError, match=message) as error:
        sdgrad.Module(refused)(torch.randn(5, 4))
    assert "Refused" in str(error.value) or "Straight" in str(error.value)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="expected a torch.nn.Module, got function"):
        sdgrad.Module(lambda x: x)
    with pytest.raises(ArgumentError, match="decorates a class"):
        sdgrad.module(lambda x: x)
    wrapped = sdgrad.Module(nn.Linear(4, 2))
    for wrong in ((torch.randn(5, 3),), (torch.randn(5, 4).double(),)):
        with pytest.raises(RuntimeError):
            wrapped(*wrong)
    with pytest.raises(CaptureError, match="bfloat16"):
        sdgrad.Module(nn.Linear(4, 2).bfloat16())(torch.randn(5, 4).bfloat16())
    with pytest.raises(CaptureError, match="autocast"), torch.autocast("cpu"):
        wrapped(torch.randn(5, 4))
    inner = nn.Sequential(nn.Linear(4, 2))
    inner[0].register_full_backward_hook(lambda m, i, o: None)
    with pytest.raises(CaptureError, match="backward hooks"):
        sdgrad.Module(inner)(torch.randn(5, 4))


class Spectral(nn.Module):
    """An operation without a rule between others."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.b(h) * torch.linalg.householder_product(h, h[0])


class Branching(nn.Module):
    """A module that cannot be traced, of some that can."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x)
        return self.b(h) if h.sum() > -1000 else h


def test_what_has_no_rule_is_left_to_pytorch():
    torch.manual_seed(0)
    wrapped = []

    def wrap(module):
        wrapped.append(sdgrad.Module(module, fallback=True))
        return wrapped[-1]

    compare(Spectral(), (torch.randn(5, 4),), wrap=wrap)
    compare(Branching(), (torch.randn(5, 4),), wrap=wrap)
    (captured,) = wrapped[0].__dict__[STATE].captures.values()
    assert [type(s).__name__ for s in captured.steps] == ["Segment", "Operation", "Segment"]
    assert list(wrapped[1].__dict__[STATE].captures.values()) == [None]
    wrapped[1](torch.randn(5, 4, dtype=torch.float64))
    for child in wrapped[1].model.children():
        (dispatcher,) = child.__dict__[STATE].known.values()
        assert len(dispatcher.captures) == 1


class Solving(nn.Module):
    """A function of a matrix that is a parameter."""

    def __init__(self, function):
        super().__init__()
        self.function, self.matrix = function, nn.Parameter(2 * torch.eye(4) + 0.1)

    def forward(self, x):
        return self.function(self.matrix) * x


def test_what_has_no_rule_is_refused_or_left_to_pytorch():
    def function(a):
        return torch.linalg.householder_product(a, a[0])

    with pytest.raises(CaptureError, match="fallback=True"):
        sdgrad.Module(Solving(function))(torch.randn(4))
    compare(Solving(function), (torch.randn(4),), wrap=lambda m: sdgrad.Module(m, fallback=True))


def test_running_products():
    compare(Solving(lambda a: torch.cumprod(a, 0)), (torch.randn(4),))
    compare(Solving(lambda a: torch.cumprod(a, -1).sum(0)), (torch.randn(4),))


class Largest(nn.Module):
    def forward(self, x):
        return torch.fmax(x, x.flip(0)) + torch.maximum(x, x * x) + torch.relu(x)


def test_what_is_not_a_number_is_pytorchs():
    x = torch.tensor([1.0, float("nan"), -2.0, float("nan")])
    torch.testing.assert_close(sdgrad.Module(Largest())(x), Largest()(x), equal_nan=True)


def test_a_wrong_capture_is_found(monkeypatch):
    """Results are compared with the module's own."""
    from sdgrad.torch.aten import RULES

    monkeypatch.setitem(RULES, "tanh.default", RULES["sin.default"])
    with pytest.raises(CaptureError, match="differs from the module's own"):
        sdgrad.Module(nn.Tanh())(torch.randn(5, 4))


PARALLEL = """
import os, sys, warnings
warnings.filterwarnings("ignore")
import torch, torch.distributed as dist
from torch import nn
import sdgrad
from torch.distributed.device_mesh import init_device_mesh
from sdgrad.errors import CaptureError
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(8, 4)
model = nn.parallel.DistributedDataParallel(sdgrad.Module(net))
model(x[rank::2]).sum().backward()
own = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
(net(x).sum() / 2).backward()
assert all(torch.allclose(a, p.grad, atol=1e-6) for a, p in zip(own, net.parameters()))


def said(module):
    try:
        module(x)
    except CaptureError as error:
        return str(error)


mesh = init_device_mesh("cpu", (2,))
whole = nn.Linear(4, 2)
whole.weight = nn.Parameter(distribute_tensor(whole.weight.data, mesh, [Shard(0)]))
assert "'weight', a DTensor" in said(sdgrad.Module(whole))
assert "DistributedDataParallel" in said(sdgrad.Module(fully_shard(nn.Linear(4, 2), mesh=mesh)))
dist.destroy_process_group()
"""


def test_two_processes(tmp_path):
    """DistributedDataParallel on gloo; parameters in parts on both are refused."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "GLOO_SOCKET_IFNAME": "lo"}
    commands = [[sys.executable, "-c", PARALLEL, str(k), str(tmp_path / "meeting")] for k in range(2)]
    running = [subprocess.Popen(c, env=environment, stderr=subprocess.PIPE, text=True) for c in commands]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors[-2000:]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_first_call_says_what_it_does(monkeypatch, tmp_path):
    """On a terminal: what is captured, differentiated and compiled. Elsewhere, and from then on, nothing."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    net, x = sdgrad.Module(nn.Linear(3, 2)), torch.randn(4, 3)
    with sdgrad.config.override(cache_dir=without_programs(tmp_path)):
        net(x)
    text = shown.getvalue()
    assert "capturing Linear" in text and "differentiating Linear" in text and "compiling Linear" in text
    length = len(text)
    net(x)
    assert len(shown.getvalue()) == length
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    sdgrad.Module(nn.Linear(3, 1))(x)
    assert sys.stderr.getvalue() == ""
