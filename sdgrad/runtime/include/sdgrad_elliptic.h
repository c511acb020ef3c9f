// Derivatives of elliptic integrals, of Voigt's profile, and of others that are integrals themselves.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>

#ifndef __CUDACC__
// The derivative of Carlson's R_F(x, y, z), i times by x, j times by y and k times by z (DLMF 19.16.1): the integral of
// (t + x)^(-1/2 - i) (t + y)^(-1/2 - j) (t + z)^(-1/2 - k) by the trapezoidal rule in log(t), whose error is e^-39.
// R_J(x, y, z, p) has a factor 3 / (t + p) more, here l + 1 of them.
inline double special_carlson_j(int i, int j, int k, int l, double x, double y, double z, double p) {
    if (!(x >= 0 && y >= 0 && z >= 0 && p > 0)) return NAN;
    const bool diverges = (x == 0) + (y == 0) + (z == 0) > 1;
    if (diverges || (x == 0 && i > 0) || (y == 0 && j > 0) || (z == 0 && k > 0)) return (i + j + k + std::max(l, 0)) % 2 ? -INFINITY : INFINITY;
    if (std::isinf(x) || std::isinf(y) || std::isinf(z) || std::isinf(p)) return 0;
    double least = INFINITY, most = 0;
    for (double v : {x, y, z, l < 0 ? x : p}) {
        if (v > 0) least = std::min(least, v);
        most = std::max(most, v);
    }
    const bool zero = x == 0 || y == 0 || z == 0;
    const double from = std::log(least) - (zero ? 80 : 40), to = std::log(most) + 80, h = 0.5;
    double sum = 0;
    for (double u = from; u < to; u += h) {
        const double t = std::exp(u);
        double term = t / std::sqrt((t + x) * (t + y) * (t + z));
        for (int n = 0; n < i; ++n) term /= t + x;
        for (int n = 0; n < j; ++n) term /= t + y;
        for (int n = 0; n < k; ++n) term /= t + z;
        for (int n = 0; n <= l; ++n) term /= t + p;
        sum += term;
    }
    double factor = l < 0 ? 0.5 * h : 1.5 * h;
    for (int n = 1; n <= l; ++n) factor *= -n;
    for (int count : {i, j, k})
        for (int n = 0; n < count; ++n) factor *= -(0.5 + n);
    return factor * sum;
}
inline double special_carlson(int i, int j, int k, double x, double y, double z) {
    return special_carlson_j(i, j, k, -1, x, y, z, 1);
}
// The i-th derivative by m of the incomplete integrals of the first or the second kind (DLMF 19.25.5, 19.25.9):
// dF/dm = -s^3 dR_F/dy and dE/dm = s^3 dR_F/dz at (cos^2, 1 - m s^2, 1), with s the sine.
inline double special_elliptic_by_m(int i, int second, double phi, double m) {
    const double pi = 3.14159265358979323846, turns = std::rint(phi / pi);
    const double s = std::sin(phi - turns * pi), c = std::cos(phi - turns * pi), square = s * s;
    double part = second ? s * square : s, whole = 2 * turns;
    for (int n = second; n < i; ++n) {
        part *= -square;
        whole = -whole;
    }
    const double over = part == 0 ? 0 : part * special_carlson(0, i - second, second, c * c, 1 - m * square, 1);
    return over + (turns == 0 ? 0 : whole * special_carlson(0, i - second, second, 0, 1 - m, 1));
}

// The n-th derivative of Faddeeva's function w(z), with w^(n+1) = -2 z w^(n) - 2 n w^(n-1), and the asymptotic series
// where that loses digits (DLMF 7.10, 7.12): above the real axis, to which 2 exp(-z^2) is added below it.
inline std::complex<double> special_wofz(int i, std::complex<double> z) {
    using complex = std::complex<double>;
    const double root = 1.7724538509055159;
    complex last(0), now(0);
    if (i == 0 || std::abs(z) < 6) {
        now = scipy_wofz(z);
        for (int n = 0; n < i; ++n) {
            const complex next = -2.0 * z * now + (n ? -2.0 * n * last : complex(0, 2 / root));
            last = now;
            now = next;
        }
        return now;
    }
    complex term = complex(0, 1 / root) / z;
    for (int n = 1; n <= i; ++n) term *= -double(n) / z;
    for (int k = 0; k < 40; ++k) {
        now += term;
        const complex next = term * (0.5 * (2 * k + 1) * (2 * k + 1 + i) * (2 * k + 2 + i) / ((2 * k + 1) * (2 * k + 2))) / z / z;
        if (!(std::abs(next) < std::abs(term)) || std::abs(next) < 1e-18 * std::abs(now)) break;
        term = next;
    }
    if (z.imag() <= 0) {  // on the axis, the real part is a Gaussian
        complex before(0), h = (z.imag() < 0 ? 2.0 : 1.0) * std::exp(-z * z);
        for (int n = 0; n < i; ++n) {
            const complex next = -2.0 * z * h - 2.0 * n * before;
            before = h;
            h = next;
        }
        now += h;
    }
    return now;
}

// Rules of complex numbers write whole numbers as such.
inline std::complex<double> special_wofz(std::complex<double> i, std::complex<double> z) {
    return special_wofz(int(i.real()), z);
}

// The i-th derivative by x of Voigt's profile (part 0), or of its conjugate (part 1): of Faddeeva's function.
inline double special_voigt(int i, int part, double x, double sigma, double gamma) {
    using complex = std::complex<double>;
    const double pi = 3.14159265358979323846, root = std::sqrt(pi);
    const auto chosen = [&](complex w) { return part ? w.imag() : w.real(); };
    if (x != x || sigma != sigma || gamma != gamma) return NAN;
    if (std::isinf(x)) return 0;
    if (sigma == 0) {
        complex found = complex(0, 1) / (pi * complex(x, gamma));
        for (int n = 1; n <= i; ++n) found *= -double(n) / complex(x, gamma);
        return chosen(found);
    }
    const double width = std::fabs(sigma) * 1.4142135623730951;
    const complex z = complex(x, gamma) / width;
    const complex now = special_wofz(i, z);
    return chosen(now) / (std::pow(width, i + 1) * root);
}
#endif
