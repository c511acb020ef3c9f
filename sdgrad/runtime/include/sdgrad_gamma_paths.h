// How quantiles of the gamma distribution move with its parameter, while their probability stays the same: implicit
// reparameterisation (Figurnov, Mohamed and Mnih 2018). In terms of logarithms, so that nothing underflows.
// A part of sdgrad_special.h, which includes it.
#pragma once

#ifndef __CUDACC__
namespace sdgrad_special {

constexpr int NODES = 24;

// Nodes in (0, 1) and weights of Gauss and Legendre, by Newton's method.
struct GaussLegendre {
    double x[NODES], w[NODES];
    GaussLegendre() {
        for (int i = 0; i < NODES; ++i) {
            double t = std::cos(pi * (i + 0.75) / (NODES + 0.5)), slope = 1;
            for (int step = 0; step < 8; ++step) {
                double before = 1, now = t;
                for (int k = 2; k <= NODES; ++k) {
                    const double next = ((2 * k - 1) * t * now - (k - 1) * before) / k;
                    before = now, now = next;
                }
                slope = NODES * (t * now - before) / (t * t - 1);
                t -= now / slope;
            }
            x[i] = 0.5 * (1 - t), w[i] = 1 / ((1 - t * t) * slope * slope);
        }
    }
};

// With p the density, the probability up to x = exp(l) divided by x p(x), or that beyond it: the Taylor series by a of
// the integral over s >= 0 of exp(x (1 - exp(-s)) - a s), or of exp(a s - x (exp(s) - 1)). Up to small a by its series.
template <int N> Series<double, N> below_over_density(double a, double x) {
    using S = Series<double, N>;
    S at(a);
    if (N > 0) at.c[1] = 1;
    S term = reciprocal(at), sum = term;
    for (int k = 1; k < MOST; ++k) {
        term = term * S(x) / (at + S(double(k)));
        sum = sum + term;
        if (!(largest(term) > 1e-17 * largest(sum))) break;
    }
    return sum;
}
template <int N> Series<double, N> integral_over_density(double a, double x, bool beyond) {
    static const GaussLegendre rule;
    constexpr int PARTS = 2;
    constexpr double LEAST = -42;  // of the exponent
    const auto exponent = [&](double s) { return beyond ? a * s - x * std::expm1(s) : -x * std::expm1(-s) - a * s; };
    double end = beyond ? std::sqrt(-2 * LEAST / x) : (x - LEAST) / a;
    for (int k = 0; k < 50; ++k) {  // Newton's method, from where the exponent is smaller
        const double slope = beyond ? a - x * std::exp(end) : x * std::exp(-end) - a;
        const double step = (exponent(end) - LEAST) / slope;
        if (!(step > 1e-3 * end)) break;
        end -= step;
    }
    Series<double, N> found;
    for (int part = 0; part < PARTS; ++part)
        for (int i = 0; i < NODES; ++i) {
            const double s = end * (part + rule.x[i]) / PARTS;
            double term = rule.w[i] * end / PARTS * std::exp(exponent(s));
            for (int k = 0; k <= N; ++k) {
                found.c[k] += term;
                term *= (beyond ? s : -s) / (k + 1);
            }
        }
    return found;
}

// log(x) - digamma(a), given log(x), as a Taylor series by a.
template <int N> Series<double, N> log_over_digamma(double a, double l) {
    Series<double, N> found(l - sdgrad_polygamma_double(0, a));
    for (int k = 1; k <= N; ++k) found.c[k] = -sdgrad_polygamma_double(k, a) / factorial(k);
    return found;
}

template <int N> double gamma_slope(double a, double l) {
    const double x = std::exp(l);
    const bool beyond = x >= a + (a < 10 ? 1 : 0);
    const auto share = x < a + 1 && a < 10 ? below_over_density<N + 1>(a, x) : integral_over_density<N + 1>(a, x, beyond);
    Series<double, N> own, derivative;
    for (int k = 0; k <= N; ++k) own.c[k] = share.c[k], derivative.c[k] = (k + 1) * share.c[k + 1];
    const double found = factorial(N) * (log_over_digamma<N>(a, l) * own + derivative).c[N];
    return beyond ? found : -found;
}

}  // namespace sdgrad_special

// The derivative of the logarithm of a quantile exp(l) by the parameter a, differentiated n more times by a at fixed l.
inline double special_gamma_slope(int n, double a, double l) {
    if (n < 0) return 0;
    if (!(a > 0) || l != l) return NAN;
    switch (n) {
        case 0: return sdgrad_special::gamma_slope<0>(a, l);
        case 1: return sdgrad_special::gamma_slope<1>(a, l);
        case 2: return sdgrad_special::gamma_slope<2>(a, l);
        default: return n > 3 ? NAN : sdgrad_special::gamma_slope<3>(a, l);
    }
}

// The number that has with parameter a the probability that z has with parameter b; the same for logarithms.
inline double special_gamma_path(double a, double b, double z) {
    return a == b ? z : scipy_gammaincinv(a, scipy_gammainc(b, z));
}
inline double special_log_gamma_path(double a, double b, double l) {
    return a == b ? l : std::log(scipy_gammaincinv(a, scipy_gammainc(b, std::exp(l))));
}
#endif
