"""In corners of their operations, modules have the values and the derivatives that PyTorch gives them."""

import pytest
import torch
from torch.nn import functional as F

import sdgrad

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


class Applied(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


def tensors(found):
    return found if isinstance(found, tuple) else (found,)


def same(function, *operands):
    """Values and gradients of a function beside PyTorch's."""
    module = Applied(function)
    both = []
    for run in (sdgrad.Module(module), module):
        given = [x.clone().requires_grad_(x.is_floating_point()) for x in operands]
        found = tensors(run(*given))
        real = [y for y in found if y.requires_grad]
        seeds = [torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape) for y in real]
        total = sum((y * s).sum() for y, s in zip(real, seeds, strict=True))
        leaves = [x for x in given if x.requires_grad]
        both.append((found, torch.autograd.grad(total, leaves, allow_unused=True) if real else ()))
    torch.testing.assert_close(*both, rtol=1e-9, atol=1e-12, equal_nan=True)


# -- integers


def test_powers_and_shifts_of_integers_are_exact():
    """Powers were computed in double precision."""
    base, exponent = torch.tensor([3, 5, -7, 1, -1, 2]), torch.tensor([37, 25, 20, 3, -3, -1])
    same(lambda x: (x**31, x**3, 3 ** x.abs(), x << 3, x >> 1), base)
    same(lambda x, n: (x**n, x << n.abs(), x >> n.abs()), base, exponent)
    same(lambda x: x**9, torch.tensor([3, 15, -17], dtype=torch.int32))


# -- losses


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_cross_entropy_at_zero_and_one(reduction):
    """The derivative was that of a bounded logarithm."""
    target, weight = t(0.0, 1.0, 1.0, 0.0, 0.4, 0.2, 0.6), t(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    points = t(0.0, 1.0, 0.0, 1.0, 0.3, 1e-14, 1 - 1e-13)
    same(lambda x: F.binary_cross_entropy(x, target, reduction=reduction), points)
    same(lambda x: F.binary_cross_entropy(x, target, weight, reduction=reduction), points)


# -- norms and distances


@pytest.mark.parametrize("order", [-INF, -1, 0.5, 1, 1.5, 2, 3, INF])
def test_norms_at_zero(order):
    """A power below one was infinite there, and no number; what is not a number had norm zero."""
    same(lambda x: torch.linalg.vector_norm(x, order, 1), t(0.0, 0.0, 0.0, 3.0, -3.0, 3.0, 1.0, 2.0).reshape(4, 2))
    points = t(NAN, 1.0, 2.0, 3.0)
    found = sdgrad.Module(Applied(lambda x: torch.linalg.vector_norm(x, order)))(points)
    assert found.isnan()


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2, 3, INF])
def test_distances_of_equal_points(order):
    """Of the largest distance, coordinates of the same shared the derivative."""
    a, b = t(1.0, 2.0, 1.0, 4.0).reshape(2, 2), t(1.0, 2.0, 3.0, 4.0, 0.0, 1.0).reshape(3, 2)
    same(lambda x, y: torch.cdist(x, y, order), a, b)
    same(lambda x: F.pdist(x, order), torch.cat([a, b]))


# -- of equal ones


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_extremes_of_two_that_are_equal_or_no_numbers(name):
    """They shared the derivative, which PyTorch gives the first."""
    a, b = t(1.0, 2.0, 3.0, NAN, 1.0, NAN, INF), t(1.0, 3.0, 2.0, 1.0, NAN, NAN, INF)
    same(getattr(torch, name), a, b)
    same(getattr(torch, name), torch.tensor([1, 5, -2]), torch.tensor([3, 5, -7]))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_adaptive_pooling_of_equal_ones(rank, parts):
    """They shared the derivative, which PyTorch gives the first; and there were no places."""
    images = torch.randint(0, 2, (1, 2) + (5,) * rank, generator=torch.Generator().manual_seed(rank)).double()
    pool = getattr(F, f"adaptive_max_pool{rank}d")
    same(lambda x: pool(x, parts, return_indices=True), images)


REDUCTIONS = [(r, s) for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)]


