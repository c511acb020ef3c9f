// Distribution functions by sums and integrals of terms of one sign, so that tails keep their digits: noncentral
// chi-squared and t, skew normal, von Mises and hypergeometric distributions, and their quantiles.
// A part of sdgrad_special.h, which includes it.
#pragma once

#ifndef __CUDACC__
namespace sdgrad_special {

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline double normal_density(double x) { return 0.39894228040143267794 * std::exp(-0.5 * x * x); }

// Quantiles ------------------------------------------------------------------------------------------------

// Where an increasing function is zero, between two places of different signs (Brent 1973).
template <typename F> double zero_between(F f, double a, double b) {
    double fa = f(a), fb = f(b), c = a, fc = fa, step = b - a, before = step;
    for (int k = 0; k < 300 && fb != 0; ++k) {
        if ((fb > 0) == (fc > 0)) c = a, fc = fa, before = step = b - a;
        if (std::fabs(fc) < std::fabs(fb)) a = b, b = c, c = a, fa = fb, fb = fc, fc = fa;
        const double least = 2.3e-16 * std::fabs(b) + 1e-300, half = 0.5 * (c - b);
        if (std::fabs(half) <= least) break;
        double p, q;
        if (std::fabs(before) < least || std::fabs(fa) <= std::fabs(fb)) {
            before = step = half;
        } else {
            const double s = fb / fa, r = fb / fc, t = fa / fc;
            if (a == c) p = 2 * half * s, q = 1 - s;
            else p = s * (2 * half * t * (t - r) - (b - a) * (r - 1)), q = (t - 1) * (r - 1) * (s - 1);
            if (p > 0) q = -q; else p = -p;
            if (2 * p < std::fmin(3 * half * q - std::fabs(least * q), std::fabs(before * q))) before = step, step = p / q;
            else before = step = half;
        }
        a = b, fa = fb;
        b += std::fabs(step) > least ? step : half > 0 ? least : -least;
        fb = f(b);
    }
    return b;
}

// The quantile of p, or that of 1 - p: `below` and `above` are the probabilities up to a place and beyond it, `place`
// is an increasing function of the number that is looked for, from one of these two to the other.
template <typename B, typename A, typename D, typename P>
double quantile(double p, bool upper, B below, A above, D density, P place, double least, double most) {
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return (p == 0) == upper ? place(INFINITY) : place(-INFINITY);
    const bool far = upper == (p <= 0.5);  // the smaller probability is the one beyond
    const double wanted = p <= 0.5 ? p : 1 - p, log_wanted = std::log(wanted);
    const auto beside = [&](double u) {
        const double x = place(u), found = far ? above(x) : below(x);
        const double over = std::fmax(-800.0, std::log(std::fmax(found, 0.0)) - log_wanted);
        return far ? -over : over;
    };
    double step = 0.5, low = 0, high = 0;
    while (low > least && beside(low) > 0) high = low, low = std::fmax(least, low - step), step *= 2;
    step = 0.5;
    while (high < most && beside(high) < 0) low = high, high = std::fmin(most, high + step), step *= 2;
    const double x = place(zero_between(beside, low, high)), slope = density(x);
    const double step_of_newton = (far ? above(x) - wanted : wanted - below(x)) / slope;
    return std::fabs(step_of_newton) < 1e-6 * std::fabs(x) ? x + step_of_newton : x;
}
inline double on_line(double u) { return std::sinh(u); }

// Noncentral chi-squared -----------------------------------------------------------------------------------

// The sum over j of Poisson's probability of j by f(j): outwards from its largest term, which is near `start`.
template <typename F> double poisson_sum(double mean, double start, F f) {
    if (!(mean > 0)) return mean == 0 ? f(0) : NAN;
    if (!(start < 1e10)) return NAN;  // which would take too long
    double sum = 0, size = 0;
    const double first = std::floor(std::fmax(start, 0.0));
    for (int way = 1; way >= -1; way -= 2) {
        double before = 0;
        int small = 0;
        for (double j = way > 0 ? first : first - 1; j >= 0; j += way) {
            const double term = gamma_density(j + 1, mean) * f(j);
            sum += term, size += std::fabs(term);
            small = std::fabs(term) <= 1e-18 * size && std::fabs(term) <= before ? small + 1 : 0;
            if (small > 3) break;
            before = std::fabs(term);
        }
    }
    return sum;
}
// Where the product of Poisson's probability and the density of chi-squared is largest.
inline double common_mode(double df, double nc, double x) {
    return -0.25 * df + std::sqrt(0.0625 * df * df + 0.25 * nc * x);
}
// The logarithm of the density of the gamma distribution, without the loss of digits for large parameters.
inline double log_gamma_density(double a, double x) {
    if (a < 10) return (a - 1) * std::log(x) - x - std::lgamma(a);
    const double t = (x - a) / a, power = t < -0.3 ? std::log(x / a) - t : log1p_minus(t);
    return a * power - stirling_rest(a) + 0.5 * std::log(a / (2 * pi)) - std::log(x);
}
inline double logarithm(double x) { return std::log(x); }
template <typename T, int N> Series<T, N> logarithm(const Series<T, N> &x) {
    Series<T, N> z;
    const T first = reciprocal(x.c[0]);
    z.c[0] = logarithm(x.c[0]);
    for (int k = 1; k <= N; ++k) {
        T sum = T(double(k)) * x.c[k];
        for (int j = 1; j < k; ++j) sum = sum - T(double(j)) * z.c[j] * x.c[k - j];
        z.c[k] = sum * first * T(1.0 / k);
    }
    return z;
}
// The logarithm of the density of noncentral chi-squared, as a Taylor series by df: nothing in it underflows.
template <int N> Series<double, N> log_ncx2_density(double df, double nc, double x) {
    using S = Series<double, N>;
    const double first = std::floor(std::fmax(0.0, common_mode(df, nc, x))), half = 0.5 * df;
    if (first > 1e6 && first > 100 * df * df) {  // a Bessel function of a large argument (DLMF 10.40.1)
        const double z = std::sqrt(nc * x), apart = std::sqrt(x) - std::sqrt(nc);
        S order(half - 1);
        if (N > 0) order.c[1] = 0.5;
        const S square = S(4.0) * order * order - S(1.0), k = S(1 / (8 * z));
        const S bessel = S(1.0) - square * k * (S(1.0) - S(0.5) * (square - S(8.0)) * k * (S(1.0) - (square - S(24.0)) * k * S(1.0 / 3)));
        const double constant = -1.61208571376462 - 0.5 * std::log(z) - 0.5 * apart * apart;
        return S(constant) + S(0.5 * std::log(x / nc)) * order + logarithm(bessel);
    }
    const auto log_weight = [&](double j) {
        return (nc > 0 ? log_gamma_density(j + 1, 0.5 * nc) : 0) + log_gamma_density(half + j, 0.5 * x);
    };
    const double top = log_weight(first);
    S sum;
    for (int way = 1; way >= -1; way -= 2)
        for (double j = way > 0 ? first : first - 1; j >= 0; j += way) {
            S exponent(log_weight(j) - top);
            if (N > 0) exponent.c[1] = 0.5 * (std::log(0.5 * x) - sdgrad_polygamma_double(0, half + j));
            for (int k = 2; k <= N; ++k)
                exponent.c[k] = -std::ldexp(sdgrad_polygamma_double(k - 1, half + j), -k) / factorial(k);
            const S term = exponential(exponent);
            sum = sum + term;
            if (!(largest(term) > 1e-18 * largest(sum)) || nc == 0) break;
        }
    return S(top - 0.69314718055994530942) + logarithm(sum);
}
inline bool is_chi2(double df, double nc, double x) { return df > 0 && nc >= 0 && x >= 0 && df < INFINITY && nc < INFINITY; }

// Noncentral t ---------------------------------------------------------------------------------------------

// The m-th derivative of the normal distribution function.
inline double normal_derivative(int m, double z) {
    if (m == 0) return normal_cdf(z);
    double before = 0, now = normal_density(z);
    for (int k = 0; k < m - 1; ++k) {  // Hermite's polynomials (DLMF 18.9)
        const double next = -z * now - k * before;
        before = now, now = next;
    }
    return now;
}
// log(a) - digamma(a) without the loss of digits for large a (DLMF 5.11.2).
inline double log_minus_digamma(double a) {
    if (a < 10) return std::log(a) - sdgrad_polygamma_double(0, a);
    const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double sum = 0;
    for (int k = 6; k >= 0; --k) sum = (sum + c[k]) / (a * a);
    return 0.5 / a + sum;
}
// The logarithm, as a Taylor series by df, of the density of w = log(sqrt(chi^2 / df)) where w = 0.
template <int N> Series<double, N> log_chi_at_one(double df) {
    const double a = 0.5 * df;
    Series<double, N> found(0.69314718055994530942 + (a < 10 ? a * (std::log(a) - 1) - std::lgamma(a)
                                                             : 0.5 * std::log(a) - 0.91893853320467274178 - stirling_rest(a)));
    if (N > 0) found.c[1] = 0.5 * log_minus_digamma(a);
    for (int k = 2; k <= N; ++k)
        found.c[k] = 0.5 * ((k % 2 ? -1 : 1) * factorial(k - 2) / std::pow(df, k - 1) -
                            std::pow(0.5, k - 1) * sdgrad_polygamma_double(k - 1, a)) / factorial(k);
    return found;
}
// The integral over s of s^p by the m-th derivative of the normal distribution function at t s - nc by the density of
// s = sqrt(chi^2 / df), as a Taylor series by df: the trapezoidal rule for log(s) is exact to the last digits.
template <int N> Series<double, N> nct_integral(int m, int p, double df, double nc, double t) {
    using S = Series<double, N>;
    const S start = log_chi_at_one<N>(df);
    const auto factor = [&](double w) {
        const double squared = std::expm1(2 * w), rest = w > -1 ? 0.5 * log1p_minus(squared) : w - 0.5 * squared;
        S exponent = start;
        exponent.c[0] += df * rest;
        if (N > 0) exponent.c[1] += rest;
        return exponential(exponent);
    };
    // the density's own largest term, and that of its product with the normal density
    const double both = std::hypot(t, std::sqrt(df)), turned = t / both * nc, root = std::hypot(turned, 2 * std::sqrt(df));
    const double other = std::log(0.5 * (turned > 0 ? turned + root : 4 * df / (root - turned))) - std::log(both);
    const double low = std::fmin(0.0, other), high = std::fmax(0.0, other);
    const bool turned_away = t * nc < 0;  // then only tails of both densities meet
    const double wide = std::exp(high), most_of_t = std::fabs(t) * wide * std::sqrt(1 + 100 / df);
    const double size = std::fmin((turned_away ? std::sqrt(df) : std::fabs(nc)) + 6, most_of_t);
    const double other_width = turned_away ? size * (2 * size + std::fabs(nc)) : size * size;
    const double h = 0.5 / std::sqrt(2 * df * wide * wide + other_width + 12);
    const double simple = -42 - std::log1p(std::fabs(t)) - std::log1p(std::fabs(nc)) - 0.5 * std::log1p(df);
    S sum;
    double most = 0;
    for (int way = 1; way >= -1; way -= 2) {
        int small = 0;
        for (double k = way > 0 ? 0 : 1;; k += 1) {
            const double w = low + way * k * h;
            if (w < simple) {  // powers of s are left, whose sum is known
                S rate(-(df + p) * h);
                if (N > 0) rate.c[1] = -h;
                sum = sum + factor(w) * S(std::exp(p * w) * normal_derivative(m, -nc)) / (S(1.0) - exponential(rate));
                break;
            }
            const double s = std::exp(w);
            const S term = factor(w) * S((p ? std::pow(s, p) : 1.0) * normal_derivative(m, t * s - nc));
            sum = sum + term;
            most = std::fmax(most, largest(term));
            small = largest(term) <= 1e-19 * most && !(way > 0 && w < high) ? small + 1 : 0;
            if (small > 8 || !(s < 1e300)) break;
        }
    }
    return S(h) * sum;
}

// Skew normal ----------------------------------------------------------------------------------------------

// The integral of exp(-h^2 (1 + u^2) / 2) / (1 + u^2) / pi from a on, for h >= 0 and a > 0: the probability up to -h.
inline double skew_tail(double h, double a) {
    const double all = normal_cdf(-h), direct = all - 2 * scipy_owens_t(h, a);
    if (direct > 0.05 * all) return direct;
    const double factor = std::exp(-0.5 * h * h * (1 + a * a)) / pi, scale = 1 / (h * h * a + h + 1 / (1 + a));
    if (factor == 0) return 0;
    double sum = 0;
    constexpr double step = 0.025;
    for (int k = -160; k <= 160; ++k) {
        const double t = step * k, v = scale * std::exp(0.5 * pi * std::sinh(t)), u = a + v;
        const double decay = std::exp(-h * h * v * (a + 0.5 * v));
        if (decay > 0) sum += decay / (1 + u * u) * v * std::cosh(t);
    }
    return factor * sum * step * 0.5 * pi;
}

// Von Mises ------------------------------------------------------------------------------------------------

// The density at an angle as a Taylor series by kappa; `norm` is that of the scaled Bessel function.
template <int N> Series<double, N> angle_density(double kappa, double x, const Series<double, N> &norm) {
    const double half = std::sin(0.5 * x), c = -2 * half * half;
    Series<double, N> found;
    double term = std::exp(kappa * c);
    for (int k = 0; k <= N; term *= c / ++k) found.c[k] = term;
    return found / norm;
}
template <int N> Series<double, N> angle_norm(double kappa) {
    Series<double, N> norm;
    for (int k = 0; k <= N; ++k)  // from the right where kappa is zero
        norm.c[k] = 2 * pi / factorial(k) *
                    (kappa > 18 ? special_ive(k, 0, kappa)
                                : scaled_derivative(k, 0, kappa, -1, 0.5, [](double v, double y) { return scipy_ive(v, y); }));
    return norm;
}
// The N-th derivative by kappa of the probability up to an angle in [-pi, 0].
template <int N> double angles_below(double kappa, double x) {
    const auto norm = angle_norm<N>(kappa);
    const double bottom = std::sin(0.5 * x) * std::sin(0.5 * x) + 23 / kappa;  // 20 digits below
    double from = bottom < 1 ? -2 * std::asin(std::sqrt(bottom)) : -pi, to = x;
    if (N > 0 && x > -1 / std::sqrt(1 + kappa)) from = 0;  // half of all is below 0
    const double length = to - from;
    double sum = 0;
    constexpr double step = 0.0625;
    for (int k = -56; k <= 56; ++k) {  // tanh-sinh quadrature
        const double t = step * k, u = 0.5 * pi * std::sinh(t), share = 1 / (1 + std::exp(-2 * u));
        const double c = std::cosh(u), weight = 0.25 * pi * std::cosh(t) / (c * c);
        sum += weight * angle_density<N>(kappa, from + length * share, norm).c[N];
    }
    return factorial(N) * length * step * sum;
}

// Hypergeometric -------------------------------------------------------------------------------------------

inline double binomial_mass(double k, double n, double p) { return beta_density(k + 1, n - k + 1, p) / (n + 1); }

// The probability of up to k of n good ones among N that are drawn of M, or of more, for k in the support.
inline double hypergeometric(double k, double M, double n, double N, bool upper) {
    const double low = std::fmax(0.0, N - (M - n)), high = std::fmin(n, N);
    if (k >= high || k < low) return (k >= high) == upper ? 0 : 1;
    const double p = N / M;
    const bool above = (k + 1) * (M + 2) > (n + 1) * (N + 1);  // of the most probable number
    const double first = above ? k + 1 : k;
    double term = binomial_mass(first, n, p) * binomial_mass(N - first, M - n, p) / binomial_mass(N, M, p), sum = 0;
    if (above) {
        for (double j = first; j <= high && term > 1e-18 * sum; j += 1)
            sum += term, term *= (n - j) * (N - j) / ((j + 1) * (M - n - N + j + 1));
    } else {
        for (double j = first; j >= low && term > 1e-18 * sum; j -= 1)
            sum += term, term *= j * (M - n - N + j) / ((n - j + 1) * (N - j + 1));
    }
    return std::fmax(0.0, above == upper ? sum : 1 - sum);
}

}  // namespace sdgrad_special

