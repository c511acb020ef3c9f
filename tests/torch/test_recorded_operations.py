"""Matrices, special functions and selection in modules, compared with PyTorch's values and gradients."""

import pytest
import torch
from torch import nn

import sdgrad
from sdgrad.errors import CaptureError

pytestmark = pytest.mark.filterwarnings("ignore")
L, S = torch.linalg, torch.special


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


class Of(nn.Module):
    """A function of tensors with one weight."""

    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, nn.Parameter(torch.tensor(1.3))

    def forward(self, *x):
        return self.function(*(t * self.weight.to(t.dtype) for t in x))


def same(function, *operands, tolerance=1e-9, second=True):
    """Values, gradients and, by default, products with second derivatives."""
    module = Of(function).to(operands[0].dtype)
    both = []
    for run in (sdgrad.Module(module), module):
        given = [x.detach().clone().requires_grad_() for x in operands]
        found = run(*given)
        found = found if isinstance(found, tuple) else (found,)
        real = [y for y in found if y.requires_grad]
        seeds = [torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape) for y in real]
        total = sum((y * s).sum() for y, s in zip(real, seeds, strict=True))
        slopes = torch.autograd.grad(total, [*given, module.weight], create_graph=second)
        more = torch.autograd.grad(sum((g * g).sum() for g in slopes), given, allow_unused=True) if second else ()
        both.append((*found, *slopes, *(m for m in more if m is not None)))
    assert len(both[0]) == len(both[1])
    for own, wanted in zip(*both, strict=True):
        torch.testing.assert_close(own, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def spd(a):
    return a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)


def R(*shape, dtype=torch.float64):  # noqa: N802
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


MATRICES = {
    "inverses": lambda a: (L.inv(a), L.det(a), L.slogdet(a)[1], L.pinv(a), L.matrix_power(a, 3), L.matrix_exp(0.3 * a)),
    "solutions": lambda a: (
        *(L.solve(a, a.mT), L.solve(a, a[0]), L.solve(a, a.mT, left=False)),
        *(L.solve_triangular(a, a.mT, upper=True), L.solve_triangular(a, a, upper=False, unitriangular=True)),
        L.tensorsolve(a, a[0]),
    ),
    "factors": lambda a: (
        *(L.cholesky(spd(a)), L.cholesky(spd(a), upper=True), torch.logdet(spd(a))),
        *(torch.cholesky_solve(a, L.cholesky(spd(a))), torch.cholesky_inverse(L.cholesky(spd(a)))),
        *(L.qr(a)[1].abs(), L.lu(a)[2], L.lu_factor(a)[0], L.pinv(a + a.mT, hermitian=True)),
        *(L.lu_solve(*L.lu_factor(a), a.mT), L.lu_solve(*L.lu_factor(a), a.mT, left=False, adjoint=True)),
    ),
    "eigenvalues": lambda a: (L.eigvalsh(a + a.mT), L.eigh(a + a.mT)[1] ** 2, L.eigvalsh(a, UPLO="U")),
    "singular values": lambda a: (L.svdvals(a), L.matrix_norm(a, "nuc"), L.norm(a, 2), L.cond(a)),
}


@pytest.mark.parametrize("case", MATRICES)
def test_matrices(case):
    same(MATRICES[case], R(4, 4), tolerance=1e-7)


def test_stacks_of_matrices_and_single_precision():
    def several(a, b):
        vectors = L.solve(a, b[..., 0])
        return L.inv(a), L.solve(a, b), vectors, L.cholesky(spd(a)), L.svdvals(b), L.eigvalsh(spd(a)), L.qr(b)[1].abs()

    same(several, R(2, 3, 3), R(2, 3, 2), tolerance=1e-7, second=False)
    same(several, R(2, 3, 3, dtype=torch.float32), R(2, 3, 2, dtype=torch.float32), tolerance=2e-3, second=False)


def test_gradients_by_one_triangle_are_those_of_both():
    """PyTorch reads one triangle, and divides the gradient between both."""
    a = R(3, 3)
    same(lambda a: (L.cholesky(a.tril() + 4 * torch.eye(3, dtype=a.dtype)), L.eigvalsh(a)), a)


def test_matrices_without_an_inverse_raise():
    wrapped = sdgrad.Module(Of(lambda a: (L.inv(a), L.cholesky(a))).double())
    wrapped(torch.eye(3, dtype=torch.float64))
    for wrong in (torch.zeros(3, 3, dtype=torch.float64), -torch.eye(3, dtype=torch.float64)):
        with pytest.raises(L.LinAlgError):
            wrapped(wrong)
    wrapped(torch.eye(3, dtype=torch.float64))
    wrapped = sdgrad.Module(Of(lambda a: L.lu_factor(a)[0]).double())
    wrapped(torch.eye(3, dtype=torch.float64))
    with pytest.raises(L.LinAlgError, match="pivot"):
        wrapped(torch.zeros(3, 3, dtype=torch.float64))


def test_the_pseudoinverse_of_a_symmetric_matrix():
    symmetric = spd(R(3, 3))
    same(lambda a: L.pinv(a, hermitian=True) * torch.arange(9.0, dtype=a.dtype).reshape(3, 3), symmetric, second=False)
    below = Of(lambda a: L.pinv(a, hermitian=True)).double()
    torch.testing.assert_close(sdgrad.Module(below)(symmetric.tril()), below(symmetric.tril()))


