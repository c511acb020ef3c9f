"""Layers, losses, searches and draws that few modules have, beside PyTorch: values, gradients, random numbers."""

import pytest
import torch
from torch import distributions as D  # noqa: N812
from torch import nn
from torch.nn import functional as F

import sdgrad
from sdgrad.errors import CaptureError
from tests.torch.test_kinks import Applied

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


def R(*shape):  # noqa: N802
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def agree(module, *calls, tolerance=1e-9):
    """Results, gradients by weights and real inputs, and buffers, of one call after another."""
    module = module if isinstance(module, nn.Module) else Applied(module)
    wrapped = sdgrad.Module(module)
    for args in calls:
        both = []
        before = {n: b.clone() for n, b in module.named_buffers()}
        for run in (wrapped, module):
            for name, buffer in module.named_buffers():
                buffer.copy_(before[name])
            torch.manual_seed(0)
            given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in args]
            found = run(*given)
            found = [y for y in torch.utils._pytree.tree_leaves(found) if isinstance(y, torch.Tensor)]
            wanted = [x for x in (*given, *module.parameters()) if x.requires_grad]
            real = [y for y in found if y.requires_grad]
            total = sum((y * torch.cos(torch.arange(y.numel()).reshape(y.shape))).sum() for y in real)
            slopes = torch.autograd.grad(total, wanted, materialize_grads=True) if real else ()
            both.append([*found, *slopes, *(b.clone() for b in module.buffers())])
        for own, eager in zip(*both, strict=True):
            torch.testing.assert_close(own, eager, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_searches_modes_and_roundings():
    edges = torch.linspace(-1, 1, 5, dtype=torch.float64)

    def searched(x, order):
        rows = x.sort(1)[0]
        return (
            *(torch.bucketize(x, edges), torch.bucketize(0.3, edges, right=True), torch.searchsorted(rows, x / 2)),
            torch.searchsorted(x, x / 3, sorter=order, side="right"),
            *(x.round(decimals=2), (30 * x).round(decimals=-1), torch.signbit(x), torch.dist(x, x[:1], 1.0)),
            *(*torch.mode(x.round(), 1), torch.mode(x.round(), 0, keepdim=True)[0]),
        )

    agree(searched, *((x, x.argsort(1)) for x in (R(4, 6), -2 * R(4, 6))))


def test_sums_of_windows_over_a_number():
    agree(
        lambda x: (
            F.avg_pool2d(x, 2, divisor_override=3),
            F.avg_pool2d(x, 2, 2, 1, ceil_mode=True, divisor_override=1),
            F.avg_pool3d(x[None], (2, 2, 3), divisor_override=5),
        ),
        (R(2, 4, 5),),
    )


@pytest.mark.parametrize("padding", [None, 1])
def test_bags_of_the_largest(padding):
    bags = nn.EmbeddingBag(6, 3, mode="max", padding_idx=padding, dtype=torch.float64)
    places = torch.tensor([0, 4, 1, 1, 4, 5, 2])
    agree(bags, (places, torch.tensor([0, 2, 3])), (places.flip(0), torch.tensor([0, 4, 4])))


def test_derivatives_of_rows_that_are_there_often():
    rows = nn.Embedding(6, 3, padding_idx=1, scale_grad_by_freq=True, dtype=torch.float64)
    agree(rows, (torch.tensor([[0, 2], [2, 1]]),), (torch.tensor([[5, 5], [5, 0]]),))
    with pytest.raises(CaptureError, match="sparse=False"):
        sdgrad.Module(nn.Embedding(6, 3, sparse=True))(torch.tensor([1]))
    with pytest.raises(CaptureError, match="leave max_norm out"):
        sdgrad.Module(nn.Embedding(6, 3, max_norm=1.0))(torch.tensor([1]))


@pytest.mark.parametrize("form", [{"batch_first": True, "bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_projections(form):
    agree(nn.LSTM(3, 5, proj_size=2, **form).double(), (R(2, 4, 3),))


def test_losses_without_an_alignment():
    scores, labels = R(6, 2, 5), torch.tensor([[1, 2, 2], [3, 1, 1]])

    def losses(x, labels, widths, counts):
        known = x.log_softmax(2)
        return (
            F.ctc_loss(known, labels, widths, counts, reduction="none"),
            F.ctc_loss(x, labels, (6, 5), (2, 1), blank=4),
            F.ctc_loss(known, labels, widths, counts, reduction="sum", zero_infinity=True),
            F.ctc_loss(known, labels.reshape(-1)[:5], (6, 5), (3, 2)),
            F.ctc_loss(known[:, 0], labels[0], widths[0], counts[0]),
        )

    agree(
        losses, *((scores, labels, torch.tensor(w), torch.tensor(c)) for w, c in (([6, 5], [3, 2]), ([6, 4], [3, 0])))
    )


def test_losses_of_variances():
    def losses(mean, target, spread):
        return (
            F.gaussian_nll_loss(mean, target, spread**2),
            F.gaussian_nll_loss(mean, target, spread[:, 0] ** 2, full=True, reduction="none"),
            F.gaussian_nll_loss(mean, target, spread.abs() * 1e-9, reduction="sum"),
        )

    agree(losses, (R(3, 4), 2 * R(3, 4), R(3, 4)))
    wrapped = sdgrad.Module(nn.GaussianNLLLoss(), example_inputs=[torch.ones(3)] * 3)
    assert wrapped(torch.ones(3), torch.ones(3), -torch.ones(3)).isnan()


@pytest.mark.parametrize("training", [True, False])
def test_moments_over_all_batches(training):
    agree(nn.BatchNorm1d(4, momentum=None).double().train(training), (R(3, 4),), (2 * R(3, 4),), (1 + R(3, 4),))


def test_slopes_that_are_drawn_have_their_mean_in_eval():
    agree(nn.RReLU().eval(), (R(3, 4),))
    with pytest.raises(CaptureError, match=r"eval\(\) has their mean"):
        sdgrad.Module(nn.RReLU())(R(3, 4))


def test_draws_from_distributions_of_data():
    def drawn(x):
        normal = D.Normal(x, x.abs() + 1)
        return (
            *(
                normal.rsample(),
                normal.sample() * x,
                normal.log_prob(2 * x),
                D.kl_divergence(normal, D.Normal(0.0, 1.0)),
            ),
            *(torch.bernoulli(x.sigmoid()) * x, torch.normal(x, 2.0) + torch.normal(0.0, 1.0, (4,)) * x),
        )

    agree(drawn, (R(3, 4),), (2 * R(3, 4),))


def test_operators_of_bits_with_numbers():
    agree(lambda i: (i & 3, i | 1, i.bitwise_xor(5)), (torch.tensor([1, -2, 7]),), (torch.tensor([5, 6, 7]),))
