"""Counts, quantiles, sets, polynomials, windows, places, methods of universal functions, cosine transforms."""

from __future__ import annotations

from .lines import Line

COUNTS = (
    "np.histogram(Y, 4, (-2.0, 2.0))[0] * s", "np.histogram(Y, [-1.0, 0.0, 1.0], weights=O)[0]",
    "np.histogram(Y, 3, density=True, weights=O)", "np.histogram_bin_edges(Y, 3)",
    "np.histogram2d(Y, O, 3, [[-2, 2], [0, 3]], weights=O)", "np.histogramdd((Y, O), [2, 3], weights=O)[0]",
    "np.unique([3, 1, 1]) * s", "np.unique_values([3, 1, 1]) * s", "np.unique_all([3, 1, 1])[3] * s",
    "np.unique_counts([3, 1, 1])[1] * s", "np.unique_inverse([3, 1, 1])[1] * s", "np.intersect1d([3, 1], [1, 2]) * s",
    "np.setdiff1d([3, 1], [1, 2]) * s", "np.union1d([3, 1], [1, 2]) * s", "np.setxor1d([3, 1], [1, 2]) * s",
    "np.isin(I, [1, 2]) * A", "np.lexsort((Y, O)) * s", "np.sort_complex(v)", "np.nanargmax(A, axis=1) * s",
    "np.nanargmin(A) * s", "np.nanmedian(np.where(A > 0.5, np.nan, A), axis=0)", "np.nanmedian(A)",
    "np.nanquantile(np.where(A > 0.5, np.nan, A), [0.3, 0.8], axis=1)", "np.nanpercentile(A, 30, axis=0)",
    "np.quantile(A, [0.2, 0.7], axis=1, method='hazen')", "np.quantile(A, 0.3, method='averaged_inverted_cdf')",
    "np.quantile(A, 0.3, axis=0, method='closest_observation')", "np.quantile(A, [0.2, 0.6], axis=1, weights=p, "
    "method='inverted_cdf')", "np.cov(A, aweights=[0.1, 0.2, 0.3, 0.4])", "np.cov(A, fweights=[1, 2, 3, 1], ddof=0)",
)  # fmt: skip

POLYNOMIALS = (
    "np.polyfit(O, Y, 2)", "np.polyfit(O, Y, 1, w=O)", "np.polynomial.polynomial.polyfit(O, Y, 2)", "np.poly(u)",
    "np.polynomial.polynomial.polyfromroots(u)", "np.polydiv(Y, u)", "np.polynomial.polynomial.polyval(A, P)",
    "np.polynomial.chebyshev.chebval(A, Y)", "np.polynomial.legendre.legval(A, Y)",
    "np.polynomial.hermite.hermval(A, u)", "np.polynomial.hermite_e.hermeval(A, Y)",
    "np.polynomial.laguerre.lagval(A, Y)", "np.polyint(v, m=2, k=[1.0, 2.0])", "np.i0(A)", "np.kaiser(5, s)",
    "np.interp(A, O, Y, period=2.0)",
)  # fmt: skip

PLACES = (
    "np.lib.stride_tricks.sliding_window_view(Y, 3) @ u", "np.lib.stride_tricks.sliding_window_view(A, 2, axis=1)",
    "np.unravel_index(np.argmax(A), A.shape)[0] * s", "np.ravel_multi_index((np.argmax(A, 0), np.argmin(A, 0)), (3, 4))"
    " * s", "S[np.triu_indices_from(S)]", "S[np.tril_indices_from(S, -1)]", "np.apply_over_axes(np.sum, T, [0, 2])",
    "np.astype(A, np.float64)", "len(np.einsum_path('ij,jk', A, P)[0]) * s", "np.einsum(A, [0, 1], v, [1], [0])",
    "np.r_[v, 0, w]", "np.c_[A, w]", "np.r_['0,2', v, v]", "np.pad(A, (1, 2), mode='linear_ramp', end_values=s)",
    "np.pad(A, 1, mode='mean', stat_length=2)", "np.pad(A, 1, mode='maximum')",
    "np.pad(A, 2, mode='reflect', reflect_type='odd')", "np.vectorize(np.hypot)(A, B)",
)  # fmt: skip

METHODS = (
    "np.subtract.reduce(A, axis=1)", "np.hypot.reduce(A, axis=0)", "np.divide.reduce(O)", "np.fmax.reduce(A, axis=1)",
    "np.logaddexp.reduce(A, axis=0, initial=1.0)", "np.hypot.reduce(A, where=K)", "np.subtract.accumulate(v)",
    "np.logaddexp.accumulate(A, axis=1)", "np.add.reduceat(Y, [0, 2, 4])", "np.multiply.reduceat(Y, [0, 3, 1])",
    "np.maximum.reduceat(A, [0, 2], axis=1)", "written(np.multiply.at, Y, o, Y[:4])",
    "written(np.maximum.at, Y, o, Y[:4])", "written(np.negative.at, Y, [0, 0, 1])", "written(np.hypot.at, O, o, s)",
)  # fmt: skip

TRANSFORMS = (
    *(f"fft.{name}(A, {kind})" for name in ("dct", "idct", "dst", "idst") for kind in (1, 2, 3, 4)),
    "fft.dct(A, 2, norm='ortho', axis=0)", "fft.idct(A, 2, norm='forward', n=3)", "fft.dst(A, 2, norm='ortho')",
    "fft.dctn(A, 2, norm='ortho')", "fft.idctn(A, 3)", "fft.dstn(A, 1)", "fft.idstn(A, 4, s=(2, 5))",
    "fft.hfftn(A)", "fft.ihfftn(A)", "fft.hfft2(T)", "fft.ihfft2(A)", "fft.fftfreq(4, s)", "fft.rfftfreq(4, s)",
    "np.fft.fftfreq(5, s)", "np.fft.rfftfreq(5, s)",
)  # fmt: skip

LINES = tuple(map(Line, (*COUNTS, *POLYNOMIALS, *PLACES, *METHODS, *TRANSFORMS)))
