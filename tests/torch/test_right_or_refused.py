"""What only a later call shows, and what PyTorch's autograd does that a traced program cannot: right, or refused."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import sdgrad
from sdgrad.errors import ArgumentError, CaptureError, ParseError

INF, NAN = float("inf"), float("nan")


def t(*values, **more):
    return torch.tensor(values, dtype=torch.float64, **more)


def module_of(f):
    class Called(nn.Module):
        def forward(self, *args):
            return f(*args)

    return sdgrad.Module(Called(), backward=True)


def agree(f, *given, warm=()):
    """A later call beside PyTorch: values, and gradients by what is real."""
    module = module_of(f)
    if warm:
        module(*warm)
    own = [x.clone().requires_grad_() if x.dtype.is_floating_point else x for x in given]
    found, wanted = module(*own), f(*own)
    close = {"rtol": 1e-9, "atol": 1e-12} if wanted.dtype == torch.float64 else {"rtol": 1e-2, "atol": 1e-3}
    torch.testing.assert_close(found, wanted, equal_nan=True, **close)
    real = [x for x in own if x.requires_grad]
    if real and wanted.requires_grad:
        pairs = (torch.autograd.grad(y.sum(), real, allow_unused=True) for y in (found, wanted))
        for mine, theirs in zip(*pairs, strict=True):
            torch.testing.assert_close(mine, theirs, equal_nan=True, **close)


# -- one program for all calls


def test_one_tensor_twice_in_the_first_call():
    def f(x, y):
        return x * y + y.sum()

    module, z = module_of(f), t(1.0, 2.0, 3.0, requires_grad=True)
    module(z, z)
    a, b = t(1.0, 2.0, 3.0, requires_grad=True), t(10.0, 20.0, 30.0, requires_grad=True)
    torch.testing.assert_close(module(a, b), f(a, b))
    found, wanted = (torch.autograd.grad(g(a, b).sum(), (a, b)) for g in (module, f))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(*(torch.autograd.grad(g(z, z).sum(), z) for g in (module, f)))


def test_attention_to_itself_and_then_to_others():
    own = nn.MultiheadAttention(4, 2).double()
    module = sdgrad.Module(own)
    x, y = torch.randn(3, 1, 4).double(), torch.randn(5, 1, 4).double()
    module(x, x, x)
    torch.testing.assert_close(module(x, y, y), own(x, y, y))


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.cfg, self.array, self.names = SimpleNamespace(v=2.0), np.array([1.0, 2.0]), {1}

    def forward(self, x):
        return x * self.cfg.v * float(self.array[0]) + len(self.names)


def test_objects_that_change_inside():
    own = Configured()
    module, x = sdgrad.Module(own), t(1.0, 2.0)
    for change in (lambda: None, lambda: setattr(own.cfg, "v", 3.0), lambda: own.names.add(7)):
        change()
        torch.testing.assert_close(module(x), own(x))
    own.array[0] = 5.0
    torch.testing.assert_close(module(x), own(x))


def test_tensors_outside_that_change():
    outside = t(2.0, 3.0)

    def f(x):
        return x * outside + torch.tensor([1.0, 2.0], dtype=torch.float64)

    module, x = module_of(f), t(1.0, 1.0)
    for _ in range(3):
        torch.testing.assert_close(module(x), f(x))
        outside.mul_(2.0)


def test_a_backward_hook_of_later_is_refused():
    inner = nn.Linear(2, 2).double()
    module, x = sdgrad.Module(nn.Sequential(inner)), t(1.0, 1.0)
    module(x)
    inner.register_full_backward_hook(lambda *given: None)
    with pytest.raises(CaptureError, match="backward hooks of Linear"):
        module(x)


@pytest.mark.parametrize(
    "x, message",
    [
        (torch.ones(3, device="meta"), "on meta: code is generated for the CPU"),
        (torch.ones(3).to_sparse(), "pass x.to_dense()"),
        (torch._efficientzerotensor(3), "pass an ordinary tensor"),
    ],
    ids=["meta", "sparse", "zero"],
)
def test_tensors_of_another_kind_are_refused(x, message):
    """The first of them ended the process."""
    module = module_of(lambda x: x * 2)
    module(torch.ones(3))
    with pytest.raises(CaptureError) as raised:
        module(x)
    assert message in str(raised.value)


def test_negated_memory():
    z = torch.complex(t(1.0, 2.0), t(3.0, 4.0)).conj().imag
    torch.testing.assert_close(module_of(lambda x: x * 2)(z), z * 2)


# -- what autograd knows, and a traced program does not


def written_under_no_grad(x):
    y = x * 2
    with torch.no_grad():
        y.clamp_(max=3.0)
    return y * y + x


def part_written_under_no_grad(x):
    y = x * 2
    with torch.no_grad():
        y[0] = 3.0
    return y * y + x


def written_through_detach(x):
    y = x * 1
    y.detach().clamp_(min=0.0)
    return y * y


def seen_through_detach(x):
    y = x * 1
    z = y.detach()[0:1]
    y[y < 0] = 0.0
    return y * z


def in_inference_mode(x):
    with torch.inference_mode():
        z = x * 2
    return x + z.clone()


OUTSIDE = t(2.0, 3.0, requires_grad=True)


def times_a_foreign_parameter(x):
    return x * OUTSIDE


@pytest.mark.parametrize(
    "f, message",
    [
        (written_under_no_grad, "a write under torch.no_grad()"),
        (part_written_under_no_grad, "a write under torch.no_grad()"),
        (written_through_detach, "a write to a part without gradient"),
        (seen_through_detach, "a write that detach() shows"),
        (in_inference_mode, "torch.inference_mode()"),
        (times_a_foreign_parameter, "is no parameter of the module"),
    ],
)
def test_hidden_effects_are_refused(f, message):
    with pytest.raises(CaptureError) as raised:
        module_of(f)(t(1.0, 2.0))
    assert message in str(raised.value)


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2).double()]

    def forward(self, x):
        return self.layers[0](x)


def test_modules_in_a_list_are_refused():
    with pytest.raises(CaptureError, match="hold modules in an nn.ModuleList"):
        sdgrad.Module(Listed())(t(1.0, 2.0))


def written(x):
    y = x * 2
    y[0] = 3.0
    y.clamp_(max=5.0)
    return y * y


def constant_under_no_grad(x):
    with torch.no_grad():
        z = x.exp()
        z.mul_(2.0)
    return x * z


def detached_and_gone(x):
    y = x * 2
    top = y.detach().max()
    y.relu_()
    return y * top


@pytest.mark.parametrize("f", [written, constant_under_no_grad, detached_and_gone])
def test_harmless_writes(f):
    agree(f, t(1.0, 2.0))


# -- numbers


NOT_NUMBERS = [t(1.0, NAN, 0.0, 2.0), t(NAN, 1.0, 3.0, 2.0), t(1.0, 2.0, 0.0, NAN)]
ORDERED = {
    "sort": lambda a: a.sort().values,
    "descending": lambda a: a.sort(descending=True).values,
    "positions": lambda a: a.sort().indices,
    "largest": lambda a: a.topk(2).values,
    "smallest": lambda a: a.topk(2, largest=False).values,
    "argmax": lambda a: a.argmax(),
    "argmin": lambda a: a.argmin(),
    "max": lambda a: a.max(0).values,
    "min": lambda a: a.min(0).indices,
}


@pytest.mark.parametrize("x", NOT_NUMBERS, ids=["middle", "first", "last"])
@pytest.mark.parametrize("name", ORDERED)
def test_what_is_not_a_number_is_the_largest(name, x):
    agree(ORDERED[name], x, warm=[t(1.0, 3.0, 2.0, 0.0)])


FUNCTIONS = {
    "xlogy": (torch.xlogy, t(0.0, 0.0, 1.0), t(0.5, 3.0, 2.0)),
    "xlog1py": (torch.special.xlog1py, t(0.0, 0.0, 1.0), t(0.5, 3.0, 2.0)),
    "remainder": (torch.remainder, t(6.0, 1.0, 5.5, -7.0), t(0.1, 0.1, INF, INF)),
    "modulo": (lambda a: a % 0.7, t(3.0, -2.0)),
    "quotient": (lambda a: (a // 0.1).detach() + a, t(6.0, 1.0)),
    "sign": (lambda x: x.sign() * x + x.sign(), t(0.0, 1.0, -2.0)),
    "logit": (torch.logit, t(0.0, 1.0, 0.3)),
    "logit within": (lambda x: torch.logit(x, eps=0.1), t(0.01, 0.95, 0.3)),
    "selu": (F.selu, t(-1.0, -0.3, 2.0)),
    "celu": (lambda x: F.celu(x, 0.5), t(-1.0, -0.3, 2.0)),
    "labels": (F.multilabel_margin_loss, t(0.1, 0.2, 0.3, 0.4), torch.tensor([3, -1, 0, 1])),
    "labels of several": (
        lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"),
        t(0.1, 0.2, 0.3, -0.4, 0.5, 0.6).reshape(2, 3),
        torch.tensor([[2, -1, 0], [0, 1, -1]]),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f, *given = FUNCTIONS[name]
    warm = [torch.rand_like(x) * 0.5 + 0.25 if x.dtype.is_floating_point else torch.zeros_like(x) for x in given]
    agree(f, *given, warm=warm)


HALF = {
    "mean": (lambda x: x.mean(), torch.full((2000,), 100.0)),
    "pool": (lambda x: F.avg_pool1d(x, 2000), torch.full((1, 1, 2000), 100.0)),
    "var": (lambda x: x.var(), torch.tensor([300.0, 0.0, 0.0, 0.0])),
    "norm": (lambda x: x.norm(), torch.full((20,), 200.0)),
    "batch": (lambda x: F.batch_norm(x, None, None, training=True), torch.tensor([[0.0], [300.0], [600.0], [900.0]])),
}


@pytest.mark.parametrize("name", HALF)
def test_half_precision_is_summed_in_single(name):
    f, x = HALF[name]
    agree(f, x.half())


@pytest.mark.parametrize(
    "f, right, wrong",
    [
        (lambda i: F.one_hot(i, 3), [1, 2], [1, 5]),
        (lambda i: F.one_hot(i, 3), [1, 2], [-1, 1]),
        (lambda i: F.embedding(i, torch.ones(3, 2)), [1, 2], [-1, 1]),
        (lambda i: torch.ones(3).gather(0, i), [1, 2], [-1, 1]),
        (lambda i: torch.zeros(3).scatter_add(0, i, torch.ones(2)), [1, 2], [-1, 1]),
        (lambda i: F.cross_entropy(torch.ones(2, 3), i), [1, -100], [-1, 1]),
    ],
    ids=["one hot", "negative", "embedding", "gather", "scatter", "loss"],
)
def test_negative_indices_are_refused_where_pytorch_does(f, right, wrong):
    module = module_of(f)
    torch.testing.assert_close(module(torch.tensor(right)), f(torch.tensor(right)))
    with pytest.raises(IndexError, match="an index is out of bounds for an axis of size 3"):
        module(torch.tensor(wrong))


@pytest.mark.parametrize(
    "pool, shape",
    [
        (nn.MaxPool1d(2, return_indices=True), (2, 3, 8)),
        (nn.MaxPool2d(3, stride=2, padding=1, return_indices=True), (3, 5, 7)),
    ],
)
def test_places_of_a_pool(pool, shape):
    x = torch.randn(shape, dtype=torch.float64)
    found, wanted = sdgrad.Module(pool)(x), pool(x)
    torch.testing.assert_close(found, wanted)


# -- derivatives of derivatives

TWICE = {
    "gru": (lambda: nn.GRU(3, 4), (5, 2, 3)),
    "lstm": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), (4, 2, 3)),
    "layer": (lambda: nn.LayerNorm(4), (3, 4)),
    "instance": (lambda: nn.InstanceNorm1d(3, affine=True), (2, 3, 4)),
    "batch": (lambda: nn.BatchNorm1d(3), (4, 3)),
}


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name):
    torch.manual_seed(0)
    make, shape = TWICE[name]
    own = make().double()
    x, v = torch.randn(shape, dtype=torch.float64, requires_grad=True), torch.randn(shape, dtype=torch.float64)

    def second(module):
        result = module(x)
        result = result[0] if isinstance(result, tuple) else result
        (slope,) = torch.autograd.grad(result.sin().sum(), x, create_graph=True)
        return torch.autograd.grad((slope * v).sum(), [x, *own.parameters()], materialize_grads=True)

    torch.testing.assert_close(second(sdgrad.Module(own)), second(own), rtol=1e-8, atol=1e-9)


# -- transforms of functions

TRANSFORMS = [torch.func.grad, torch.func.vmap, torch.func.jacrev, lambda f: lambda x: torch.func.jvp(f, (x,), (x,))]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("made", [sdgrad.torch.function(lambda x: np.sum(x * x)), sdgrad.Module(nn.Linear(3, 1))])
def test_transforms_of_torch_func_are_refused(transform, made):
    x = torch.ones(1, 3) if isinstance(made, nn.Module) else torch.ones(3)
    with pytest.raises(ArgumentError, match="torch.func .*do not transform compiled code: call .backward"):
        transform(made)(x)
    assert made(x).shape in ((), (1, 1))  # the refusal leaves nothing behind


@torch.no_grad()
def without_gradient(x):
    return x.sum()


def in_a_context(x):
    with torch.no_grad():
        y = x.sum()
    return (x * y).sum()


def in_inference_mode(x):
    with torch.inference_mode():
        y = x.sum()
    return (x * y).sum()


def switched(x):
    torch.set_grad_enabled(mode=False)
    return (x * x.sum()).sum()


def decorated(x):
    return (x * without_gradient(x)).sum()


def enabled(x):
    with torch.enable_grad():
        return (x * x).sum()


@pytest.mark.parametrize("f", [in_a_context, in_inference_mode, switched, decorated], ids=lambda f: f.__name__)
def test_switches_of_gradients_are_refused_in_recorded_functions(f):
    """They changed nothing there: the gradient of PyTorch was another one."""
    with pytest.raises(ParseError, match="write sdgrad.stop_gradient"):
        sdgrad.grad(f)(t(0.5, 1.5))
    assert torch.is_grad_enabled()
    with torch.no_grad():
        torch.testing.assert_close(sdgrad.grad(enabled)(t(0.5, 1.5)), t(1.0, 3.0))


def test_the_decorator_of_a_function_is_refused_where_it_is_called():
    """The line was one of PyTorch's."""
    with pytest.raises(ParseError) as caught:
        sdgrad.grad(decorated)(t(0.5, 1.5))
    text = str(caught.value)
    assert text.startswith("test_right_or_refused.py:") and "without_gradient(x)" in text.splitlines()[1]
    assert "torch.no_grad, a decorator of what is called here, would change nothing" in text


