"""What the tests of HIPS autograd go through: its functions at two orders, and their combinations of arguments."""

import itertools

import numpy as np
import pytest
import scipy.signal
import scipy.special
import scipy.stats
from modes.table.facts import rows
from modes.table.libraries import names
from modes.table.sections import sections
from together import differences

rng = np.random.default_rng(0)
GIVEN = {
    "s": 0.7, "v": rng.standard_normal(3), "w": rng.standard_normal(3), "A": rng.standard_normal((2, 3)),
    "B": rng.standard_normal((4, 3)), "P": rng.standard_normal((3, 4)), "T": rng.standard_normal((2, 2, 3)),
    "S": rng.standard_normal((2, 3, 4)), "Q": rng.standard_normal((3, 3)) + 3.0 * np.eye(3),
    "D": rng.standard_normal((2, 3, 3)) + 4.0 * np.eye(3), "p": rng.uniform(0.2, 0.8, (4, 3)),
    "F": rng.standard_normal((4, 3, 2, 2)), "c": rng.uniform(0.5, 1.5, (4, 1)), "r": rng.uniform(0.5, 1.5, (1, 3)),
}  # fmt: skip
NAMES = {
    "special": scipy.special, "stats": scipy.stats, "signal": scipy.signal, "K": rng.random((2, 3, 4)) > 0.5,
    "L": rng.random((2, 3, 4)) > 0.5, "known": rng.standard_normal(3),
}  # fmt: skip

AXES = ("", "axis=0", "axis=-1, keepdims=True", "axis=(0, 2)", "axis=(-1, 1), keepdims=True")
REDUCED = ("sum", "mean", "prod", "var", "std", "max", "min")
REDUCTIONS = [f"np.{f}(S, {a})" for f, a in itertools.product(REDUCED, AXES)]
REDUCTIONS += [
    f"np.{f}({x}, {a}ddof=1)" for f in ("var", "std") for x, a in (("v", ""), ("S", "axis=1, keepdims=True, "))
]
REDUCTIONS += ["np.cumsum(S)", "np.cumsum(S, axis=-2)", "np.sum(A, 0)", "sum([A, A * s])", "np.mean(p, keepdims=True)"]

MATRICES = {  # what is multiplied with what
    "dot": "s,A v,w A,v v,P A,P T,v A,S T,S s,s",
    "matmul": "v,w v,P A,v A,P T,P A,S T,S v,S T,v",
    "inner": "s,v v,w A,v A,B T,B",
    "kron": "v,w A,P v,A T,A",
    "outer": "v,w A,P",
}
PRODUCTS = [f"np.{f}({x})" for f, pairs in MATRICES.items() for x in pairs.split()]
PRODUCTS += [
    "np.tensordot(A, P, [(1,), (0,)])", "np.tensordot(S, B, [(1,), (1,)])", "np.tensordot(A, S, [(0, 1), (0, 1)])",
    "np.tensordot(S, A, [(1, 0), (1, 0)])", "np.tensordot(A, P, axes=1)", "np.tensordot(A, S)", "np.tensordot(v, s, 0)",
    "np.tensordot(A, P, [[-1], [0]])", "np.tensordot(v, A, axes=0)", "np.cross(Q, B[:3])",
    "np.cross(Q, B[:3], axisa=0, axisb=1, axisc=0)", "np.cross(Q, B[:3], axis=0)", "np.cross(v, B)",
    *(f"np.einsum({x})" for x in (
        "'ij->ji', A", "'ij,jk->ik', A, P", "'...ij,...jk->...ik', T, P", "'...ij,...jk->...ik', T, S",
        "'ijk,lji->lki', S, np.stack([P[:, :2], P[:, 2:]])", "'...,...->...', A, r", "'ij...,kj...->ki...', S, B",
        "'j...k,lj...->lk...', P.T, B.T", "'ijk,lkj,lli->li', T, T.transpose(0, 2, 1), D[:, :2, :2]", "'ii->i', Q",
        "'ii', Q", "'ij,ij', A, A", "'i,j', v, w", "A, (0, 1), (1, 0)", "A, (0, 1), P, (1, 2), (0, 2)",
        "T, (..., 0, 1), S, (..., 1, 2), (..., 0, 2)", "'ijk->', S",
    )),
]  # fmt: skip

