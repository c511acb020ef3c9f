"""SciPy's functions of arrays: distributions, interpolation, signals, images, distances, integrals of samples."""

from __future__ import annotations

from .lines import Line

STATISTICS = (
    "stats.norm.logpdf(B, s, t)", "stats.gamma.pdf(B, 2.5 * s, scale=t)", "stats.beta.cdf(B, 2.0, 3.0)",
    "stats.t.logcdf(A, 3.5, s)", "stats.lognorm.sf(B, s)", "stats.logistic.logsf(A, s, t)",
    "stats.weibull_min.ppf(B, 1.5, 0.0, s)", "stats.gumbel_r.isf(B, s, t)", "stats.norm(s, t).logpdf(A)",
    "stats.poisson.logpmf(np.arange(3), s)", "stats.poisson.pmf(np.arange(3), s)", "stats.binom.cdf(2, 5, p)",
    "stats.nbinom.sf(2, 5, p)", "stats.geom.logcdf(2, p)", "stats.geom.logsf(2, p)", "stats.zscore(A)",
    "stats.sem(A, axis=1)", "stats.variation(B, axis=1)", "stats.gmean(B)", "stats.hmean(B)", "stats.skew(A, axis=1)",
    "stats.kurtosis(A, axis=1)", "stats.entropy(B)", "stats.pearsonr(Y, Y**2)",
    "stats.multivariate_normal.logpdf(w, w * s, M @ np.transpose(M))", "stats.multivariate_normal.pdf(w, w * s, t)",
    "stats.multivariate_normal(w * s, M @ np.transpose(M)).logpdf(w)", "stats.dirichlet(p).logpdf(p / np.sum(p))",
    "stats.dirichlet.pdf(p / np.sum(p), p)", "stats.trim_mean(Y, 0.2)", "stats.iqr(A)", "stats.moment(A, 3, axis=1)",
    "stats.median_abs_deviation(Y)", "stats.linregress(Y, Y**2)", "stats.rankdata(Y)", "stats.spearmanr(Y, Y**2)",
    "stats.ttest_1samp(Y, s)", "stats.ttest_ind(Y, v)", "stats.ttest_rel(Y, Y**2)", "stats.f_oneway(A, B)",
    "stats.ttest_ind_from_stats(s, t, 5, t, s, 7)", "stats.bartlett(Y, Y[:4])", "stats.levene(Y, v)",
    "stats.chisquare(p)", "stats.power_divergence(p, lambda_=0)", "stats.jarque_bera(Y)", "stats.pmean(B, 3)",
    "stats.zmap(Y, v)", "stats.gzscore(B)", "stats.gstd(B + 1.0, axis=None)", "stats.describe(A)[2]",
    "stats.circmean(A)", "stats.circvar(A)", "stats.circstd(A)", "stats.boxcox(p, s)", "stats.boxcox_llf(s, p)",
    "stats.yeojohnson(Y, s)", "stats.yeojohnson_llf(s, Y)", "stats.gaussian_kde(Y)(B[0])",
    "stats.gaussian_kde(Y).evaluate(B[0])", "stats.tmean(A, (-0.6, 0.9))", "stats.tvar(A, (None, 0.9), axis=1)",
    "stats.tstd(Y, (-1.0, None))", "stats.tsem(Y)", "stats.tmin(A, -0.5)", "stats.tmax(A, 0.5, axis=None)",
    "stats.gamma.mean(s)", "stats.norm(s, t).entropy()", "stats.gamma(s).median()", "stats.beta.var(s, t)",
    "stats.norm.interval(0.9, s, t)[0]", "stats.t.std(s + 3.0)", "stats.gaussian_kde(Y).pdf(s)",
    "stats.gaussian_kde(Y).integrate_box_1d(s, t)", "stats.wasserstein_distance(Y, u)",
    "stats.energy_distance(Y, u, O, np.abs(x))", "stats.gamma.stats(s, scale=t)[1]", "stats.gamma.moment(2, s)",
    "stats.beta.support(s, t, s, t)[1]", "stats.binned_statistic(np.arange(6.0), Y, 'std', 2)[0]",
)  # fmt: skip