// The n-th derivatives by the degrees of freedom of the noncentral chi-squared distribution, and of its density.
inline double special_ncx2(int n, double df, double nc, double x) {
    using namespace sdgrad_special;
    if (!is_chi2(df, nc, x)) return NAN;
    if (std::isinf(x)) return n == 0;
    const double start = std::fmin(0.5 * nc, common_mode(df, nc, x));
    const auto part = [&](double j) { return special_gammainc(n, 0.5 * df + j, 0.5 * x); };
    const double found = std::ldexp(poisson_sum(0.5 * nc, start, part), -n);
    return n == 0 ? std::fmin(found, 1.0) : found;
}
inline double special_ncx2c(double df, double nc, double x) {
    using namespace sdgrad_special;
    if (!is_chi2(df, nc, x)) return NAN;
    if (std::isinf(x)) return 0;
    const double start = std::fmax(0.5 * nc, common_mode(df, nc, x));
    const auto part = [&](double j) { return scipy_gammaincc(0.5 * df + j, 0.5 * x); };
    return std::fmin(poisson_sum(0.5 * nc, start, part), 1.0);
}
inline double special_ncx2_density(int n, double df, double nc, double x) {
    using namespace sdgrad_special;
    if (n < 0) return 0;
    if (!is_chi2(df, nc, x)) return NAN;
    if (std::isinf(x)) return 0;
    if (const double mode = common_mode(df, nc, x); mode > 1e6) {
        const double log = log_ncx2_density<0>(df, nc, x).c[0];
        if (n == 0 || log < -800) return std::exp(log);
    }
    const auto part = [&](double j) { return special_gamma_density(n, 0.5 * df + j, 0.5 * x); };
    return std::ldexp(poisson_sum(0.5 * nc, common_mode(df, nc, x), part), -n - 1);
}
// The n-th derivative by the degrees of freedom of the logarithm of this density.
inline double special_ncx2_log_density(int n, double df, double nc, double x) {
    using namespace sdgrad_special;
    if (!is_chi2(df, nc, x) || !(x > 0)) return NAN;
    if (std::isinf(x)) return n == 0 ? -INFINITY : 0;
    switch (n) {
        case 0: return log_ncx2_density<0>(df, nc, x).c[0];
        case 1: return log_ncx2_density<1>(df, nc, x).c[1];
        case 2: return 2 * log_ncx2_density<2>(df, nc, x).c[2];
        default: return n > 3 ? NAN : 6 * log_ncx2_density<3>(df, nc, x).c[3];
    }
}
// The quantile of p, or of 1 - p.
inline double special_ncx2_quantile(int upper, double df, double nc, double p) {
    if (!sdgrad_special::is_chi2(df, nc, 1)) return NAN;
    const double scale = df + nc;
    return sdgrad_special::quantile(
        p, upper != 0, [&](double x) { return special_ncx2(0, df, nc, x); }, [&](double x) { return special_ncx2c(df, nc, x); },
        [&](double x) { return special_ncx2_density(0, df, nc, x); }, [&](double u) { return scale * std::exp(u); }, -700, 700);
}