BROADCAST = [
    *(f"np.{f}({x})" for f in ("maximum", "minimum", "fmax", "fmin") for x in ("B, r", "c, r", "s, B")),
    *(f"np.{f}(c, r)" for f in ("power", "hypot", "arctan2", "logaddexp", "logaddexp2", "true_divide", "subtract")),
    "np.mod(B, -r)", "np.mod(B, c + 0.5)", "np.remainder(c, 0.3 + r)", "B % (r + 0.7)", "(B > 0) * r - c", "c ** -2",
    "np.where(B > 0, r, c)", "np.clip(B, -0.3, r)", "np.multiply(B, s)", "s / c", "np.sinc(B)", "np.nan_to_num(B)",
]  # fmt: skip

SHAPES = [
    *(f"np.transpose(S, {axes})" for axes in (None, (0, 2, 1), (2, 0, 1), (-1, 1, -3))),
    *(f"np.repeat(A, {n}, {a})" for n, a in ((0, 1), (1, 0), (2, None), (2, -1))), "np.repeat(A, [2, 0, 1], 1)",
    *(f"np.diff(S, n={n}, axis={a})" for n, a in ((1, 0), (2, -1), (1, 1))), "np.diff(v, 3)", "np.tile(A, (2, 1, 2))",
    "np.tile(v, 2)", *(f"np.rollaxis(S, {a}, {b})" for a, b in ((0, 3), (1, 0), (2, 1), (-1, -2))),
    "np.swapaxes(S, -1, 0)", "np.moveaxis(S, (0, 1), (-1, 0))", "np.roll(S, (1, -2), (0, 2))", "np.roll(A, 2)",
    "np.flipud(A)", "np.fliplr(A)", "np.rot90(S, 3, (1, 2))", "np.squeeze(c)", "np.expand_dims(A, (0, -1))",
    *(f"np.trace({x}, offset={k})" for x in ("Q", "P", "S") for k in (-1, 0, 1)), "np.trace(S, 1, 2, 1)",
    *(f"np.diag({x}, {k})" for x in ("Q", "v") for k in (-1, 0, 1)), "np.diagonal(S, 1, -1, -2)", "np.tril(S, 1)",
    "np.triu(S, -1)", "np.vsplit(B, [1, 2])[1]", "np.hsplit(P, 2)[1]", "np.dsplit(S, [1, 3])[2]", "np.split(B, 2)[0]",
    "np.array_split(B, 3, axis=0)[2]", "np.array_split(P, [1, 3], axis=-1)[1]", "np.concatenate((A, A * A), axis=-1)",
    "np.concatenate([v, np.ravel(A)])", "np.vstack((v, w))", "np.vstack((A, B))", "np.hstack((T, T[:, :1]))",
    "np.stack((v, w), axis=-1)", "np.row_stack((v, B))", "np.column_stack((v, P))", "np.append(v, s)",
    "np.append(A, B, axis=0)", "np.select([K, L], [S, S * S], default=1.1)", "np.atleast_1d(s)", "np.atleast_2d(s)",
    "np.atleast_3d(A)", "np.atleast_3d(F)", "np.gradient(B, axis=0)", "np.gradient(B)[1]", "np.sort(v)",
    "np.sort(B, axis=0)",
    "np.partition(np.ravel(P), (3, 6))[6]", "np.pad(A, 1, mode='constant')", "np.pad(A, ((0, 1), (2, 0)))",
    "np.linspace(s, v[0], 4)", "np.full((2, 2), s)", "np.array([[s, s * 1.0, s + 2.5], [s**2, s, s / 2.0]])",
    "np.array([[2 * v, v + 1], [v, v]])", "np.r_[v, known, 1:3]", "np.c_[A.T, v]", "S[1, ::-1, [0, 3]]", "S[0, 1, 2]",
    "S[::-1, 1:3, :]", "v[[0, 1, 0]]", "np.dot(P[0, :2], P[1, 2:])", "S[:, [0, 2]][..., None]", "B.reshape(2, 6)",
    "np.reshape(B, (3, -1), order='F')", "B.flatten()", "B.astype(np.float64)", "np.broadcast_to(r, (4, 3))",
]  # fmt: skip

LINEAR = [  # besides those of test_decompositions.py
    *(f"np.linalg.norm(v, {k})" for k in (None, 1, 2, 3, 4)),
    *(f"np.linalg.norm(S, axis={a})" for a in (0, 1, -1, (0, 1))),
    "np.linalg.norm(S, 3, axis=1)", "np.linalg.norm(A, 'nuc')", "np.linalg.norm(S, 'nuc', axis=(0, 2))",
    "np.linalg.norm(D, 'fro', axis=(-2, -1), keepdims=True)", "np.linalg.inv(Q)", "np.linalg.inv(D)",
    "np.linalg.det(D)",
    "np.linalg.slogdet(D)[1]", "np.linalg.solve(Q, P)", "np.linalg.solve(Q, v)", "np.linalg.solve(D, S)",
    "np.linalg.pinv(S)", "np.abs(np.linalg.eigh(Q @ Q.T, 'U')[1])",
    "np.linalg.eigh(D @ np.swapaxes(D, -1, -2), 'U')[0]", "np.linalg.cholesky(Q @ Q.T)",
    "np.linalg.cholesky(D @ np.swapaxes(D, -1, -2))", "np.linalg.svd(P, full_matrices=False, compute_uv=False)",
    "np.linalg.svd(S, compute_uv=False)", "np.real(np.linalg.eig(Q)[0])",
]  # fmt: skip

