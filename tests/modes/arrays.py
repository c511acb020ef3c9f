"""Functions of whole arrays: shapes, reductions, scans, sorting, statistics."""

from __future__ import annotations

from .lines import Line

SHAPES = (
    "np.asarray(A)", "np.asanyarray(A)", "np.ascontiguousarray(A)", "np.asfortranarray(A)", "np.array([v, v * v])",
    "np.copy(A)", "np.zeros_like(A) + A", "np.ones_like(A) * A", "np.empty_like(A) * 0.0 + A",
    "np.full_like(A, 2.0) * A", "np.full((2, 3), s)", "np.zeros(3) + s", "np.ones(3) * s", "np.empty(3) * 0.0 + s",
    "written(lambda z: z.fill(2.0), np.ndarray(3)) * s", "np.arange(3) * s", "np.eye(3) * s", "np.identity(3) * s",
    "np.tri(3) * s", "np.linspace(s, t, 4)", "np.linspace(s, t, 4, endpoint=False)", "np.logspace(s, t, 4)",
    "np.geomspace(s, t, 4)", "np.vander(u)", "np.vander(u, 4, increasing=True)", "np.shape(A)[0] * A",
    "np.ndim(A) * A", "np.size(A) * A", "np.transpose(A)", "np.transpose(T, (1, 2, 0))", "np.swapaxes(T, 0, 2)",
    "np.moveaxis(T, 0, -1)", "np.rollaxis(T, 2)", "np.matrix_transpose(T)", "np.linalg.matrix_transpose(T)",
    "T.mT", "np.flip(A)", "np.flip(T, (0, 2))", "np.flipud(A)", "np.fliplr(A)", "np.rot90(A)", "np.rot90(A, 2)",
    "np.diagonal(A)", "np.diagonal(A, 1)", "np.linalg.diagonal(T)", "np.reshape(A, -1)",
    "np.reshape(A, A.shape[::-1], order='F')", "np.ravel(A)", "np.ravel(A, 'F')", "np.squeeze(c, 1)",
    "np.expand_dims(A, (0, 2))", "np.broadcast_to(v, (2, v.shape[0]))", "np.broadcast_arrays(c, r)",
    "np.atleast_1d(s)", "np.atleast_2d(v)", "np.atleast_3d(v)", "np.atleast_3d(A)", "np.concatenate((A, B), axis=1)",
    "np.concatenate((A, B), axis=None)", "np.stack((A, B), axis=-1)", "np.vstack((A, v))", "np.row_stack((A, v))",
    "np.hstack((v, w))", "np.dstack((A, B))", "np.column_stack((A, w))", "np.append(v, s)",
    "np.block([[A, c], [r, np.ones((1, 1)) * s]])", "np.meshgrid(v, w)", "np.meshgrid(v, w, indexing='ij')",
    "np.apply_along_axis(np.sum, 1, A)", "np.split(A, 2, axis=1)", "np.array_split(Y, 4)", "np.vsplit(A, [1])",
    "np.hsplit(A, [1, 2])", "np.dsplit(T, [1])", "np.unstack(A)", "np.repeat(A, 2)", "np.repeat(A, 2, axis=1)",
    "np.tile(A, (2, 2))", "np.resize(v, (2, 5))", "np.roll(v, 2)", "np.roll(A, -1, axis=1)", "np.roll(A, 1)",
    "np.pad(A, ((1, 2), (0, 1)))", "np.pad(A, 1, mode='edge')", "np.pad(A, 1, mode='reflect')",
    "np.pad(A, 1, mode='wrap')", "np.pad(A, 1, mode='symmetric')", "np.delete(v, 1)", "np.delete(A, [0], axis=1)",
    "np.insert(v, 1, s)", "np.insert(A, 1, w, axis=1)", "A[np.diag_indices_from(S)]", "np.take(A, o)",
    "np.take(A, [0, 0], axis=1)", "np.take_along_axis(A, np.argsort(A, axis=1), axis=1)",
    "written(np.put_along_axis, A, np.argmax(A, axis=1)[:, None], 2.0, 1)", "np.compress([True], A, axis=0)",
    "np.extract([True, False, True], u)", "u[np.nonzero(np.array([1, 0, 2]))[0]]",
    "u[np.flatnonzero(np.array([1, 0]))]",
    "u[np.argwhere(np.array([1, 0, 2]))]", "np.diag(v, 1)", "np.diag(A)", "np.diagflat(A)",
    "written(np.copyto, A, v)", "written(np.copyto, A, B, where=K)", "written(np.put, Y, o, s)",
    "written(np.place, u, np.array([True, False, True]), [2.0])", "written(np.putmask, A, K, B)",
    "written(np.fill_diagonal, A, s)",
    "np.where(K, A, B)", "np.where(A > 0, A, 0.0)", "np.select([A > 0, B > 0.5], [A * B, B], 3.0)",
    "np.choose(o, [Y[:4], Y[1:5], Y[2:]])", "np.piecewise(A, [A < 0, A >= 0], [lambda z: -z, lambda z: z * z])",
    "np.clip(A, -0.5, 0.5)", "np.clip(A, None, B)", "A[np.ix_([0], [0])]", "np.triu(A)", "np.triu(T, 1)",
    "np.tril(A, -1)", "A.T @ A", "A.reshape(-1)", "A.ravel()", "A.flatten('F')", "T.transpose(2, 0, 1)",
    "T.swapaxes(0, 1)", "c.squeeze(1)", "A.diagonal()", "A.repeat(2, axis=0)", "A.take([0], axis=1)",
    "o.choose([Y[:4], Y[1:5], Y[2:]])", "A.compress([True], axis=0)", "A.copy()", "A.item(0)", "u.tolist()[1] * s",
    "A.astype(np.float64)", "written(lambda z: z.fill(s), A)",
    "written(lambda z: z.put([0], s), A)", "u[np.array([1, 0, 2]).nonzero()[0]]", "A.clip(-0.5, 0.5)", "A.conj()",
    "u[np.argsort(u)]", "u[o]", "A[::-1, 1:]", "A[:, None] * c", "A.real", "A.imag",
)  # fmt: skip

