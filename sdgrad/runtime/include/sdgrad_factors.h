// Factors of a square matrix, and systems that they solve: A = S T P', with S lower and T upper triangular, ones on the
// diagonal of T, and a permutation P of columns. By rows, which is what LAPACK's factorization of A' leaves: nothing is
// transposed. The interchanges p count from zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

namespace sdgrad {

template <typename T>
inline T conjugate(const T &x) { return x; }
template <typename T>
inline std::complex<T> conjugate(const std::complex<T> &x) { return std::conj(x); }

template <typename T>
void copy_rows(int64_t rows, int64_t columns, const T *from, int64_t from_row, T *to, int64_t to_row) {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_row, columns, to + i * to_row);
}

// Rows of x in the order of A's columns (forwards is P' x, else P x).
template <typename T>
void interchange(int64_t n, int64_t columns, const int32_t *p, T *x, int64_t row, bool forwards) {
    for (int64_t count = 0; count < n; ++count) {
        const int64_t k = forwards ? count : n - 1 - count;
        if (p[k] != k) std::swap_ranges(x + k * row, x + k * row + columns, x + p[k] * row);
    }
}

// Which row comes to each place.
inline void order(int64_t n, const int32_t *p, int32_t *rows) {
    for (int64_t k = 0; k < n; ++k) rows[k] = int32_t(k);
    for (int64_t k = 0; k < n; ++k)
        if (p[k] >= 0 && p[k] < n) std::swap(rows[k], rows[p[k]]);
}

template <typename T>
void factorize_by_loops(int64_t n, const T *a, int64_t a_row, T *f, int64_t row, int32_t *p) {
    copy_rows(n, n, a, a_row, f, row);
    for (int64_t k = 0; k < n; ++k) {
        int64_t best = k;
        for (int64_t j = k + 1; j < n; ++j)
            if (std::abs(f[k * row + j]) > std::abs(f[k * row + best])) best = j;
        p[k] = int32_t(best);
        if (best != k)
            for (int64_t i = 0; i < n; ++i) std::swap(f[i * row + k], f[i * row + best]);
        for (int64_t j = k + 1; j < n; ++j) f[k * row + j] /= f[k * row + k];
        for (int64_t i = k + 1; i < n; ++i)
            for (int64_t j = k + 1; j < n; ++j) f[i * row + j] -= f[i * row + k] * f[k * row + j];
    }
}

template <typename T>
void solve_by_loops(int64_t n, int64_t columns, const T *f, int64_t f_row, const int32_t *p, const T *b, int64_t b_row,
                    T *x, int64_t row, bool adjoint) {
    copy_rows(n, columns, b, b_row, x, row);
    if (adjoint) interchange(n, columns, p, x, row, true);
    for (int pass = 0; pass < 2; ++pass) {
        const bool lower = (pass == 0) != adjoint;  // S, then T; or the adjoints, of T first
        const bool down = lower != adjoint;         // from the first unknown
        for (int64_t count = 0; count < n; ++count) {
            const int64_t k = down ? count : n - 1 - count;
            for (int64_t before = 0; before < count; ++before) {
                const int64_t m = down ? before : n - 1 - before;
                const T factor = adjoint ? conjugate(f[m * f_row + k]) : f[k * f_row + m];
                for (int64_t c = 0; c < columns; ++c) x[k * row + c] -= factor * x[m * row + c];
            }
            const T diagonal = adjoint ? conjugate(f[k * f_row + k]) : f[k * f_row + k];
            for (int64_t c = 0; lower && c < columns; ++c) x[k * row + c] /= diagonal;
        }
    }
    if (!adjoint) interchange(n, columns, p, x, row, false);
}

#ifdef LAPACKE_dgetrf  // of sdgrad_blas.h
#define SDGRAD_FACTORS(letter, T, ONE)                                                                                 \
    inline void factorize_by_blas(int64_t n, const T *a, int64_t a_row, T *f, int64_t row, int32_t *p) {               \
        copy_rows(n, n, a, a_row, f, row);                                                                             \
        LAPACKE_##letter##getrf_work(LAPACK_COL_MAJOR, int(n), int(n), f, int(row), p);                          \
        for (int64_t k = 0; k < n; ++k) --p[k];                                                                        \
    }                                                                                                                  \
    inline void solve_by_blas(int64_t n, int64_t columns, const T *f, int64_t f_row, const int32_t *p, const T *b,     \
                              int64_t b_row, T *x, int64_t row, bool adjoint) {                                        \
        const T one = 1;                                                                                               \
        const auto how = adjoint ? CblasConjTrans : CblasNoTrans;                                                      \
        const int sizes[] = {int(n), int(columns)};                                                                    \
        auto lower = [&] {                                                                                             \
            cblas_##letter##trsm(CblasRowMajor, CblasLeft, CblasLower, how, CblasNonUnit, sizes[0], sizes[1],    \
                                       ONE, f, int(f_row), x, int(row));                                               \
        };                                                                                                             \
        auto upper = [&] {                                                                                             \
            cblas_##letter##trsm(CblasRowMajor, CblasLeft, CblasUpper, how, CblasUnit, sizes[0], sizes[1], ONE,  \
                                       f, int(f_row), x, int(row));                                                    \
        };                                                                                                             \
        copy_rows(n, columns, b, b_row, x, row);                                                                       \
        if (adjoint) interchange(n, columns, p, x, row, true), upper(), lower();                                       \
        else lower(), upper(), interchange(n, columns, p, x, row, false);                                              \
    }
SDGRAD_FACTORS(s, float, one)
SDGRAD_FACTORS(d, double, one)
SDGRAD_FACTORS(c, std::complex<float>, &one)
SDGRAD_FACTORS(z, std::complex<double>, &one)
#undef SDGRAD_FACTORS
#endif

}  // namespace sdgrad
