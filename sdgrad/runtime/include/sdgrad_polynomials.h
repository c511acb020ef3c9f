// Orthogonal polynomials of integer degree by their recurrences (DLMF 18.9), and spherical Bessel functions (DLMF 10.47).
// Polynomials of negative degree are zero: derivatives lower the degree.
#pragma once
#include <cmath>

// p and q are the polynomials of degrees k and k - 1 when the next one is computed.
#define SDGRAD_POLYNOMIAL(name, parameters, first, next) \
    inline double special_##name parameters { \
        if (n != n || x != x) return NAN; \
        if (n < 0) return 0; \
        double q = 0, p = 1; \
        for (double k = 0; k < n; ++k) { \
            const double r = k == 0 ? (first) : (next); \
            q = p; \
            p = r; \
        } \
        return p; \
    }
SDGRAD_POLYNOMIAL(gegenbauer, (double n, double s, double x), 2 * s * x, (2 * (k + s) * x * p - (k + 2 * s - 1) * q) / (k + 1))
SDGRAD_POLYNOMIAL(chebyt, (double n, double x), x, 2 * x * p - q)
SDGRAD_POLYNOMIAL(genlaguerre, (double n, double s, double x), 1 + s - x, ((2 * k + 1 + s - x) * p - (k + s) * q) / (k + 1))
SDGRAD_POLYNOMIAL(hermite, (double n, double x), 2 * x, 2 * x * p - 2 * k * q)
SDGRAD_POLYNOMIAL(hermitenorm, (double n, double x), x, x * p - k * q)

inline double special_jacobi(double n, double a, double b, double x) {
    if (n != n || a != a || b != b || x != x) return NAN;
    if (n < 0) return 0;
    double q = 1, p = a + 1 + 0.5 * (a + b + 2) * (x - 1);
    if (n == 0) return q;
    for (double k = 1; k < n; ++k) {
        const double t = 2 * k + a + b;
        const double r = ((t + 1) * (t * (t + 2) * x + (a - b) * (a + b)) * p - 2 * (k + a) * (k + b) * (t + 2) * q) /
                         (2 * (k + 1) * (k + a + b + 1) * t);
        q = p;
        p = r;
    }
    return p;
}

#ifndef __CUDACC__
inline double special_spherical_jn(double n, double x) {
    if (x != x || n != n || n < 0) return NAN;
    const double z = std::fabs(x), sign = x < 0 && std::fmod(n, 2) == 1 ? -1 : 1;
    if (std::isinf(x)) return 0;
    if (z < 1 || z * z < n) {  // the power series (DLMF 10.53.1)
        double term = 1, sum = 1;
        for (double k = 1; k <= n; ++k) term *= z / (2 * k + 1);
        const double lead = term;
        term = 1;
        for (double k = 1; k < 200; ++k) {
            term *= -0.5 * z * z / (k * (2 * n + 2 * k + 1));
            sum += term;
            if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
        }
        return sign * lead * sum;
    }
    if (z <= n) return sign * std::sqrt(1.5707963267948966 / z) * scipy_jv(n + 0.5, z);
    double q = std::sin(z) / z, p = (q - std::cos(z)) / z;
    if (n == 0) return q;
    for (double k = 1; k < n; ++k) {
        const double r = (2 * k + 1) / z * p - q;
        q = p;
        p = r;
    }
    return sign * p;
}
inline double special_spherical_yn(double n, double x) {
    if (x != x || n != n || n < 0) return NAN;
    if (x < 0) return std::fmod(n, 2) == 1 ? special_spherical_yn(n, -x) : -special_spherical_yn(n, -x);
    if (std::isinf(x)) return 0;
    if (x == 0) return -INFINITY;
    double q = -std::cos(x) / x, p = (q - std::sin(x)) / x;
    if (n == 0) return q;
    for (double k = 1; k < n; ++k) {
        const double r = (2 * k + 1) / x * p - q;
        if (std::isinf(r)) return r;
        q = p;
        p = r;
    }
    return p;
}
inline double special_spherical_in(double n, double x) {
    if (x != x || n != n || n < 0) return NAN;
    const double z = std::fabs(x), sign = x < 0 && std::fmod(n, 2) == 1 ? -1 : 1;
    if (z == 0) return n == 0 ? 1 : 0;
    if (std::isinf(x)) return sign * INFINITY;
    return sign * std::sqrt(1.5707963267948966 / z) * scipy_iv(n + 0.5, z);
}
inline double special_spherical_kn(double n, double x) {
    if (x != x || n != n || n < 0) return NAN;
    if (x == 0) return INFINITY;
    if (std::isinf(x)) return x > 0 ? 0 : -INFINITY;
    double q = 1.5707963267948966 * std::exp(-x) / x, p = q * (1 + 1 / x);
    if (n == 0) return q;
    for (double k = 1; k < n; ++k) {  // stable: it grows with its degree
        const double r = (2 * k + 1) / x * p + q;
        if (std::isinf(r)) return std::fmod(n - k, 2) == 1 || x > 0 ? r : -r;
        q = p;
        p = r;
    }
    return p;
}
#endif