@pytest.mark.parametrize(("reduce", "include_self"), REDUCTIONS)
def test_reductions_of_what_goes_to_one_place(reduce, include_self):
    """Equal ones had shares of different sizes; means were refused, and ``include_self=False``."""
    at = torch.tensor([0, 1, 1, 2, 0, 2])

    def scattered(x, y):
        return x.scatter_reduce(0, at, y, reduce, include_self=include_self)

    def along(x, y):
        return x.index_reduce(1, at[:3], y, reduce, include_self=include_self)

    same(scattered, t(2.0, 2.0, 0.0, 7.0), t(1.0, 2.0, 2.0, 0.0, 2.0, 5.0))
    same(scattered, torch.tensor([2, -7, 5, 7]), torch.tensor([1, -3, -4, 4, 0, 5]))
    if reduce != "sum":
        same(along, t(2.0, 1.0, 0.0, 0.0, 1.0, 2.0).reshape(2, 3), t(2.0, 1.0, 1.0, 2.0, 1.0, 3.0).reshape(2, 3))
    if reduce != "prod":
        same(scattered, t(-INF, -INF, INF, 7.0), t(-INF, 2.0, 2.0, 0.0, 3.0, 5.0))
    same(lambda x, y: x.scatter_reduce(0, at[0], y, reduce, include_self=include_self), t(2.0)[0], t(3.0)[0])


# -- images


def image(*shape):
    return torch.randn(1, 2, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


SHAPES = {"linear": (7,), "bilinear": (7, 5), "bicubic": (7, 5), "trilinear": (5, 4, 3)}


@pytest.mark.parametrize("mode", SHAPES)
@pytest.mark.parametrize("align", [False, True])
def test_interpolation_by_factors(mode, align):
    """The factor was taken from the sizes; an image of one element was that at the corner."""
    x = image(*SHAPES[mode])
    for factor, again in ((1.5, None), (0.6, True), (0.7, False), (2.3, None)):
        how = {"scale_factor": factor, "recompute_scale_factor": again}
        same(lambda x, how=how: F.interpolate(x, mode=mode, align_corners=align, **how), x)
    same(lambda x: F.interpolate(x, size=(1,) * (x.dim() - 2), mode=mode, align_corners=align), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
def test_interpolation_with_antialiasing(mode, align):
    how = {"mode": mode, "align_corners": align, "antialias": True}
    same(lambda x: F.interpolate(x, scale_factor=0.6, **how), image(7, 5))
    same(lambda x: F.interpolate(x, size=(3, 9), **how), image(7, 5))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_by_factors(mode):
    for factor in (1.1, 0.6, 1 / 3, 2.0):
        same(lambda x, factor=factor: F.interpolate(x, scale_factor=factor, mode=mode), image(50))
    same(lambda x: F.interpolate(x, scale_factor=(2.3, 0.7), mode=mode), image(7, 5))
    same(lambda x: F.interpolate(x, size=(3, 41, 2), mode=mode), image(4, 3, 2))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_samples_at_the_ends_of_images(mode, padding, align):
    """At both ends, coordinates had a derivative; and they were rounded before they were mirrored."""
    at = [1.0, -1.0, 0.0, 0.0, -1.0, 1.0, 1.5, 3.0, 0.5, -2.5, 0.25, 0.2, -1.25, 1.2, 0.3, -0.7]
    same(lambda x, c: F.grid_sample(x, c, mode, padding, align), image(5, 4), t(*at).reshape(1, 2, 4, 2))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_angle_of_the_origin(dtype):
    class Angle(torch.nn.Module):
        def forward(self, x, y):
            return torch.atan2(x, y)

    x = torch.tensor([[0.0, -0.0, 1.0], [0.0, 2.0, -1.0]], dtype=dtype, requires_grad=True)
    y = torch.tensor([0.0, -0.0, 0.0], dtype=dtype, requires_grad=True)
    found, expected = sdgrad.Module(Angle())(x, y), torch.atan2(x, y)
    assert torch.equal(found, expected)
    for own, other in zip(
        torch.autograd.grad(found.sum(), (x, y)), torch.autograd.grad(expected.sum(), (x, y)), strict=True
    ):
        torch.testing.assert_close(own, other)
