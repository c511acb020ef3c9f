// Determinants, and adjugates, which are their derivatives: also of matrices without an inverse.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sdgrad_factors.h"

namespace sdgrad {

template <typename T> std::vector<T> eliminated(int64_t n, const T *a, int64_t a_row, std::vector<int32_t> &p) {
    std::vector<T> f(n * n);
    p.resize(n);
#ifdef LAPACKE_dgetrf
    factorize_by_blas(n, a, a_row, f.data(), n, p.data());
#else
    factorize_by_loops(n, a, a_row, f.data(), n, p.data());
#endif
    return f;
}

// Sign (of complex matrices: a number of modulus one) and logarithm of the modulus; 0 and -inf of what has no inverse.
template <typename T, typename R> void slogdet(int64_t n, const T *a, int64_t a_row, T *sign, R *logarithm) {
    std::vector<int32_t> p;
    const std::vector<T> f = eliminated(n, a, a_row, p);
    *sign = T(1);
    *logarithm = R(0);
    for (int64_t k = 0; k < n; ++k) {
        const T pivot = f[k * n + k];
        const R size = std::abs(pivot);
        if (size == R(0)) {
            *sign = T(0);
            *logarithm = -std::numeric_limits<R>::infinity();
            return;
        }
        *sign *= (p[k] != k ? T(-1) : T(1)) * (pivot / size);
        *logarithm += std::log(size);
    }
}

// A product that leaves the range of its type in between is made of logarithms.
template <typename T> void det(int64_t n, const T *a, int64_t a_row, T *found) {
    std::vector<int32_t> p;
    const std::vector<T> f = eliminated(n, a, a_row, p);
    T product(1);
    for (int64_t k = 0; k < n; ++k) product *= p[k] != k ? -f[k * n + k] : f[k * n + k];
    auto size = std::abs(product);
    if (!(size > std::numeric_limits<decltype(size)>::min() && size <= std::numeric_limits<decltype(size)>::max())) {
        T sign;
        slogdet(n, a, a_row, &sign, &size);
        product = size == -std::numeric_limits<decltype(size)>::infinity() ? T(0) : T(sign * std::exp(size));
    }
    *found = product;
}

template <typename T> void interchange_rows(int64_t n, T *y, int64_t i, int64_t k) {
    if (i != k) std::swap_ranges(y + i * n, y + (i + 1) * n, y + k * n);
}

// The adjugate: det(A) A^-1 where A has an inverse, of rank one where it lacks one rank, zero otherwise. By elimination
// with complete pivoting, P A Q = L U with pivots that fall: adj(A) = +-Q adj(U) L^-1 P, where no division is by the last
// pivot (Stewart 1998).
template <typename T> void adjugate(int64_t n, const T *a, int64_t a_row, T *x, int64_t row) {
    std::vector<T> f(n * n), y(n * n);
    std::vector<int64_t> p(n), q(n);
    copy_rows(n, n, a, a_row, f.data(), n);
    T product(1);  // of all pivots but the last, with the sign of the permutations
    for (int64_t k = 0; k < n; ++k) {
        int64_t i = k, j = k;
        for (int64_t r = k; r < n; ++r)
            for (int64_t c = k; c < n; ++c)
                if (std::abs(f[r * n + c]) > std::abs(f[i * n + j])) i = r, j = c;
        p[k] = i, q[k] = j;
        if (i != k) std::swap_ranges(f.data() + i * n, f.data() + (i + 1) * n, f.data() + k * n), product = -product;
        if (j != k) {
            for (int64_t r = 0; r < n; ++r) std::swap(f[r * n + j], f[r * n + k]);
            product = -product;
        }
        if (k + 1 < n) product *= f[k * n + k];
        if (k + 1 < n && f[k * n + k] == T(0)) {
            for (int64_t r = 0; r < n; ++r) std::fill_n(x + r * row, n, T(0));
            return;
        }
        for (int64_t r = k + 1; r < n; ++r) {
            const T factor = f[r * n + k] /= f[k * n + k];
            for (int64_t c = k + 1; c < n; ++c) f[r * n + c] -= factor * f[k * n + c];
        }
    }
    const T last = n ? f[n * n - 1] : T(1);
    for (int64_t i = 0; i < n; ++i) y[i * n + i] = T(1);
    for (int64_t k = 0; k < n; ++k) interchange_rows(n, y.data(), k, p[k]);
    for (int64_t i = 0; i < n; ++i)  // L^-1 P
        for (int64_t k = 0; k < i; ++k)
            for (int64_t c = 0; c < n; ++c) y[i * n + c] -= f[i * n + k] * y[k * n + c];
    // adj(U) / product = [[last U1^-1, -U1^-1 u], [0, 1]]
    for (int64_t i = n - 2; i >= 0; --i) {
        for (int64_t c = 0; c < n; ++c) y[i * n + c] = last * y[i * n + c] - f[i * n + n - 1] * y[(n - 1) * n + c];
        for (int64_t k = i + 1; k < n - 1; ++k)
            for (int64_t c = 0; c < n; ++c) y[i * n + c] -= f[i * n + k] * y[k * n + c];
        for (int64_t c = 0; c < n; ++c) y[i * n + c] /= f[i * n + i];
    }
    for (int64_t k = n - 1; k >= 0; --k) interchange_rows(n, y.data(), k, q[k]);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < n; ++c) x[i * row + c] = product * y[i * n + c];
}

}  // namespace sdgrad
