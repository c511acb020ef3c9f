// Elementary functions whose derivatives in closed form are small differences of large numbers, on all devices.
// A part of sdgrad_math.h, which includes it.
#pragma once

// The n-th derivative of (exp(x) - 1) / x, the integral of t^n exp(x t) from 0 to 1 (DLMF 13.4.1).
SDGRAD_FUNCTION double sdgrad_exprel(int n, double x) {
    const double size = std::fabs(x);
    if (n == 0) return size < 1e-16 ? 1 : x > 717 ? INFINITY : std::expm1(x) / x;
    if (!(size < 30)) {
        if (std::isinf(x)) return x > 0 ? x : 0;
        double found = std::expm1(x) / x;
        for (int k = 1; k <= n; ++k) found = (std::exp(x) - k * found) / x;
        return found;
    }
    // series of positive terms, by Kummer's transformation for x < 0
    double term = x < 0 ? std::exp(x) / (n + 1) : 1, sum = 0;
    for (int k = 0; k < 200; ++k) {
        const double now = x < 0 ? term : term / (n + k + 1);
        sum += now;
        if (now < 1e-17 * sum) break;
        term *= size / (x < 0 ? n + k + 2 : k + 1);
    }
    return sum;
}

// The n-th derivative of log(1 + x) / x.
SDGRAD_FUNCTION double sdgrad_log1prel(int n, double x) {
    if (std::fabs(x) < 0.4) {
        double sum = 0, term = std::tgamma(n + 1.0) * (n % 2 ? -1 : 1);  // k! / (k - n)! (-1)^k x^(k - n)
        for (int k = n; k < n + 80; ++k) {
            sum += term / (k + 1);
            term *= -x * (k + 1) / (k + 1 - n);
            if (std::fabs(term) < 1e-18 * std::fabs(sum)) break;
        }
        return sum;
    }
    if (std::isinf(x)) return x > 0 ? 0 : NAN;
    if (x == -1) return n % 2 ? -INFINITY : INFINITY;
    double found = std::log1p(x) / x, of_logarithm = 1;
    for (int k = 1; k <= n; ++k) {
        of_logarithm *= (k > 1 ? 1 - k : 1) / (1 + x);
        found = (of_logarithm - k * found) / x;
    }
    return found;
}

// (x^p - 1) / p, the logarithm for p = 0, given x and its logarithm.
SDGRAD_FUNCTION double sdgrad_power_transform(double x, double l, double p) {
    if (std::fabs(p) < 1e-19) return l;
    if (x == 0) return p > 0 ? -1 / p : std::isfinite(p) ? -INFINITY : NAN;
    if (p * l < 709.78) return std::expm1(p * l) / p;
    return std::copysign(1.0, p) * std::exp(p * l - std::log(std::fabs(p))) - 1 / p;
}
SDGRAD_FUNCTION double sdgrad_boxcox(double x, double p) { return sdgrad_power_transform(x, std::log(x), p); }
SDGRAD_FUNCTION double sdgrad_boxcox1p(double x, double p) { return sdgrad_power_transform(1 + x, std::log1p(x), p); }

// The logarithm of (1 + p x)^(1 / p): x for p = 0. The product may overflow.
SDGRAD_FUNCTION double sdgrad_inverse_transform(double x, double p) {
    if (p == 0) return x;
    if (std::isinf(p * x)) return p * x > 0 ? (std::log(std::fabs(x)) + std::log(std::fabs(p))) / p : NAN;
    return x * sdgrad_log1prel(0, p * x);
}
SDGRAD_FUNCTION double sdgrad_inv_boxcox(double x, double p) { return std::exp(sdgrad_inverse_transform(x, p)); }
SDGRAD_FUNCTION double sdgrad_inv_boxcox1p(double x, double p) { return std::expm1(sdgrad_inverse_transform(x, p)); }

SDGRAD_FUNCTION double sdgrad_powm1(double x, double p) {
    return x > 0 ? std::expm1(p * std::log(x)) : std::pow(x, p) - 1;
}
SDGRAD_FUNCTION double sdgrad_pseudo_huber(double d, double r) {
    if (d < 0) return INFINITY;
    if (d == 0 || r == 0) return 0;
    return d * d * std::expm1(0.5 * std::log1p(r / d * (r / d)));
}