# -- functions of PyTorch in recorded functions


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda x: torch.sum(x), "np.sum"),
        (lambda x: torch.linalg.norm(x), "np.linalg.norm"),
        (lambda x: torch.cat([x, x])[0], "np.concatenate"),
        (lambda x: torch.special.expit(x)[0], "scipy.special.expit"),
        (lambda x: nn.functional.relu(x)[0], r"np.maximum\(x, 0.0\)"),
    ],
)
def test_functions_of_pytorch_have_another_name_in_recorded_functions(f, instead):
    with pytest.raises(ParseError, match=f"(?s)^test_right_or.*no derivative here: .*: use {instead}$"):
        sdgrad.grad(f)(np.array([0.5, 1.5]))


# -- what compiled code does not have


def test_tangents_of_forward_mode_are_refused():
    """PyTorch's own error named a class of ours."""
    forward_ad = torch.autograd.forward_ad
    for made in (sdgrad.torch.function(lambda x: x * 2.0), sdgrad.Module(nn.Tanh())):
        with forward_ad.dual_level(), pytest.raises(ArgumentError, match="forward_ad .* write sdgrad.jvp"):
            made(forward_ad.make_dual(torch.ones(3), torch.ones(3)))


class InFunctions(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v * 2.0, lambda v: v * 3.0, (x,))