// The derivatives of the noncentral t distribution: p times by t, m times by t or nc, k times by the degrees of freedom.
inline double special_nct(int m, int p, int k, double df, double nc, double t) {
    if (!(df > 0 && t == t && std::fabs(nc) <= 1e5)) return NAN;
    if (std::isinf(t)) return m + k == 0 && t > 0;
    if (df > 1e16) return k > 0 ? 0 : sdgrad_special::normal_derivative(m, t - nc);
    switch (k) {
        case 0: return sdgrad_special::nct_integral<0>(m, p, df, nc, t).c[0];
        case 1: return sdgrad_special::nct_integral<1>(m, p, df, nc, t).c[1];
        case 2: return 2 * sdgrad_special::nct_integral<2>(m, p, df, nc, t).c[2];
        default: return k > 3 ? NAN : 6 * sdgrad_special::nct_integral<3>(m, p, df, nc, t).c[3];
    }
}
inline double special_nct_quantile(int upper, double df, double nc, double p) {
    if (!(df > 0 && std::fabs(nc) <= 1e5)) return NAN;
    return sdgrad_special::quantile(
        p, upper != 0, [&](double t) { return special_nct(0, 0, 0, df, nc, t); },
        [&](double t) { return special_nct(0, 0, 0, df, -nc, -t); }, [&](double t) { return special_nct(1, 1, 0, df, nc, t); },
        sdgrad_special::on_line, -710, 710);
}