def test_counts():
    def counts(x):
        return torch.histc(x, 5), torch.histc(x, 4, -0.5, 1.0), torch.histc(x[:1, :1], 3), L.lu_factor(x[:, :3])[1]

    x = R(3, 4)
    x[0, 0], x[1, 1] = -0.5, 1.0
    for given in (x, x.float()):
        for own, wanted in zip(sdgrad.Module(Of(counts).to(given.dtype))(given), Of(counts)(given), strict=True):
            torch.testing.assert_close(own, wanted, rtol=0, atol=0)


SPECIAL = {
    "of all numbers": lambda x: (
        *(S.erfcx(x), S.i0(x), S.i0e(x), S.i1(x), S.i1e(x), S.ndtr(x), S.log_ndtr(x)),
        *(
            S.erfinv(x.tanh() * 0.9),
            S.ndtri(x.sigmoid()),
            torch.copysign(x, -x + 0.3),
            torch.ldexp(x, x.detach() * 0 + 2),
        ),
    ),
    "of positive numbers": lambda x: (
        *(S.digamma(x.exp()), S.polygamma(2, x.exp()), S.multigammaln(x.exp() + 2, 2)),
        *(S.gammainc(x.exp().detach(), x.exp()), S.gammaincc(x.exp().detach(), x.exp())),
    ),
}


@pytest.mark.parametrize("case", SPECIAL)
def test_special_functions(case):
    same(SPECIAL[case], R(3, 4), tolerance=1e-7, second=False)
    same(SPECIAL[case], R(3, 4, dtype=torch.float32), tolerance=2e-4, second=False)


def test_special_functions_that_pytorch_cannot_differentiate():
    """Bessel functions have values there only, and gradients here."""
    x = R(5).exp().requires_grad_()
    module = Of(lambda x: (S.bessel_j0(x), S.bessel_j1(x), S.zeta(x + 1.5, x)))
    found = sdgrad.Module(module.double())(x)
    for own, wanted in zip(found, module(x.detach()), strict=True):
        torch.testing.assert_close(own, wanted)
    (slope,) = torch.autograd.grad(found[0].sum(), x)
    torch.testing.assert_close(slope, -1.3 * S.bessel_j1(1.3 * x.detach()), rtol=1e-6, atol=1e-7)


def selected(x):
    return (
        *torch.kthvalue(x, 2),
        *torch.kthvalue(x, 1, 0, keepdim=True),
        *torch.median(x, 0),
        *torch.nanmedian(x, 1, keepdim=True),
        *(torch.median(x), torch.nanmedian(x)),
        *(*torch.cummax(x, 1), *torch.cummin(x, 0), torch.logcumsumexp(x, 1)),
        torch.masked_scatter(x, x > 0, x * 2),
        torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0], dtype=x.dtype), x.detach(), right=True),
    )


def test_selection():
    x = R(4, 5)
    same(selected, x, second=False)
    ties = x.clone()
    ties[1], ties[2, :3] = x[0], 0.7
    same(lambda x: (torch.median(x), *torch.cummax(x, 1), *torch.cummin(x, 1)), ties, second=False)


def test_medians_of_what_is_not_a_number():
    x = R(3, 5)
    x[1, 2] = float("nan")
    same(lambda x: (*torch.median(x, 1), *torch.nanmedian(x, 1), torch.nanmedian(x)), x, second=False)


# -- functions that look at the content of tensors, where PyTorch's own tracing ends
COUNTS = torch.tensor([1, 2, 1, 3, 1])


def test_covariances():
    def several(x, w):
        return (
            torch.cov(x), torch.cov(x[0]), x.cov(correction=0, aweights=w * w), torch.corrcoef(x), x[1].corrcoef(),
            torch.cov(x, fweights=COUNTS, aweights=w * w), torch.cov(x, fweights=COUNTS),
        )  # fmt: skip

    same(several, R(3, 5), R(5), second=False)
    whole = torch.arange(10).reshape(2, 5)
    module = Of(lambda x: x * torch.cov(whole)[0, 0])
    torch.testing.assert_close(sdgrad.Module(module)(R(2).float()), module(R(2).float()), check_stride=False)


def test_least_squares():
    """Their residuals are those of the drivers that have them."""

    def several(a, b):
        found = L.lstsq(a, b, driver="gelsd")
        return (
            L.lstsq(a, b).solution, L.lstsq(a.mT, b[:3])[0], L.lstsq(a, b[:, 0]).solution, found.residuals,
            L.lstsq(a.expand(2, 5, 3), b.expand(2, 5, 2), rcond=1e-12).solution,
        )  # fmt: skip

    same(several, R(5, 3), R(5, 2), tolerance=1e-7)


def test_all_results_of_least_squares():
    a, b = R(5, 3), R(5, 2)
    for driver in (None, "gelsd"):
        module = Of(lambda a, b, driver=driver: L.lstsq(a, b, driver=driver)).double()
        found, wanted = sdgrad.Module(module)(a, b), module(a, b)
        assert type(found) is type(wanted)
        for own, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(own, other)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: L.qr(a, mode="r")[1], "mode='r'"),
        (lambda a: L.pinv(a, atol=0.1), "tolerance"),
        (lambda a: L.inv_ex(a)[1] + a, "is not computed"),
        (lambda a: L.eigvals(a).real, "complex128"),
        (lambda a: L.householder_product(a, a[0]), "no rule"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(CaptureError, match=message):
        sdgrad.Module(Of(function).double())(R(3, 3))