CASTS = tuple(
    f"np.{name}(2.25 + B * 0.5) * 1.0"
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "complex64",
        "complex128",
    )
)  # fmt: skip

REDUCTIONS = (
    "np.sum(A)", "np.sum(A, axis=0)", "np.sum(T, axis=(0, 2), keepdims=True)", "np.sum(A, where=K)", "np.prod(A)",
    "np.prod(A, axis=1)", "np.max(A)", "np.max(A, axis=0)", "np.amax(A, axis=1)", "np.min(A)", "np.amin(A, axis=0)",
    "np.max(A, initial=0.1)", "np.ptp(A)", "np.ptp(A, axis=1)", "np.count_nonzero(A)", "np.any(A > 0, axis=0)",
    "np.all(A > 0, axis=1)", "np.mean(A)", "np.mean(A, axis=0)", "np.mean(T, axis=(0, 2))", "np.var(A)",
    "np.var(A, axis=1, ddof=1)", "np.std(A)", "np.std(A, axis=0)", "np.average(A)", "np.average(A, axis=1, weights=p)",
    "np.average(A, weights=B)", "np.nansum(A, axis=0)", "np.nanprod(A, axis=0)", "np.nanmax(A, axis=0)",
    "np.nanmin(A)", "np.nanmean(A, axis=1)", "np.nanvar(A)", "np.nanstd(A, axis=0)", "np.argmax(A, axis=1)",
    "np.argmin(A)", "A.sum(0)", "A.prod(axis=1)", "A.mean(1)", "A.var()", "A.std(axis=0)", "A.max(axis=0)",
    "A.min()", "np.ptp(A, axis=0)", "(A > 0).any(axis=0)", "(A > 0).all()", "A.argmax(axis=0)", "A.argmin()",
    "np.add.reduce(A)", "np.multiply.reduce(A, axis=1)", "np.maximum.reduce(A)", "np.minimum.reduce(A, axis=None)",
    "np.logical_and.reduce(K)", "np.logical_or.reduce(A > 0, axis=1)", "np.logaddexp.reduce(A, axis=1)",
    "np.add.accumulate(A)", "np.multiply.accumulate(A, axis=1)", "np.maximum.accumulate(A, axis=1)",
    "np.minimum.accumulate(A)", "np.add.outer(v, w)", "np.hypot.outer(v, w)", "written(np.add.at, Y, o, Y[:4])",
    "np.cumsum(A)", "np.cumsum(A, axis=0)", "np.cumprod(A, axis=1)", "np.nancumsum(A, axis=1)", "np.nancumprod(v)",
    "np.cumulative_sum(v, include_initial=True)", "np.cumulative_prod(v)", "A.cumsum(axis=1)", "A.cumprod(axis=0)",
    "np.diff(v)", "np.diff(A, axis=0)", "np.diff(A, n=2)", "np.ediff1d(v)", "np.ediff1d(v, to_begin=s)",
    "np.unwrap(Y * 4)", "np.gradient(Y, 0.5)", "np.gradient(A)", "np.gradient(Y, O)", "np.trapezoid(v)",
    "np.trapezoid(Y, O)", "np.trapezoid(A, dx=0.1, axis=0)", "special.logsumexp(A)", "special.logsumexp(A, axis=1)",
    "special.logsumexp(A, axis=0, b=B)", "special.logsumexp(A, b=-B, return_sign=True)[0]",
    "special.softmax(A)", "special.softmax(A, axis=1)",
    "special.log_softmax(A, axis=0)", "math.prod([s, t, s])", "math.fsum([s, t, s])", "math.dist([s, t], [t, 0.3])",
    "math.modf(s + 1)[0]", "math.factorial(i) * s", "math.comb(i, 2) * s", "math.hypot(s, t, 0.5)",
    "sum([s, t, s])", "max(s, t)", "min(s, t)", "abs(s - 1)", "np.iscomplexobj(A) * A", "np.isrealobj(A) * A",
    "np.may_share_memory(A, A) * A",
    "np.isscalar(s) * s", "np.ones(2, np.result_type(A, np.float32)) * s", "np.allclose(A, B)", "np.array_equal(A, B)",
    "np.array_equiv(A, B)", "sdgrad.stop_gradient(A) * 0.0 + A",
)  # fmt: skip

