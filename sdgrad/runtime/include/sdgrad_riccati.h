// Algebraic Riccati equations, whose matrices G = B R^-1 B^H and Q are Hermitian. What has no stabilizing solution is NaN.
#pragma once

#include "sdgrad_matrix_functions.h"

#ifdef LAPACKE_dgees  // of sdgrad_blas.h
namespace sdgrad {

// Schur vectors z, those of eigenvalues left of the imaginary axis first, and how many these are.
inline int stable_vectors(int n, float *a, float *z) {
    std::vector<float> re(n), im(n);
    int count = 0;
    auto left = [](const float *x, const float *) { return int(*x < 0); };
    return LAPACKE_sgees(LAPACK_ROW_MAJOR, 'V', 'S', left, n, a, n, &count, re.data(), im.data(), z, n) ? -1 : count;
}
inline int stable_vectors(int n, double *a, double *z) {
    std::vector<double> re(n), im(n);
    int count = 0;
    auto left = [](const double *x, const double *) { return int(*x < 0); };
    return LAPACKE_dgees(LAPACK_ROW_MAJOR, 'V', 'S', left, n, a, n, &count, re.data(), im.data(), z, n) ? -1 : count;
}
inline int stable_vectors(int n, std::complex<float> *a, std::complex<float> *z) {
    std::vector<std::complex<float>> w(n);
    int count = 0;
    auto left = [](const std::complex<float> *x) { return int(x->real() < 0); };
    return LAPACKE_cgees(LAPACK_ROW_MAJOR, 'V', 'S', left, n, a, n, &count, w.data(), z, n) ? -1 : count;
}
inline int stable_vectors(int n, std::complex<double> *a, std::complex<double> *z) {
    std::vector<std::complex<double>> w(n);
    int count = 0;
    auto left = [](const std::complex<double> *x) { return int(x->real() < 0); };
    return LAPACKE_zgees(LAPACK_ROW_MAJOR, 'V', 'S', left, n, a, n, &count, w.data(), z, n) ? -1 : count;
}

template <typename T> void store_hermitian(int64_t n, const std::vector<T> &x, T *to, int64_t row) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) to[i * row + j] = (x[i * n + j] + conjugate(x[j * n + i])) * T(0.5);
}

// A^H X + X A - X G X + Q = 0: the stable subspace of the Hamiltonian matrix (Laub 1979), and a step of Newton's method
// (Kleinman 1968).
template <typename T>
void care(int64_t n, const T *a, int64_t a_row, const T *g, int64_t g_row, const T *q, int64_t q_row, T *x, int64_t row) {
    const int size = int(n), twice = 2 * size;
    std::vector<T> h(4 * n * n), z(4 * n * n), left(n * n), found(n * n), closed(n * n), turned(n * n), rest(n * n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            h[i * twice + j] = a[i * a_row + j], h[i * twice + n + j] = -g[i * g_row + j];
            h[(n + i) * twice + j] = -q[i * q_row + j], h[(n + i) * twice + n + j] = -conjugate(a[j * a_row + i]);
        }
    if (!all_finite(twice, twice, h.data(), twice) || stable_vectors(twice, h.data(), z.data()) != n)
        return no_numbers(n, n, x, row);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
            left[i * n + j] = conjugate(z[j * twice + i]), found[i * n + j] = conjugate(z[(n + j) * twice + i]);
    solve_in_place(size, size, left.data(), found.data());
    store_hermitian(n, found, x, row);
    found = copied(n, n, x, row);
    const std::vector<T> whole = copied(n, n, g, g_row);
    multiply(size, size, size, whole.data(), false, found.data(), false, closed.data());
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) closed[i * n + j] = a[i * a_row + j] - T(0.5) * closed[i * n + j];
    multiply(size, size, size, found.data(), false, closed.data(), false, rest.data());  // half of the residual
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) left[i * n + j] = -(rest[i * n + j] + conjugate(rest[j * n + i]) + q[i * q_row + j]);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) closed[i * n + j] = T(2) * closed[i * n + j] - a[i * a_row + j];
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) turned[i * n + j] = conjugate(closed[j * n + i]);
    sylvester(n, n, turned.data(), n, closed.data(), n, left.data(), n, rest.data(), n);
    for (int64_t e = 0; e < n * n; ++e) found[e] += rest[e];
    store_hermitian(n, found, x, row);
}

// X = A^H X (1 + G X)^-1 A + Q, by doubling (Chu, Fan, Lin and Wang 2004).
template <typename T>
void dare(int64_t n, const T *a, int64_t a_row, const T *g, int64_t g_row, const T *q, int64_t q_row, T *x, int64_t row) {
    const int size = int(n);
    std::vector<T> s = copied(n, n, a, a_row), y = copied(n, n, g, g_row), h = copied(n, n, q, q_row);
    std::vector<T> middle(n * n), wide(2 * n * n), of_s(n * n), of_y(n * n), half(n * n), next(n * n);
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 100; ++step) {
        multiply(size, size, size, y.data(), false, h.data(), false, middle.data());
        for (int64_t i = 0; i < n; ++i) {
            middle[i * n + i] += T(1);
            std::copy_n(s.data() + i * n, n, wide.data() + 2 * i * n);
            std::copy_n(y.data() + i * n, n, wide.data() + 2 * i * n + n);
        }
        solve_in_place(size, 2 * size, middle.data(), wide.data());
        for (int64_t i = 0; i < n; ++i) {
            std::copy_n(wide.data() + 2 * i * n, n, of_s.data() + i * n);
            std::copy_n(wide.data() + 2 * i * n + n, n, of_y.data() + i * n);
        }
        multiply(size, size, size, h.data(), false, of_s.data(), false, half.data());
        multiply(size, size, size, s.data(), true, half.data(), false, next.data());
        for (int64_t e = 0; e < n * n; ++e) h[e] += next[e];
        const double change = norm_of_columns(n, next);
        if (!(change <= norm_of_columns(n, h) * std::numeric_limits<typename real_of<T>::type>::epsilon())) {
            if (step > 60 && !(change < before)) return no_numbers(n, n, x, row);
            before = change;
            multiply(size, size, size, of_y.data(), false, s.data(), true, half.data());
            multiply(size, size, size, s.data(), false, half.data(), false, next.data());
            for (int64_t e = 0; e < n * n; ++e) y[e] += next[e];
            multiply(size, size, size, s.data(), false, of_s.data(), false, next.data());
            s.swap(next);
        } else {
            return store_hermitian(n, h, x, row);
        }
    }
    no_numbers(n, n, x, row);
}

}  // namespace sdgrad
#endif
