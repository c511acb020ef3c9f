"""Modules with open dimensions: one program for all their sizes."""

import copy
import ctypes
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils import _pytree as pytree
from torch_zoo import ZOO

import sdgrad
from sdgrad.errors import ArgumentError, CaptureError
from sdgrad.torch.watch import STATE
from tests.torch.test_modules import close, converted

pytestmark = pytest.mark.filterwarnings("ignore")
Dim = torch.export.Dim


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


def captures(wrapped):
    return wrapped.__dict__[STATE].captures


def same(module, wrapped, *args, **kwargs):
    """Results and all gradients are those of eager mode, under one state of PyTorch's generator."""
    eager = copy.deepcopy(module)
    for p in module.parameters():
        p.grad = None
    given, known = converted((args, kwargs), torch.float64), converted((args, kwargs), torch.float64)
    torch.manual_seed(3)
    found = wrapped(*given[0], **given[1])
    torch.manual_seed(3)
    wanted = eager(*known[0], **known[1])
    total = [0.0, 0.0]
    for mine, right in zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True):
        close(mine, right, torch.float64)
        seed = torch.randn(right.shape, dtype=torch.float64)
        total = [total[0] + (mine * seed).sum(), total[1] + (right * seed).sum()]
    for t in total:
        t.backward()
    mine = [*module.parameters(), *pytree.tree_leaves(given)]
    for m, right in zip(mine, [*eager.parameters(), *pytree.tree_leaves(known)], strict=True):
        if isinstance(right, torch.Tensor) and right.requires_grad:
            close(m.grad, right.grad, torch.float64)
    for m, right in zip(module.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(m, right, rtol=0, atol=1e-6)


def words(*shape):
    return torch.randint(0, 11, shape)


class Reader(nn.Module):
    """A causal transformer layer over words at learned positions."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        self.out = nn.Linear(8, 11)

    def forward(self, x):
        count = x.shape[1]
        h = self.words(x) + self.places(torch.arange(count))
        mask = torch.triu(torch.full((count, count), float("-inf"), dtype=h.dtype), 1)
        return self.out(self.layer(h, mask))[:, -1]


class Moments(nn.Module):
    """Batch statistics, dropout and sizes as numbers."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv1d(3, 4, 3, padding=1), nn.BatchNorm1d(4), nn.Dropout(0.3)

    def forward(self, x):
        y = self.drop(self.norm(self.conv(x)))
        return y.mean(2) / x.shape[2] + x.shape[0] + y.var(0).sum()


class Parts(nn.Module):
    """Joined, cut, rolled and repeated along open dimensions; nested and keyword arguments."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, pair, y, scale=2, *, z=None):
        h = torch.cat([self.linear(pair["p"]), y], 0).reshape(-1, 2, 2).roll(1, 0)
        steps = 2 * torch.arange(1, y.shape[0] + 1, dtype=h.dtype)
        q = h[1:-1].flatten(1).std(0) + h.repeat(2, 1, 1).var() + (y.flip(0)[:, 0] * steps).sum()
        chosen = F.one_hot(torch.arange(pair["p"].shape[0]) % 3, 3).sum()
        first, rest = y.split([1, y.shape[0] - 1])
        return q * scale + z.sum() + chosen + first.sum() * rest[::2].sum()


class Images(nn.Module):
    """Convolutions with strides, pooling and normalization of images of any size."""

    def __init__(self):
        super().__init__()
        self.conv, self.up = nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.ConvTranspose2d(3, 2, 2, stride=2)
        self.norm, self.pool = nn.GroupNorm(1, 3), nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        y = self.up(F.silu(self.norm(self.conv(x)))).mean((2, 3)) + self.pool(x).flatten(1)
        return y + F.avg_pool2d(x, 2).amax((2, 3)) + F.pad(x, (1, 1, 1, 1), "reflect").sum((2, 3))


class Bidirectional(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(11, 8), nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True, dropout=0.2)

    def forward(self, x):
        return self.lstm(self.words(x))[0].mean(1)


R = torch.randn
CASES = {
    "reader": (Reader, {"x": {0: "batch", 1: "time"}}, [(words(4, 6),), (words(3, 9),), (words(5, 2),)]),
    "moments": (Moments, ({0: "batch", 2: "time"},), [(R(4, 3, 9),), (R(5, 3, 12),), (R(3, 3, 7),)]),
    "images": (
        Images,
        {"x": {0: "batch", 2: Dim("height", min=4), 3: Dim("width", min=4)}},
        [(R(2, 2, 8, 8),), (R(3, 2, 12, 9),), (R(2, 2, 7, 10),)],
    ),
    "lstm": (Bidirectional, ({0: "batch"},), [(words(4, 6),), (words(3, 6),), (words(7, 6),)]),
}


@pytest.mark.parametrize("name", CASES)
def test_one_program_for_all_sizes(name):
    torch.manual_seed(0)
    make, spec, calls = CASES[name]
    module = make().double()
    wrapped = sdgrad.Module(module, dynamic_shapes=spec)
    for args in calls:
        same(module, wrapped, *args)
    assert len(captures(wrapped)) == 1


@pytest.mark.parametrize("name", ["lenet", "unet", "residual_block", "gpt", "graph_convolution", "norms"])
def test_a_larger_batch_of_the_zoo(name):
    torch.manual_seed(0)
    module, args = ZOO[name]()
    count = args[0].shape[0]
    own = [isinstance(x, torch.Tensor) and x.ndim > 0 and x.shape[0] == count for x in args]
    wrapped = sdgrad.Module(module.double(), dynamic_shapes=tuple({0: "batch"} if o else None for o in own))
    same(module, wrapped, *args)
    same(module, wrapped, *(torch.cat([x, x[:2]]) if o else x for o, x in zip(own, args, strict=True)))
    assert len(captures(wrapped)) == 1


def test_sizes_of_their_own_in_nested_and_keyword_arguments():
    module = Parts().double()
    wrapped = sdgrad.Module(module, dynamic_shapes={"pair": {"p": {0: "n"}}, "y": {0: Dim("m", min=4)}, "z": {0: "n"}})
    for n, m in ((5, 6), (6, 8), (7, 9)):
        same(module, wrapped, {"p": R(n, 4)}, R(m, 4), z=R(n))
    assert len(captures(wrapped)) == 1
    with pytest.raises(RuntimeError):  # as eagerly: two arguments that must have one size
        sdgrad.Module(nn.Bilinear(3, 3, 2), dynamic_shapes=({0: "n"}, {0: "n"}))(R(4, 3), R(5, 3))


def test_sizes_that_one_program_is_not_for_have_their_own():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).double()
    wrapped = sdgrad.Module(module, dynamic_shapes=({0: Dim("batch", max=8)},))
    for n, programs in ((1, 1), (5, 2), (8, 2), (9, 3), (2, 3)):
        same(module, wrapped, R(n, 4))
        assert len(captures(wrapped)) == programs, n


def test_sizes_alternate_between_forward_and_backward():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).double()
    wrapped, eager = sdgrad.Module(module, dynamic_shapes=({0: "batch"},)), copy.deepcopy(module)
    inputs = [R(n, 4, dtype=torch.float64) for n in (3, 6, 3, 2)]
    for results in ([wrapped(x) for x in inputs], [eager(x) for x in inputs]):
        for y in results[::-1]:
            (y**2).sum().backward()
    for mine, right in zip(module.parameters(), eager.parameters(), strict=True):
        close(mine.grad, right.grad, torch.float64)


def test_second_derivatives():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    wrapped = sdgrad.Module(module, dynamic_shapes=({0: "batch"},))
    for n in (3, 5):
        x = R(n, 4, dtype=torch.float64, requires_grad=True)
        found = []
        for net in (wrapped, module):
            (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            found.append(torch.autograd.grad((slope**2).sum(), list(module.parameters())[:3]))
        for mine, right in zip(*found, strict=True):
            close(mine, right, torch.float64)


def test_decorated_copied_and_pickled():
    wrapped = sdgrad.Module(nn.Linear(4, 3), dynamic_shapes={"input": {0: "batch"}})
    wrapped(R(3, 4))
    for other in (copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        other(R(3, 4)), other(R(5, 4))
        assert len(captures(other)) == 1

    @sdgrad.module(dynamic_shapes=({0: "batch"},))
    class Net(nn.Linear):
        pass

    net = Net(4, 2)
    for n in (2, 3, 7):
        x = R(n, 4)
        torch.testing.assert_close(net(x), F.linear(x, net.weight, net.bias))


def test_what_is_left_to_pytorch_has_open_sizes_too():
    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            h = torch.relu(self.before(x))
            return self.after(h) + torch.linalg.svdvals(h)[0] * torch.linalg.svdvals(h.T.reshape(4, x.shape[0])).sum()

    module = Spectrum().double()
    wrapped = sdgrad.Module(module, fallback=True, dynamic_shapes=({0: "batch"},))
    for n in (5, 6):
        same(module, wrapped, R(n, 4))
    assert len(captures(wrapped)) == 1


def test_arguments_that_are_left_out():
    class Maybe(nn.Module):
        def forward(self, x, y=None, *, scale=1.0):
            return x * scale if y is None else x @ y.T * scale

    wrapped = sdgrad.Module(Maybe(), dynamic_shapes={"x": {0: "n"}, "y": {-2: "m"}})
    assert [wrapped(R(n, 4), R(m, 4)).shape for n, m in ((3, 5), (6, 2))] == [(3, 5), (6, 2)]
    assert [wrapped(x=R(n, 4), scale=2.0).shape for n in (3, 7)] == [(3, 4), (7, 4)]
    assert len(captures(wrapped)) == 2
    with pytest.raises(CaptureError, match="5 is not equal to .* = 3(?s:.)*names of their own"):
        sdgrad.Module(Maybe(), dynamic_shapes=({0: "n"}, {0: "n"}))(R(3, 4), R(5, 4))


def test_a_size_that_the_module_fixes():
    class Fixed(nn.Module):
        def forward(self, x):
            return x.reshape(6, 2) if x.shape[0] == 3 else x

    with pytest.raises(CaptureError, match="batch.*specialized.*constant \\(3\\)"):
        sdgrad.Module(Fixed(), dynamic_shapes=({0: "batch"},))(R(3, 4))
    chosen = sdgrad.Module(Fixed(), dynamic_shapes=({0: Dim.AUTO},))  # if PyTorch may decide, each has its own
    assert chosen(R(3, 4)).shape == (6, 2) and chosen(R(4, 4)).shape == (4, 4) and chosen(R(5, 4)).shape == (5, 4)


def test_a_branch_on_sizes_is_taken_anew():
    """What ``torch.export`` leaves out of its ranges: which of two open sizes is the larger one."""

    class Cut(nn.Module):
        def forward(self, x, y):
            return x[: y.shape[0]] * y if x.shape[0] > y.shape[0] + 1 else x.sum() + y.sum()

    auto = {0: Dim.AUTO}
    wrapped = sdgrad.Module(Cut(), dynamic_shapes=(auto, auto))
    for n, m, programs in ((6, 3, 1), (7, 4, 1), (9, 3, 1), (5, 4, 2), (4, 4, 3), (8, 2, 3)):
        x, y = R(n, 2), R(m, 2)
        torch.testing.assert_close(wrapped(x, y), Cut()(x, y))
        assert len(captures(wrapped)) == programs
    with pytest.raises(CaptureError, match="generated guard"):
        sdgrad.Module(Cut(), dynamic_shapes=({0: "n"}, {0: "m"}))(R(6, 2), R(3, 2))


def test_an_operation_that_needs_to_know_a_size():
    with pytest.raises(CaptureError, match="dimensions that are open; leave them out of dynamic_shapes"):
        sdgrad.Module(nn.AdaptiveAvgPool2d(3), dynamic_shapes=({2: "height"},))(R(2, 2, 7, 7))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"y": {0: "batch"}}, "no argument 'y'"),
        (({2: "batch"},), "no dimension 2"),
        ("batch", "expected a dict by argument"),
        (({0: "batch"}, None, None), "takes 1 arguments"),
    ],
    ids=["name", "dimension", "kind", "many"],
)
def test_wrong_descriptions(spec, message):
    with pytest.raises(ArgumentError, match=message):
        sdgrad.Module(nn.Linear(4, 3), dynamic_shapes=spec)(R(3, 4))


def test_memory_of_temporaries_is_used_again():
    """Two programs that are compiled together take the memory that waits, as each for itself does."""
    module = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    wrapped = sdgrad.Module(module, dynamic_shapes=({0: "batch"},))
    wrapped(R(5, 4)).sum().backward()
    libraries = [h.program.library for h in (wrapped.compiled_function.forward, wrapped.compiled_function.backward)]
    assert any(hasattr(ctypes.CDLL(library.path), "_ZN6sdgrad4poolE") for library in libraries)