SORTED = (
    "np.sort(A)", "np.sort(A, axis=0)", "np.argsort(A, axis=0)", "np.partition(Y, 2)[2]", "np.sort(Y[np.argpartition("
    "Y, 2)[:3]])", "np.quantile(A, 0.3)", "np.quantile(A, [0.2, 0.7], axis=1)", "np.quantile(Y, 0.4, method='lower')",
    "np.percentile(A, 30, axis=0)", "np.median(A)", "np.median(A, axis=1)", "np.searchsorted(O, A)",
    "np.digitize(A, [0.0, 0.5])", "np.bincount([2, 0, 1, 2], weights=Y[:4])", "np.bincount([2, 0, 1, 2]) * u",
    "A.argsort(axis=1)",
    "written(lambda z: z.sort(), A)", "np.sort(Y[Y.argpartition(2)[:3]])", "O.searchsorted(A)",
    "np.cov(A)", "np.cov(u, x)", "np.cov(A, rowvar=False, bias=True)", "np.corrcoef(A)", "np.corrcoef(u, x)",
    "np.polyval(u, s)", "np.polyval(u, A)", "np.polynomial.polynomial.polyval(A, u)", "np.polyder(v)",
    "np.polynomial.polynomial.polyvander(v, 3)", "np.polynomial.chebyshev.chebvander(v, 3)",
    "np.polynomial.legendre.legvander(v, 3)", "np.polynomial.hermite.hermvander(v, 3)",
    "np.polynomial.hermite_e.hermevander(v, 3)", "np.polynomial.laguerre.lagvander(v, 3)",
    "np.polynomial.polynomial.polyadd(p, u)", "np.polynomial.polynomial.polysub(u, p)",
    "np.polynomial.polynomial.polymul(u, p)", "np.polynomial.polynomial.polyder(u)",
    "np.polynomial.polynomial.polyint(u, 1, s)", "np.poly1d(u)(A)", "(np.poly1d(p) * np.poly1d(u)).deriv()(v)",
    "np.polynomial.polynomial.Polynomial(u).integ()(A)", "np.polynomial.chebyshev.Chebyshev(u)(A)",
    "np.polynomial.legendre.Legendre(u).deriv()(v)", "np.polynomial.hermite.Hermite(u)(v)",
    "np.polynomial.hermite_e.HermiteE(u)(v)", "(np.polynomial.laguerre.Laguerre(u) * s)(v)",
    "np.polyint(v)", "np.polymul(u, v)", "np.polyadd(u, v)", "np.polysub(v, u)", "np.convolve(v, u)",
    "np.convolve(u, v, 'same')", "np.correlate(v, u)", "np.correlate(u, Y, 'full')", "np.interp(A, O, Y)",
    "np.interp(s, O, Y, left=0.0)",
)  # fmt: skip

COARSE = ("np.float16(H) * A[0, 0]", "np.float32(H) * A[0, 0]", "H.astype(np.float32) * A[0, 0]")
"""Casts to less precise types, of values that are exact in them."""

LINES = tuple(map(Line, (*SHAPES, *CASTS, *COARSE, *REDUCTIONS, *SORTED)))
