// Derivatives of special functions that no closed form in other functions gives without loss of digits.
#pragma once
#include "sdgrad_math.h"
#include "sdgrad_scipy.h"
#include "sdgrad_elliptic.h"
#ifndef __CUDACC__
#include "sdgrad_complex_gamma.h"
#endif
#include "sdgrad_polynomials.h"

#ifndef __CUDACC__
namespace sdgrad_special {

constexpr double pi = 3.14159265358979323846, root_pi = 1.77245385090551602730;
constexpr int MOST = 20000;  // terms of series and fractions: enough for parameters to 1e7

// A truncated Taylor series, from which derivatives by a parameter are read: f(a + t) = c[0] + c[1] t + c[2] t^2 + ...
template <typename T, int N> struct Series {
    T c[N + 1];
    Series() : c{} {}
    Series(double value) : c{} { c[0] = T(value); }
};
template <typename T, int N> Series<T, N> operator+(const Series<T, N> &x, const Series<T, N> &y) {
    Series<T, N> z;
    for (int k = 0; k <= N; ++k) z.c[k] = x.c[k] + y.c[k];
    return z;
}
template <typename T, int N> Series<T, N> operator-(const Series<T, N> &x, const Series<T, N> &y) {
    Series<T, N> z;
    for (int k = 0; k <= N; ++k) z.c[k] = x.c[k] - y.c[k];
    return z;
}
template <typename T, int N> Series<T, N> operator*(const Series<T, N> &x, const Series<T, N> &y) {
    Series<T, N> z;
    for (int k = 0; k <= N; ++k)
        for (int j = 0; j <= k; ++j) z.c[k] = z.c[k] + x.c[j] * y.c[k - j];
    return z;
}
inline double reciprocal(double x) { return 1 / x; }
template <typename T, int N> Series<T, N> reciprocal(const Series<T, N> &x) {
    Series<T, N> z;
    z.c[0] = reciprocal(x.c[0]);
    for (int k = 1; k <= N; ++k) {
        T sum(0.0);
        for (int j = 1; j <= k; ++j) sum = sum + x.c[j] * z.c[k - j];
        z.c[k] = T(0.0) - sum * z.c[0];
    }
    return z;
}
template <typename T, int N> Series<T, N> operator/(const Series<T, N> &x, const Series<T, N> &y) {
    return x * reciprocal(y);
}
inline double exponential(double x) { return std::exp(x); }
template <typename T, int N> Series<T, N> exponential(const Series<T, N> &x) {
    Series<T, N> z;
    z.c[0] = exponential(x.c[0]);
    for (int k = 1; k <= N; ++k) {
        for (int j = 1; j <= k; ++j) z.c[k] = z.c[k] + T(double(j)) * x.c[j] * z.c[k - j];
        z.c[k] = z.c[k] * T(1.0 / k);
    }
    return z;
}
inline double leading(double x) { return x; }
template <typename T, int N> double leading(const Series<T, N> &x) { return leading(x.c[0]); }
inline double largest(double x) { return std::fabs(x); }
template <typename T, int N> double largest(const Series<T, N> &x) {
    double most = 0;
    for (int k = 0; k <= N; ++k) most = std::fmax(most, largest(x.c[k]));
    return most;
}
inline double factorial(int n) { return std::tgamma(n + 1.0); }

// Gamma functions ------------------------------------------------------------------------------------------

// log(1 + t) - t
inline double log1p_minus(double t) {
    if (std::fabs(t) > 0.3) return std::log1p(t) - t;
    const double r = t / (2 + t), s = r * r;  // of the series of atanh(r), without its first term
    double sum = 0;
    for (int k = 27; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s;
    return 2 * r * sum - r * t;
}

// log Gamma(a) - ((a - 1/2) log(a) - a + log(2 pi) / 2), for a >= 10 (DLMF 5.11.1)
inline double stirling_rest(double a) {
    const double c[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    const double s = 1 / (a * a);
    double sum = 0;
    for (int k = 6; k >= 0; --k) sum = sum * s + c[k];
    return sum / a;
}

// The density x^(a - 1) exp(-x) / Gamma(a): for large a its logarithm is the small difference of large numbers.
inline double gamma_density(double a, double x) {
    if (!(x >= 0 && a >= 0)) return NAN;
    if (a == 0) return x > 0 ? 0 : NAN;
    if (x == 0) return a < 1 ? INFINITY : a == 1 ? 1 : 0;
    if (a < 10) return std::exp((a - 1) * std::log(x) - x - std::lgamma(a));
    const double t = (x - a) / a, power = t < -0.3 ? std::log(x / a) - t : log1p_minus(t);
    return std::exp(a * power - stirling_rest(a)) * std::sqrt(a / (2 * pi)) / x;
}

// The Taylor series of the density by a, N + 1 terms.
template <int N> Series<double, N> density_series(double a, double x) {
    if (a >= 0 && a < 0.5) {  // not by large values of the digamma function
        Series<double, N> factor(a / x);
        if (N > 0) factor.c[1] = 1 / x;
        return factor * density_series<N>(a + 1, x);
    }
    Series<double, N> exponent;
    if (N > 0) exponent.c[1] = std::log(x) - sdgrad_polygamma_double(0, a);
    for (int k = 2; k <= N; ++k) exponent.c[k] = -sdgrad_polygamma_double(k - 1, a) / factorial(k);
    return exponential(exponent) * Series<double, N>(gamma_density(a, x));
}

// The Taylor series of the lower regularized incomplete gamma function by a, from a series or a continued fraction
// (DLMF 8.7.1, 8.9.2).
template <int N> Series<double, N> gamma_series(double a, double x) {
    using S = Series<double, N>;
    S at(a), sum(1.0), term(1.0);
    if (N > 0) at.c[1] = 1;
    if (gamma_density(a + 1, x) == 0) return S(x < a ? 0.0 : 1.0);
    const S power = density_series<N>(a + 1, x);  // x^a exp(-x) / Gamma(a + 1): Gamma(a) would be large for small a
    if (x < a + 1) {
        for (int k = 1; k < MOST; ++k) {
            term = term * S(x) / (at + S(double(k)));
            sum = sum + term;
            if (!(largest(term) > 1e-17 * largest(sum))) break;
        }
        return power * sum;
    }
    S b = S(x + 1) - at, d = reciprocal(b), f = d;  // Lentz's method, without small denominators here
    S c = S(1e300);
    for (int k = 1; k < MOST; ++k) {
        const S an = (at - S(double(k))) * S(double(k));
        b = b + S(2.0);
        d = reciprocal(an * d + b);
        c = b + an / c;
        const S change = c * d;
        f = f * change;
        if (!(largest(change - S(1.0)) > 1e-16)) break;
    }
    return S(1.0) - at * power * f;
}

// Beta functions -------------------------------------------------------------------------------------------

// psi(n, a) - psi(n, a + b) without the loss of digits where b is small beside a.
inline double polygamma_difference(int n, double a, double b) {
    if (!(a > 0 && b > 0) || n > 0) return sdgrad_polygamma_double(n, a) - sdgrad_polygamma_double(n, a + b);
    double sum = 0;
    for (; a < 15; a += 1) sum -= b / (a * (a + b));
    const double c = a + b, bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
    sum -= std::log1p(b / a) + 0.5 * b / (a * c);
    for (int k = 1; k <= 7; ++k)  // of a^(-2 k) - c^(-2 k)
        sum += bernoulli[k - 1] / (2 * k) * std::pow(a, -2.0 * k) * std::expm1(-2.0 * k * std::log1p(b / a));
    return sum;
}

// The logarithm of the beta function: of large arguments, the gamma functions of which cancel, by Stirling's series.
inline double log_beta(double a, double b) {
    if (!(a > 0 && b > 0)) return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
    if (a > b) return log_beta(b, a);
    if (b < 10) return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
    const double share = a / (a + b), rest = stirling_rest(b) - stirling_rest(a + b);
    const double large = -a * std::log(a + b) + (b - 0.5) * std::log1p(-share);
    if (a < 10) return std::lgamma(a) + large + a + rest;
    return (a - 0.5) * std::log(share) - 0.5 * std::log(a + b) + (b - 0.5) * std::log1p(-share) + stirling_rest(a) + rest +
           0.91893853320467274178;
}

// The density x^(a - 1) (1 - x)^(b - 1) / B(a, b).
inline double beta_density(double a, double b, double x) {
    if (!(x >= 0 && x <= 1 && a > 0 && b > 0)) return NAN;
    if (x == 0) return a < 1 ? INFINITY : a == 1 ? b : 0;
    if (x == 1) return b < 1 ? INFINITY : b == 1 ? a : 0;
    if (a < 10 || b < 10) return std::exp((a - 1) * std::log(x) + (b - 1) * std::log1p(-x) - log_beta(a, b));
    const double n = a + b, d = x * n - a;  // beside the mean, where both logarithms are small
    const double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
    const double power = a * log1p_minus(d / a) + b * log1p_minus(-d / b);
    return std::exp(power + rest) * std::sqrt(a / (2 * pi) * (b / n)) / (x * (1 - x));
}

template <int N, int M> using Double = Series<Series<double, M>, N>;  // by a, and by b

// The Taylor series of the density by both parameters.
template <int N, int M> Double<N, M> beta_density_series(double a, double b, double x) {
    Double<N, M> exponent;
    if (N > 0) exponent.c[1].c[0] = std::log(x) - polygamma_difference(0, a, b);
    if (M > 0) exponent.c[0].c[1] = std::log1p(-x) - polygamma_difference(0, b, a);
    for (int i = 0; i <= N; ++i)
        for (int j = 0; j <= M; ++j) {
            if (i + j < 2) continue;
            double value = sdgrad_polygamma_double(i + j - 1, a + b);
            if (j == 0) value -= sdgrad_polygamma_double(i - 1, a);
            if (i == 0) value -= sdgrad_polygamma_double(j - 1, b);
            exponent.c[i].c[j] = value / (factorial(i) * factorial(j));
        }
    return exponential(exponent) * Double<N, M>(beta_density(a, b, x));
}

// The Taylor series of the regularized incomplete beta function by both parameters (DLMF 8.17.22).
template <int N, int M> Double<N, M> beta_fraction(double a, double b, double x) {
    using S = Double<N, M>;
    S p(a), q(b);
    if (N > 0) p.c[1] = Series<double, M>(1.0);
    if (M > 0) q.c[0].c[1] = 1;
    S f(1.0), c(1.0), d(0.0);
    for (int m = 0; m < MOST; ++m) {
        const int k = m / 2;
        S numerator(1.0);
        if (m % 2 == 0 && m > 0)
            numerator = S(k * x) * (q - S(double(k))) / ((p + S(2.0 * k - 1)) * (p + S(2.0 * k)));
        else if (m % 2 == 1)
            numerator = S(-x) * (p + S(double(k))) * (p + q + S(double(k))) / ((p + S(2.0 * k)) * (p + S(2.0 * k + 1)));
        d = reciprocal(S(1.0) + numerator * d);
        c = S(1.0) + numerator / c;
        const S change = c * d;
        f = m == 0 ? d : f * change;
        if (m == 0) c = S(1e300);
        else if (!(largest(change - S(1.0)) > 1e-16)) break;
    }
    return beta_density_series<N, M>(a, b, x) * S(x * (1 - x)) / p * f;
}

template <int N, int M> double beta_derivative(double a, double b, double x) {
    if (!(x > 0 && x < 1)) return x == 0 || x == 1 ? 0 : NAN;
    if (beta_density(a, b, x) == 0) return 0;
    const double scale = factorial(N) * factorial(M);
    if (x < (a + 1) / (a + b + 2)) return scale * beta_fraction<N, M>(a, b, x).c[N].c[M];
    return -scale * beta_fraction<M, N>(b, a, 1 - x).c[M].c[N];
}

// Zeta functions -------------------------------------------------------------------------------------------

// The Taylor series by s of the sum of (q + k)^-s over all k, by Euler's and Maclaurin's formula (DLMF 25.11.28).
template <int N> Series<double, N> zeta_series(double s, double q) {
    using S = Series<double, N>;
    S at(s), sum(0.0);
    if (N > 0) at.c[1] = 1;
    const auto power = [&](double base) { return exponential(S(-std::log(base)) * at); };
    if (q > 1e17) return exponential(S(-std::log(q)) * (at - S(1.0))) / (at - S(1.0));
    const int count = q < 20 ? int(20 - q) + 10 : 0;
    for (int k = 0; k < count; ++k) sum = sum + power(q + k);
    const double x = q + count, bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6,
                                               -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
    const S last = power(x);
    sum = sum + last * (S(x) / (at - S(1.0)) + S(0.5));
    S factor = at / S(x);
    for (int k = 1; k <= 10; ++k) {
        const S term = S(bernoulli[k - 1] / factorial(2 * k)) * factor * last;
        sum = sum + term;
        factor = factor * (at + S(2.0 * k - 1)) * (at + S(2.0 * k)) / S(x * x);
    }
    return sum;
}

// Bessel functions -----------------------------------------------------------------------------------------

// The n-th derivative of sqrt(scale / x) * sum of (sign / x)^k a_k(v) (DLMF 10.17.1, 10.40.1), for large x.
inline double hankel_sum(int n, double v, double x, double scale, double sign) {
    double coefficient = 1, falling = 1, sum = 0, before = INFINITY;
    for (int j = 0; j < n; ++j) falling *= -(0.5 + j);
    double power = std::sqrt(scale / x) / std::pow(x, n);
    for (int k = 0; k < 100; ++k) {
        const double term = coefficient * falling * power;
        if (std::fabs(term) > before || std::fabs(term) < 1e-18 * std::fabs(sum)) break;
        sum += term;
        before = std::fabs(term);
        coefficient *= sign * (4 * v * v - (2 * k + 1.0) * (2 * k + 1.0)) / (8 * (k + 1.0));
        falling *= (0.5 + k + n) / (0.5 + k);
        power /= x;
    }
    return sum;
}

// The n-th derivative of a sum e(x) = exp(-sign x) f(x), where f has the recurrence 2 f' = sum of its neighbours.
template <typename F> double scaled_derivative(int n, double v, double x, double own, double neighbours, F f) {
    double sum = 0;
    for (int k = 0; k <= n; ++k) {
        double inner = 0;
        for (int j = 0; j <= k; ++j)
            inner += factorial(k) / (factorial(j) * factorial(k - j)) * f(v - k + 2 * j, x);
        sum += factorial(n) / (factorial(k) * factorial(n - k)) * std::pow(own, n - k) * std::pow(neighbours, k) * inner;
    }
    return sum;
}

}  // namespace sdgrad_special

// The n-th derivative of erfc(x) exp(x^2): repeated integrals of erfc, scaled (DLMF 7.18.7, 7.18.9).
inline double special_erfcx(int n, double x) {
    if (n == 0) return scipy_erfcx(x);
    if (x < 1) {
        double before = scipy_erfcx(x), now = 2 * x * before - 2 / sdgrad_special::root_pi;
        for (int k = 1; k < n; ++k) {
            const double next = 2 * x * now + 2 * k * before;
            before = now, now = next;
        }
        return now;
    }
    double ratio = 0, product = scipy_erfcx(x);
    const int last = n + 20 + int(500 / (x * x));
    for (int k = last; k >= 1; --k) {  // of the integral k times to that of k - 1 times
        ratio = 1 / (2 * x + 2 * (k + 1) * ratio);
        if (k <= n) product *= -2 * k * ratio;
    }
    return product;
}

// The n-th derivative of Dawson's integral (DLMF 7.12.1 for large arguments).
inline double special_dawsn(int n, double x) {
    if (std::fabs(x) < 6.3) {
        double before = scipy_dawsn(x), now = 1 - 2 * x * before;
        if (n == 0) return before;
        for (int k = 1; k < n; ++k) {
            const double next = -2 * x * now - 2 * k * before;
            before = now, now = next;
        }
        return now;
    }
    double term = 0.5 / x, sum = 0;
    for (int k = 0; k < 40; ++k) {
        double falling = 1;
        for (int j = 0; j < n; ++j) falling *= -(2 * k + 1.0 + j) / x;
        sum += term * falling;
        term *= (2 * k + 1) / (2 * x * x);
        if (std::fabs(term * falling) < 1e-18 * std::fabs(sum)) break;
    }
    return sum;
}

// Exponential integrals of whole orders, also negative ones, which are derivatives of others (DLMF 8.19.12).
inline double special_expn(double n, double x) {
    if (!(n < 0)) return scipy_expn(n, x);
    if (n < -100) return NAN;
    double value = std::exp(-x) / x;
    for (double k = -1; k >= n; k -= 1) value = (std::exp(-x) - k * value) / x;
    return value;
}

// The derivative of 1 / Gamma(x) by the reflection formula (DLMF 5.5.3), which has no poles on the left.
inline double special_rgamma_slope(double x) {
    return std::tgamma(1 - x) * (scipy_cosdg(180 * x) - scipy_sindg(180 * x) * sdgrad_polygamma(0, 1 - x) / 3.14159265358979324);
}

// The n-th derivatives of modified Bessel functions without their exponential growth.
inline double special_ive(int n, double v, double x) {
    if (n == 0) return scipy_ive(v, x);
    if (x < 0 && v == std::floor(v)) return (n + int(std::fmod(std::fabs(v), 2.0))) % 2 ? -special_ive(n, v, -x) : special_ive(n, v, -x);
    if (x > 18 + v * v) return sdgrad_special::hankel_sum(n, v, x, 0.5 / sdgrad_special::pi, -1);
    return sdgrad_special::scaled_derivative(n, v, x, x < 0 ? 1 : x > 0 ? -1 : 0, 0.5, [](double u, double y) { return scipy_ive(u, y); });
}
inline double special_kve(int n, double v, double x) {
    if (n == 0) return scipy_kve(v, x);
    if (x > 18 + v * v) return sdgrad_special::hankel_sum(n, v, x, 0.5 * sdgrad_special::pi, 1);
    return sdgrad_special::scaled_derivative(n, v, x, 1, -0.5, [](double u, double y) { return scipy_kve(u, y); });
}

// The n-th derivatives by a of the lower incomplete gamma function, and of its density.
inline double special_gammainc(int n, double a, double x) {
    if (!(a >= 0 && x >= 0) || n > 4) return NAN;
    if (n == 0) return scipy_gammainc(a, x);
    if (x == 0 || x > std::numeric_limits<double>::max()) return 0;
    switch (n) {
        case 1: return sdgrad_special::gamma_series<1>(a, x).c[1];
        case 2: return 2 * sdgrad_special::gamma_series<2>(a, x).c[2];
        case 3: return 6 * sdgrad_special::gamma_series<3>(a, x).c[3];
        default: return 24 * sdgrad_special::gamma_series<4>(a, x).c[4];
    }
}
inline double special_gamma_density(int n, double a, double x) {
    if (n < 0) return 0;
    if (n == 0) return sdgrad_special::gamma_density(a, x);
    if (x == 0) return a > 1 ? 0 : n % 2 ? -INFINITY : INFINITY;
    return n > 4 ? NAN : sdgrad_special::factorial(n) * sdgrad_special::density_series<4>(a, x).c[n];
}

// The derivatives of the incomplete beta function, i times by a and j times by b, and of its density.
inline double special_betainc(int i, int j, double a, double b, double x) {
    if (i == 0 && j == 0) return scipy_betainc(a, b, x);
    if (!(a > 0 && b > 0)) return NAN;
    switch (3 * i + j) {
        case 1: return sdgrad_special::beta_derivative<0, 1>(a, b, x);
        case 2: return sdgrad_special::beta_derivative<0, 2>(a, b, x);
        case 3: return sdgrad_special::beta_derivative<1, 0>(a, b, x);
        case 4: return sdgrad_special::beta_derivative<1, 1>(a, b, x);
        case 6: return sdgrad_special::beta_derivative<2, 0>(a, b, x);
        default: return NAN;
    }
}
inline double special_beta_density(int i, int j, double a, double b, double x) {
    if (i < 0 || j < 0) return 0;
    if (i == 0 && j == 0) return sdgrad_special::beta_density(a, b, x);
    if (i > 2 || j > 2) return NAN;
    return sdgrad_special::factorial(i) * sdgrad_special::factorial(j) *
           sdgrad_special::beta_density_series<2, 2>(a, b, x).c[i].c[j];
}
// Where the incomplete beta function is exp(log_p), by the first term of its series: the next one is x times the others.
inline double special_beta_end(double a, double b, double log_p) {
    return std::exp((log_p + std::log(a) + sdgrad_special::log_beta(a, b)) / a);
}
// Its inverse, and that of its complement. SciPy's finds no number close to the ends.
inline double special_betaincinv(double a, double b, double p) {
    if (a > 0 && b > 0 && p > 0 && p < 1) {
        const double below = special_beta_end(a, b, std::log(p));
        if (below * (1 + b) < 1e-17) return below;
        if (special_beta_end(b, a, std::log1p(-p)) * (1 + a) < 1e-17) return 1;
    }
    return scipy_betaincinv(a, b, p);
}
inline double special_betainccinv(double a, double b, double p) {
    if (a > 0 && b > 0 && p > 0 && p < 1) {
        const double below = special_beta_end(a, b, std::log1p(-p));
        if (below * (1 + b) < 1e-17) return below;
        if (special_beta_end(b, a, std::log(p)) * (1 + a) < 1e-17) return 1;
    }
    return scipy_betainccinv(a, b, p);
}
// The distribution function of Student's t, and its derivative by the degrees of freedom.
inline double special_stdtr(double df, double t) {
    if (!(df > 0)) return NAN;
    if (std::isinf(t)) return t > 0 ? 1 : 0;
    if (std::isinf(df)) return 0.5 * std::erfc(-t * 0.70710678118654752440);
    const double tail = 0.5 * (t * t < df ? scipy_betaincc(0.5, 0.5 * df, t * t / (df + t * t))
                                          : scipy_betainc(0.5 * df, 0.5, df / (df + t * t)));
    return t > 0 ? 1 - tail : tail;
}
inline double special_stdtr_by_freedom(double df, double t) {
    if (!(df > 0)) return NAN;
    if (t == 0 || std::isinf(t) || std::isinf(df)) return 0;
    const double square = t * t, both = df + square;
    const double density = square < df ? sdgrad_special::beta_density(0.5, 0.5 * df, square / both)
                                       : sdgrad_special::beta_density(0.5 * df, 0.5, df / both);
    const double by_a = square < df ? sdgrad_special::beta_derivative<0, 1>(0.5, 0.5 * df, square / both)
                                    : -sdgrad_special::beta_derivative<1, 0>(0.5 * df, 0.5, df / both);
    const double slope = 0.25 * by_a - 0.5 * density * square / (both * both);
    return t > 0 ? slope : -slope;
}
inline double special_beta(double a, double b) {
    if (std::fabs(a) < 16 && std::fabs(b) < 16) return std::tgamma(a) * std::tgamma(b) / std::tgamma(a + b);
    return std::exp(sdgrad_special::log_beta(a, b));
}
inline double special_betaln(double a, double b) { return sdgrad_special::log_beta(a, b); }
inline double special_polygamma_difference(int n, double a, double b) {
    return sdgrad_special::polygamma_difference(n, a, b);
}

// The n-th derivative by s of Hurwitz's zeta function.
inline double special_zeta(int n, double s, double q) {
    if (n < 0) return 0;
    if (s == 1) return INFINITY;
    if (q <= 0 && q == std::floor(q)) return INFINITY;
    if (q <= 0 && (s != std::floor(s) || n > 0 || q < -1e4)) return NAN;
    if (!(std::fabs(s) < 1e6 && q < INFINITY)) return s > 0 && s == s && q == q ? (q < 1 ? INFINITY : q == 1 ? n == 0 : 0) : NAN;
    double sum = 0;
    for (; q <= 0; q += 1) sum += std::pow(q, -s);
    switch (n) {
        case 0: return sum + sdgrad_special::zeta_series<0>(s, q).c[0];
        case 1: return sdgrad_special::zeta_series<1>(s, q).c[1];
        case 2: return 2 * sdgrad_special::zeta_series<2>(s, q).c[2];
        default: return n > 3 ? NAN : 6 * sdgrad_special::zeta_series<3>(s, q).c[3];
    }
}

// The real branches 0 and -1 of w exp(w) = x (Fritsch, Shafer and Crowley 1973).
inline double special_lambertw(int branch, double x) {
    const double edge = std::exp(1.0) * x + 1;  // zero where the branches meet
    if (x != x || edge < -4e-16 || (branch && x > 0)) return NAN;
    if (x == 0) return branch ? -INFINITY : 0;
    if (x > std::numeric_limits<double>::max()) return x;
    double w;
    if (edge < 0.3) {  // a series at the branch point (DLMF 4.13.6)
        const double p = (branch ? -1 : 1) * std::sqrt(2 * std::fmax(edge, 0.0));
        w = -1 + p * (1 - p * (1.0 / 3 - p * (11.0 / 72 - p * (43.0 / 540 - p * 769.0 / 17280))));
        if (edge < 1e-4) return w;
    } else if (branch) {
        const double l = std::log(-x), ll = std::log(-l);
        w = l - ll + ll / l;
    } else {
        w = x < 3 ? std::log1p(x) * (1 - std::log1p(std::log1p(x)) / (2 + std::log1p(x))) : std::log(x) - std::log(std::log(x));
    }
    for (int k = 0; k < 10; ++k) {
        const double z = std::log(x / w) - w, q = 2 * (1 + w) * (1 + w + 2.0 / 3 * z);
        const double step = z / (1 + w) * (q - z) / (q - 2 * z);
        w *= 1 + step;
        if (std::fabs(step) < 1e-16) break;
    }
    return w;
}
#endif
#include "sdgrad_gamma_paths.h"
#include "sdgrad_noncentral.h"