// The skew normal distribution.
inline double special_skewnorm(double a, double x) {
    using namespace sdgrad_special;
    if (a != a || x != x || std::isinf(a)) return NAN;
    if (a <= 0) return normal_cdf(x) + 2 * scipy_owens_t(x, -a);
    return x < 0 ? skew_tail(-x, a) : std::erf(x * 0.70710678118654752440) + skew_tail(x, a);
}
inline double special_skewnorm_quantile(int upper, double a, double p) {
    using namespace sdgrad_special;
    if (!(std::fabs(a) < INFINITY)) return NAN;
    return quantile(
        p, upper != 0, [&](double x) { return special_skewnorm(a, x); }, [&](double x) { return special_skewnorm(-a, -x); },
        [&](double x) { return 2 * normal_density(x) * normal_cdf(a * x); }, on_line, -5, 5);
}

// The n-th derivatives by kappa of von Mises' distribution, which goes on beyond [-pi, pi], and of its density.
inline double special_vonmises(int n, double kappa, double x) {
    using namespace sdgrad_special;
    if (!(kappa >= 0 && std::fabs(x) < INFINITY)) return NAN;
    const double turns = std::round(x / (2 * pi));
    double angle = x - turns * 2 * pi;
    const bool flipped = angle > 0;
    angle = std::fmax(-std::fabs(angle), -pi);
    double found = NAN;
    switch (n) {
        case 0: found = angles_below<0>(kappa, angle); break;
        case 1: found = angles_below<1>(kappa, angle); break;
        case 2: found = angles_below<2>(kappa, angle); break;
        case 3: found = angles_below<3>(kappa, angle); break;
    }
    return n == 0 ? turns + (flipped ? 1 - found : found) : flipped ? -found : found;
}
inline double special_vonmises_density(int n, double kappa, double x) {
    using namespace sdgrad_special;
    if (n < 0) return 0;
    if (!(kappa >= 0 && std::fabs(x) < INFINITY) || n > 3) return NAN;
    return factorial(n) * angle_density<3>(kappa, x, angle_norm<3>(kappa)).c[n];
}
inline double special_vonmises_quantile(int upper, double kappa, double p) {
    using namespace sdgrad_special;
    if (!(kappa >= 0 && p > 0 && p < 1)) return NAN;
    const double tail = std::fmin(p, 1 - p), scale = 1 / std::sqrt(1 + kappa);
    const double x = quantile(
        tail, false, [&](double y) { return angles_below<0>(kappa, y); }, [&](double y) { return 1 - angles_below<0>(kappa, y); },
        [&](double y) { return angle_density<0>(kappa, y, angle_norm<0>(kappa)).c[0]; },
        [&](double u) { return std::fmax(-pi, std::fmin(0.0, u * scale)); }, -pi / scale, 0);
    return (upper != 0) == (p <= 0.5) ? -x : x;
}

// The hypergeometric distribution, and what is beyond it.
inline double special_hypergeom(double k, double M, double n, double N) {
    return sdgrad_special::hypergeometric(k, M, n, N, false);
}
inline double special_hypergeomc(double k, double M, double n, double N) {
    return sdgrad_special::hypergeometric(k, M, n, N, true);
}
#endif
