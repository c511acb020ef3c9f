// Derivatives of special functions of complex numbers.
#pragma once

// The n-th derivative of pi cot(pi z): pi^(n+1) q_n(c) / sin(pi z)^2 with c = cot(pi z), where q_1 = -1 and
// q_(n+1) = -(2 c q_n + (1 + c^2) q_n').
inline std::complex<double> special_cotangent(int n, std::complex<double> z) {
    const double pi = 3.14159265358979323846;
    z = pi * (z - std::rint(z.real()));
    const std::complex<double> sine = std::sin(z), c = std::cos(z) / sine;
    double q[32] = {-1};
    for (int k = 1; k < n; ++k) {
        double next[32] = {};
        for (int d = 0; d < k; ++d) {
            next[d + 1] -= (d + 2) * q[d];
            if (d > 0) next[d - 1] -= d * q[d];
        }
        for (int d = 0; d <= k; ++d) q[d] = next[d];
    }
    std::complex<double> sum = 0;
    for (int d = n - 1; d >= 0; --d) sum = sum * c + q[d];
    return std::pow(pi, n + 1) * sum / sine / sine;
}

// The n-th derivative of the digamma function, as sdgrad_polygamma has it of real numbers: by reflection on the left;
// else by recurrence away from zero, and the asymptotic series (DLMF 5.5.4, 5.15.5, 5.15.8).
inline std::complex<double> special_psi(int n, std::complex<double> z) {
    using complex = std::complex<double>;
    static const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6,
                                       -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
    if (n == 0) return scipy_psi(z);
    if (n > 30) return complex(NAN, NAN);
    const double far = 12 + n, factorial = std::tgamma(n + 1.0), sign = n % 2 ? 1 : -1;
    if (z.real() < 0.5 && std::fabs(z.imag()) < far) return -sign * special_psi(n, 1.0 - z) - special_cotangent(n, z);
    complex sum = 0;
    for (; z.real() < far && std::fabs(z.imag()) < far; z += 1) sum += factorial / std::pow(z, n + 1);
    const complex inverse = 1.0 / z, square = inverse * inverse;
    complex series = factorial / n + 0.5 * factorial * inverse, power = square;
    for (int k = 1; k <= 10; ++k, power *= square)
        series += bernoulli[k - 1] * std::tgamma(2.0 * k + n) / std::tgamma(2.0 * k + 1) * power;
    return sign * (sum + series * std::pow(inverse, n));
}

// The n-th derivative of Dawson's integral, with F' = 1 - 2 z F, and by Faddeeva's function where that loses digits
// (DLMF 7.5.1): F = (exp(-z^2) - w(z)) i sqrt(pi) / 2, in the upper half plane.
inline std::complex<double> special_dawsn(int n, std::complex<double> z) {
    using complex = std::complex<double>;
    if (n == 0) return scipy_dawsn(z);
    if (z.imag() < 0) return (n % 2 ? 1.0 : -1.0) * special_dawsn(n, -z);
    const bool near = std::abs(z) < 6;
    complex before = near ? scipy_dawsn(z) : std::exp(-z * z), now = near ? 1.0 - 2.0 * z * before : -2.0 * z * before;
    for (int k = 1; k < n; ++k) {
        const complex next = -2.0 * z * now - 2.0 * k * before;
        before = now, now = next;
    }
    return near ? now : (now - special_wofz(n, z)) * complex(0, 0.886226925452758);
}

// Rules of complex numbers write whole numbers as such.
inline std::complex<double> special_psi(std::complex<double> n, std::complex<double> z) {
    return special_psi(int(n.real()), z);
}
inline std::complex<double> special_dawsn(std::complex<double> n, std::complex<double> z) {
    return special_dawsn(int(n.real()), z);
}