def test_control_flow_in_functions_is_refused():
    with pytest.raises(CaptureError, match=r"torch.cond: (.|\n)*write torch.where"):
        sdgrad.Module(InFunctions())(torch.ones(3))


# -- what PyTorch's own backward pass would do inside


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: 10 * g)
    return y * 3


def retained(x):
    y = x * 2
    y.retain_grad()
    return y * 3


def kept_otherwise(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        return x.sin()


@pytest.mark.parametrize("f", [hooked, retained, kept_otherwise])
def test_steps_of_a_backward_pass_inside_of_a_module_are_refused(f):
    with pytest.raises(CaptureError, match="backward pass of a module is one program"):
        module_of(f)(t(1.0, 2.0))


def kept_on_the_host(x):
    with torch.autograd.graph.save_on_cpu():
        return (x * 2).sin()


def test_where_pytorch_keeps_tensors_changes_nothing():
    agree(kept_on_the_host, t(1.0, 2.0))


@pytest.mark.parametrize("again", [False, True])
def test_gradients_inside_of_a_module(again):
    """Without ``create_graph`` they are constants."""
    agree(lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=again)[0] * x, t(1.0, 2.0))


@dataclass
class Pair:
    a: torch.Tensor
    b: float


def test_results_that_hide_tensors():
    for hiding in (lambda x: Pair(x * 2, 1.0), lambda x: SimpleNamespace(a=[x * 2])):
        with pytest.raises(CaptureError, match="that holds tensors"):
            module_of(hiding)(t(1.0, 2.0))


class OfPacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(4, 3, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


def test_packed_sequences_are_refused_by_name():
    own, given = OfPacked(), (torch.randn(2, 5, 4), torch.tensor([3, 5]))
    with pytest.raises(CaptureError, match=r"a packed sequence(.|\n)*padded sequences"):
        sdgrad.Module(own)(*given)
    torch.testing.assert_close(sdgrad.Module(own, fallback=True)(*given), own(*given))