GRID = "(np.arange(3.0), np.arange(2.0))"
POINTS = "np.array([[-9.0, -9.0], [9.0, -8.0], [0.0, 9.0], [0.5, 0.3], [-4.0, 1.0], [3.0, -2.0]])"
INTERPOLATION = (
    "interpolate.CubicSpline(O, Y)(O[0] + B)", "interpolate.CubicSpline(O, Y).integrate(O[0], O[2])",
    "interpolate.PchipInterpolator(O, Y)(O[0] + B)", "interpolate.pchip_interpolate(O, Y, O[0] + B)",
    "interpolate.Akima1DInterpolator(O, Y)(O[0] + 0.1 * B)", "interpolate.interp1d(O, Y)(O[0] + 0.1 * B)",
    "interpolate.PPoly(np.reshape(Y, (3, 2)), np.arange(3.0))(B)",
    "interpolate.BSpline(np.arange(10.0), Y, 3)(3.0 + B)",
    "interpolate.make_interp_spline(np.arange(6.0), Y)(B)", "interpolate.splev(3.0 + B, (np.arange(10.0), Y, 3))",
    "interpolate.barycentric_interpolate(O, Y, O[0] + B)", "interpolate.BarycentricInterpolator(O, Y)(O[0] + B)",
    "interpolate.CubicHermiteSpline(O, Y, Y**2)(O[0] + B)", "interpolate.interp1d(O, Y, 'cubic')(O[0] + 0.1 * B)",
    f"interpolate.RegularGridInterpolator({GRID}, np.reshape(Y, (3, 2)))((B, B))",
    f"interpolate.interpn({GRID}, np.reshape(Y, (3, 2)), (B, B))",
    "interpolate.splev(B, interpolate.splrep(np.arange(6.0), Y))", "interpolate.KroghInterpolator(O, Y)(O[0] + B)",
    "interpolate.splint(s, t, interpolate.splantider(interpolate.splder(interpolate.splrep(np.arange(6.0), Y))))",
    "interpolate.UnivariateSpline(np.arange(6.0), Y, s=0)(B)", "interpolate.krogh_interpolate(O, Y, O[0] + B)",
    "interpolate.InterpolatedUnivariateSpline(np.arange(6.0), Y).integral(s, t)", "interpolate.lagrange(O, Y)(B)",
    "interpolate.make_smoothing_spline(np.arange(6.0), Y, lam=0.3)(B)",
    "interpolate.make_lsq_spline(np.arange(6.0), Y, [0, 0, 0, 2.2, 5, 5, 5], 2)(B)",
    "interpolate.RBFInterpolator(O[:, None], Y, None, 0.1, 'gaussian', 1.0)(np.reshape(B, (-1, 1)))",
    f"interpolate.LinearNDInterpolator({POINTS}, Y)(0.3 * A, 0.4 * A)",
    "interpolate.RectBivariateSpline(np.arange(6.0), np.arange(2.0), np.outer(Y, u[:2]), ky=1).ev(B, 0.3 * B)",
    "interpolate.bisplev(s, t, (np.array([-9.0, -9, 9, 9]), np.array([-9.0, -9, 9, 9]), Y[:4], 1, 1))",
    f"interpolate.griddata({POINTS}, Y, (0.3 * A, 0.4 * A))",
    f"interpolate.CloughTocher2DInterpolator({POINTS}, Y, tol=1e-13)(0.3 * A, 0.4 * A)",
    f"interpolate.NearestNDInterpolator({POINTS}, Y)(0.3 * A, 0.4 * A)",
)  # fmt: skip

