"""Values that are no numbers, or infinite: results and derivatives are those that PyTorch gives them."""

import pytest
import torch
from torch.nn import functional as F

import sdgrad
from tests.torch.test_kinks import Applied

INF, NAN = float("inf"), float("nan")
A = torch.tensor([[1.0, NAN, 2.0, NAN, -3.0, 3.0, 0.0], [1.0, 1.0, 0.0, -1.0, 0.0, 1.0, 1.0]], dtype=torch.float64)
B = torch.tensor([[0.0, 1.0, NAN, NAN, 3.0, 3.0, 0.0], [0.0] * 7], dtype=torch.float64)
SLOPES = {"retain_graph": True, "materialize_grads": True}
NORMS = (0, INF, -INF)


def of_bounds(x, y):
    return (
        *(torch.maximum(x, y), torch.minimum(x, y), x.clamp(-1, 1), x.clamp(min=0), x.clamp(NAN, 1)),
        *(x.clamp(y, y + 1), x.clamp(min=y), x.clamp(max=y), F.relu(x), F.relu6(x), x.sign() * x.detach()),
    )


def of_extremes(x, y):
    return x.amax(1), x.amin(1, keepdim=True), x.amax(), x.max(), x.min(), x.max(1)[0], *torch.aminmax(x, dim=1)


def of_norms(x, y):
    rows = [torch.linalg.vector_norm(x, p, dim=1) for p in NORMS]
    return (*rows, *(torch.linalg.vector_norm(x, p) for p in NORMS), x.norm(0), F.normalize(y, INF, 1))


@pytest.mark.parametrize("function", [of_bounds, of_extremes, of_norms])
@pytest.mark.filterwarnings("ignore")
def test_as_pytorch_has_them(function):
    given = [x.clone().requires_grad_() for x in (A, B)]
    with sdgrad.config.override(optimization_level=0):
        found, wanted = sdgrad.Module(Applied(function))(*given), function(*given)
        torch.testing.assert_close(found, wanted, equal_nan=True)
        for mine, own in zip(found, wanted, strict=True):
            if own.requires_grad:
                pair = (torch.autograd.grad(y.sum(), given, **SLOPES) for y in (mine, own))
                for a, b in zip(*pair, strict=True):
                    torch.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize("again", [False, True])
def test_results_that_nobody_asks_about_have_no_part_in_a_gradient(again):
    """Zero times an infinite derivative of theirs is not zero."""
    x = torch.tensor([1.0, 2.0, INF], dtype=torch.float64, requires_grad=True)
    kept, unused = sdgrad.Module(Applied(lambda x: ((x[:2] ** 2).sum(), (x * x).sum() ** 2)))(x)
    (slope,) = torch.autograd.grad(kept, x, create_graph=again)
    torch.testing.assert_close(slope, torch.tensor([2.0, 4.0, 0.0], dtype=torch.float64))
    if again:
        (slope,) = torch.autograd.grad(slope.sum(), x)
        torch.testing.assert_close(slope, torch.tensor([2.0, 2.0, 0.0], dtype=torch.float64))