_SIZES = ("B", "B, 2, axis=0", "B, 6, axis=0", "B, 5, norm='ortho'", "S, axis=1")
_SEVERAL = ("S, s=(5, 2), axes=(0, 2)", "S, axes=(1, 0)", "S")
FOURIER = [
    *(f"np.abs(np.fft.{f}({a}) + 9.0)" for f in ("fft", "ifft", "rfft") for a in _SIZES),
    *(f"np.fft.irfft({a})" for a in ("B * (1 + 0.5j)", "B * (1 + 0.5j), 5", "S * 1j, axis=1, norm='ortho'")),
    *(f"np.abs(np.fft.{f}({a}) + 9.0)" for f in ("fftn", "ifftn", "rfftn") for a in _SEVERAL),
    *(f"np.abs(np.fft.{f}({a}) + 9.0)" for f in ("fft2", "ifft2", "rfft2") for a in _SEVERAL[1:]),
    "np.fft.irfftn(S * (1 + 0.2j), s=(4, 3), axes=(0, 1))", "np.fft.irfft2(S * (1 + 0.2j))",
    "np.abs(np.fft.fftn(S, axes=(1, 1)) + 9.0)", "np.real(np.fft.rfftn(S))[(0, 1, 0), (1, 2, 2)]", "np.fft.fftshift(B)",
    "np.fft.fftshift(B, axes=1)", "np.fft.ifftshift(P, axes=(0,))",
]  # fmt: skip

LIKELIHOODS = [
    *(f"special.logsumexp({a})" for a in (
        "v", "S, axis=1", "S, axis=(0, 2), keepdims=True", "B, axis=0, b=np.exp(B)", "v, keepdims=True",
    )),
    *(f"stats.norm.{f}(B, r, c)" for f in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf")), "stats.norm.ppf(p, r, c)",
    "stats.norm.isf(p, r, c)", *(f"stats.t.{f}(B, 3.1, B * 0.3, c)" for f in ("pdf", "cdf", "logpdf", "logcdf")),
    *(f"stats.beta.{f}(p, r, c)" for f in ("pdf", "cdf", "logpdf")),
    *(f"stats.gamma.{f}(p, c)" for f in ("pdf", "cdf", "logpdf")),
    *(f"stats.chi2.{f}(p, {k})" for f, k in (("pdf", 1), ("cdf", 2), ("logpdf", 3))),
    *(f"stats.poisson.{f}(np.array([0, 1, 4]), c)" for f in ("cdf", "pmf", "logpmf")),
    "special.multigammaln(4.0 + p, 2)",
    *(f"signal.convolve(v, B[0], '{m}')" for m in ("full", "valid", "same")), "special.polygamma(0, p)",
    *(f"signal.convolve(B, A, '{m}')" for m in ("full", "valid", "same")), "special.jv(2, p)", "special.yv(2, p)",
]  # fmt: skip
TOPICS = {
    "reductions": REDUCTIONS, "products": PRODUCTS, "broadcast": BROADCAST, "shapes": SHAPES, "linear": LINEAR,
    "fourier": FOURIER, "likelihoods": LIKELIHOODS,
}  # fmt: skip


def test_each_function_is_compared_at_two_orders():
    """A function with a gradient has a line in the tables of modes, which differentiates it twice."""
    facts = {(s.module, f.name): f for s in sections() for f in rows(s)}
    theirs = {(m, n) for m, ns in names("autograd").items() for n in ns}
    assert len(theirs) > 250
    assert [k for k in theirs if not facts[k].here] == []
    assert [k for k in theirs if facts[k].gradient == "yes" and not facts[k].orders.startswith("any")] == []


@pytest.mark.parametrize("topic", TOPICS)
def test_combinations_of_arguments(topic):
    texts = TOPICS[topic]
    used = {n: v for n, v in GIVEN.items() if any(n in t for t in texts)}
    assert differences(texts, NAMES, used, step=1e-3, loose=1e-6) == []