SIGNALS = (
    "signal.zpk2tf(Y, u, s)[0]",
    "signal.convolve(Y, v)", "signal.correlate(A, S)", "signal.fftconvolve(Y, v)", "signal.oaconvolve(A, S)",
    "signal.convolve2d(A, S, 'same', 'symm')", "signal.correlate2d(A, S)", "signal.lfilter([1.0, 0.5], [1.5, 0.3], Y)",
    "signal.lfilter(p, [2.0, s], Y)", "signal.lfilter_zi([1.0, s], [2.0, t])",
    "signal.sosfilt([[1.0, 0.5, 0.2, 1.0, 0.3, 0.1]], Y)", "signal.filtfilt([1.0, s], [2.0, t], Y, padlen=2)",
    "signal.sosfilt_zi(np.stack([np.append(Y[:3], np.array([1.0, 0.3, 0.1]))]))",
    "signal.sosfiltfilt([[1.0, 0.5, 0.2, 1.0, 0.3, 0.1]], Y, padlen=2)", "signal.savgol_filter(Y, 5, 2)",
    "signal.detrend(A)", "np.abs(signal.hilbert(Y))", "signal.resample(Y, 9)", "signal.square(A, s)",
    "signal.decimate(np.tile(Y, 5), 2)",
    "signal.sawtooth(A, s)", "signal.chirp(A, s, 2.0, t)", "signal.gausspulse(A, s)", "signal.welch(Y, nperseg=4)",
    "signal.periodogram(A)", "signal.csd(Y, Y**2, nperseg=4)[1]", "signal.spectrogram(Y, nperseg=4)[2]",
    "signal.coherence(Y, Y**2, nperseg=4)[1]", "signal.upfirdn(u, Y, 3, 2)", "signal.resample_poly(A, 3, 2)",
    "signal.medfilt(Y)", "signal.medfilt2d(A)", "signal.lfiltic([1.0, s], [2.0, t], Y[:1])",
    "signal.deconvolve(Y, np.abs(u))[0]",
    "signal.freqz(u, x + 9.0, 5)[1]", "signal.freqz_sos([[1.0, s, 0.2, 1.0, 0.3, t]], np.arange(3.0))[1]",
    "signal.sosfreqz([[1.0, s, 0.2, 1.0, 0.3, t]], 4)[1]",
    "signal.freqz_zpk(u, x + 9.0, s, 5)[1]", "signal.freqs(u, x + 9.0, np.arange(3.0))[1]",
    "signal.lombscargle(O, Y, u)", "signal.stft(Y, nperseg=4)[2]",
    "signal.istft(signal.stft(Y, nperseg=4)[2], nperseg=4)[1]",
)  # fmt: skip

IMAGES = (
    "ndimage.map_coordinates(A, [p, p + 1.0], order=1)", "ndimage.map_coordinates(A, [p, p + 1.0], mode='mirror')",
    "ndimage.gaussian_filter(A, 0.8)", "ndimage.gaussian_filter1d(A, s, radius=2)", "ndimage.uniform_filter(A)",
    "ndimage.uniform_filter1d(A, 2)", "ndimage.convolve(A, S)", "ndimage.convolve1d(A, u)", "ndimage.correlate(A, S)",
    "ndimage.correlate1d(A, u)", "ndimage.sobel(A)", "ndimage.prewitt(A)", "ndimage.laplace(A)",
    "ndimage.gaussian_laplace(A, 0.8)", "ndimage.zoom(A, 1.5)", "ndimage.shift(A, s, order=1)",
    "ndimage.rotate(A, 30.0)", "ndimage.affine_transform(A, np.eye(2) * s)", "ndimage.spline_filter(A)",
    "ndimage.spline_filter1d(A)", "ndimage.maximum_filter(A, 2)", "ndimage.minimum_filter(A, 2)",
    "ndimage.median_filter(A, 3)", "ndimage.rank_filter(A, 1, 2)", "ndimage.percentile_filter(A, 30, 2)",
    "ndimage.gaussian_gradient_magnitude(A, 0.8)", "ndimage.sum(A)", "ndimage.sum_labels(Y, np.arange(6) % 3, [1, 2])",
    "ndimage.mean(Y, np.arange(6) % 3)", "ndimage.variance(Y, np.arange(6) % 3, [1, 2])", "ndimage.median(A)",
    "ndimage.standard_deviation(Y)", "ndimage.minimum(Y, np.arange(6) % 2, [0, 1])", "ndimage.maximum(Y)",
    "ndimage.center_of_mass(B)",
    "ndimage.maximum_filter1d(A, 2)", "ndimage.minimum_filter1d(A, 2)",
)  # fmt: skip

_NO_WEIGHTS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")
OTHERS = (
    "distance.cdist(A, B)", "distance.pdist(A)", "distance.squareform(u)", "distance.minkowski(u, x, 3)",
    *(f"distance.{name}(u, x)" for name in _NO_WEIGHTS), "distance.mahalanobis(w, u, S)",
    "distance.seuclidean(v, p, p)",
    "optimize.lsq_linear(S + np.diag(w * w + 3.0), w, (-0.1, 0.2)).x",
    "integrate.trapezoid(A)", "integrate.simpson(Y, O)", "integrate.cumulative_trapezoid(A, initial=0)",
    "integrate.cumulative_simpson(Y, x=O)", "integrate.romb(u)", "integrate.fixed_quad(np.exp, s, t)[0]",
)  # fmt: skip

LINES = tuple(map(Line, (*STATISTICS, *INTERPOLATION, *SIGNALS, *IMAGES, *OTHERS)))
