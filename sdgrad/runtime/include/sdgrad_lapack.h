// Decompositions of matrices by LAPACK. Matrices are stored row by row; what LAPACK cannot decompose becomes NaN, as
// what is not finite does.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef LAPACKE_dsyevd  // of sdgrad_blas.h
namespace sdgrad {

template <typename T> struct real_of { using type = T; };
template <typename T> struct real_of<std::complex<T>> { using type = T; };

template <typename T> bool all_finite(int64_t rows, int64_t columns, const T *a, int64_t row) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            if (!(std::abs(a[i * row + j]) <= std::numeric_limits<typename real_of<T>::type>::max())) return false;
    return true;
}

template <typename T> void no_numbers(int64_t rows, int64_t columns, T *a, int64_t row) {
    for (int64_t i = 0; i < rows; ++i)
        std::fill_n(a + i * row, columns, T(std::numeric_limits<typename real_of<T>::type>::quiet_NaN()));
}

#define SDGRAD_EIGENVALUES(letter, T, R)                                                                               \
    inline int eigenvalues(char job, int n, T *a, int row, R *w) {                                                     \
        return LAPACKE_##letter##evd(LAPACK_ROW_MAJOR, job, 'L', n, a, row, w);                                        \
    }
SDGRAD_EIGENVALUES(ssy, float, float)
SDGRAD_EIGENVALUES(dsy, double, double)
SDGRAD_EIGENVALUES(che, std::complex<float>, float)
SDGRAD_EIGENVALUES(zhe, std::complex<double>, double)
#undef SDGRAD_EIGENVALUES

// Eigenvalues in ascending order, and eigenvectors as columns, of the matrix with this lower triangle.
template <typename T, typename R> void eigh(int64_t n, const T *a, int64_t a_row, R *w, T *v, int64_t row, char job = 'V') {
    for (int64_t i = 0; i < n; ++i) {
        std::copy_n(a + i * a_row, i + 1, v + i * row);
        std::fill_n(v + i * row + i + 1, n - i - 1, T(0));
    }
    if (all_finite(n, n, v, row) && eigenvalues(job, int(n), v, int(row), w) == 0) return;
    no_numbers(1, n, w, n);
    no_numbers(n, n, v, row);
}

template <typename T, typename R> void eigvalsh(int64_t n, const T *a, int64_t a_row, R *w) {
    std::vector<T> own(n * n);
    eigh(n, a, a_row, w, own.data(), n, 'N');
}

#define SDGRAD_SVD(letter, T, R)                                                                                       \
    inline int singular_values(char job, int m, int n, T *a, R *s, T *u, int u_row, T *v, int v_row) {                 \
        return LAPACKE_##letter##gesdd(LAPACK_ROW_MAJOR, job, m, n, a, n, s, u, u_row, v, v_row);                      \
    }                                                                                                                  \
    inline int singular_values(int m, int n, T *a, R *s) { /* those of the transposed matrix */                       \
        return LAPACKE_##letter##gesdd(LAPACK_COL_MAJOR, 'N', n, m, a, n, s, nullptr, 1, nullptr, 1);                  \
    }
SDGRAD_SVD(s, float, float)
SDGRAD_SVD(d, double, double)
SDGRAD_SVD(c, std::complex<float>, float)
SDGRAD_SVD(z, std::complex<double>, double)
#undef SDGRAD_SVD

// A = U S V, with as many vectors as singular values.
template <typename T, typename R>
void svd(int64_t m, int64_t n, const T *a, int64_t a_row, T *u, int64_t u_row, R *s, T *v, int64_t v_row) {
    std::vector<T> own(m * n);
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * a_row, n, own.data() + i * n);
    const int64_t k = std::min(m, n);
    if (all_finite(m, n, own.data(), n) &&
        singular_values('S', int(m), int(n), own.data(), s, u, int(u_row), v, int(v_row)) == 0)
        return;
    no_numbers(m, k, u, u_row);
    no_numbers(1, k, s, k);
    no_numbers(k, n, v, v_row);
}

// The same, and the vectors beside those: columns if there are more rows than columns, or else rows.
template <typename T, typename R>
void svd_full(int64_t m, int64_t n, const T *a, int64_t a_row, T *u, int64_t u_row, R *s, T *v, int64_t v_row, T *e,
              int64_t e_row) {
    std::vector<T> own(m * n), left(m * m), right(n * n);
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * a_row, n, own.data() + i * n);
    const int64_t k = std::min(m, n);
    if (!all_finite(m, n, own.data(), n) ||
        singular_values('A', int(m), int(n), own.data(), s, left.data(), int(m), right.data(), int(n))) {
        no_numbers(1, k, s, k);
        no_numbers(m, m, left.data(), m);
        no_numbers(n, n, right.data(), n);
    }
    for (int64_t i = 0; i < m; ++i) std::copy_n(left.data() + i * m, k, u + i * u_row);
    for (int64_t i = 0; i < k; ++i) std::copy_n(right.data() + i * n, n, v + i * v_row);
    for (int64_t i = 0; m > n && i < m; ++i) std::copy_n(left.data() + i * m + n, m - n, e + i * e_row);
    for (int64_t i = m; i < n; ++i) std::copy_n(right.data() + i * n, n, e + (i - m) * e_row);
}

template <typename T, typename R> void svdvals(int64_t m, int64_t n, const T *a, int64_t a_row, R *s) {
    std::vector<T> own(m * n);
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * a_row, n, own.data() + i * n);
    if (!all_finite(m, n, own.data(), n) || singular_values(int(m), int(n), own.data(), s)) no_numbers(1, std::min(m, n), s, 1);
}

// The transposed matrix, in tiles that the cache holds.
template <typename T> void transpose(int64_t m, int64_t n, const T *a, int64_t a_row, T *to, int64_t row) {
    constexpr int64_t TILE = 16;
    for (int64_t top = 0; top < m; top += TILE)
        for (int64_t left = 0; left < n; left += TILE)
            for (int64_t j = left; j < std::min(left + TILE, n); ++j)
                for (int64_t i = top; i < std::min(top + TILE, m); ++i) to[j * row + i] = a[i * a_row + j];
}

#define SDGRAD_QR(letter, T, making)                                                                                   \
    inline void reflect(int m, int n, T *a, T *tau) { LAPACKE_##letter##geqrf(LAPACK_COL_MAJOR, m, n, a, m, tau); }    \
    inline void reflect_with_pivots(int m, int n, T *a, int *p, T *tau) {                                              \
        LAPACKE_##letter##geqp3(LAPACK_COL_MAJOR, m, n, a, m, p, tau);                                                 \
    }                                                                                                                  \
    inline void make_orthogonal(int m, int k, int count, T *q, const T *tau) {                                         \
        LAPACKE_##letter##making(LAPACK_COL_MAJOR, m, k, count, q, m, tau);                                            \
    }
SDGRAD_QR(s, float, orgqr)
SDGRAD_QR(d, double, orgqr)
SDGRAD_QR(c, std::complex<float>, ungqr)
SDGRAD_QR(z, std::complex<double>, ungqr)
#undef SDGRAD_QR

// A = Q R, with `k` columns of Q.
template <typename T>
void qr(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, T *q, int64_t q_row, T *r, int64_t r_row) {
    std::vector<T> own(m * std::max(n, k)), tau(std::min(m, n));  // columns, one behind the other
    transpose(m, n, a, a_row, own.data(), m);
    reflect(int(m), int(n), own.data(), tau.data());
    transpose(n, k, own.data(), m, r, r_row);
    for (int64_t i = 1; i < k; ++i) std::fill_n(r + i * r_row, std::min(i, n), T(0));
    make_orthogonal(int(m), int(k), int(tau.size()), own.data(), tau.data());
    transpose(k, m, own.data(), m, q, q_row);
}

// The same with as many columns of Q as A has, and the columns beside these.
template <typename T>
void qr_full(int64_t m, int64_t n, const T *a, int64_t a_row, T *q, int64_t q_row, T *r, int64_t r_row, T *e,
             int64_t e_row) {
    std::vector<T> all(m * m), triangle(m * n);
    qr(m, n, m, a, a_row, all.data(), m, triangle.data(), n);
    for (int64_t i = 0; i < n; ++i) std::copy_n(triangle.data() + i * n, n, r + i * r_row);
    for (int64_t i = 0; i < m; ++i) {
        std::copy_n(all.data() + i * m, n, q + i * q_row);
        std::copy_n(all.data() + i * m + n, m - n, e + i * e_row);
    }
}

// The order of columns with which QR has a descending diagonal; of what is not finite, the order that is there.
template <typename T> void pivots(int64_t m, int64_t n, const T *a, int64_t a_row, int32_t *order) {
    std::vector<T> own(m * n), tau(std::min(m, n));
    std::vector<int> places(n);  // all are free to be chosen
    transpose(m, n, a, a_row, own.data(), m);
    const bool finite = all_finite(m, n, a, a_row);
    if (finite) reflect_with_pivots(int(m), int(n), own.data(), places.data(), tau.data());
    for (int64_t j = 0; j < n; ++j) order[j] = finite ? int32_t(places[j] - 1) : int32_t(j);
}

// Eigenvalues and eigenvectors (columns) of a general matrix.
template <typename R> int general_eigenvalues(int n, R *a, std::complex<R> *w, std::complex<R> *v, int row) {
    std::vector<R> real(n), imaginary(n), packed(n * n);  // a pair of conjugate vectors is stored as two columns
    int failed;
    if constexpr (std::is_same_v<R, float>)
        failed = LAPACKE_sgeev(LAPACK_ROW_MAJOR, 'N', 'V', n, a, n, real.data(), imaginary.data(), nullptr, n, packed.data(), n);
    else
        failed = LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'V', n, a, n, real.data(), imaginary.data(), nullptr, n, packed.data(), n);
    for (int j = 0; j < n; ++j) {
        w[j] = {real[j], imaginary[j]};
        const int first = imaginary[j] < 0 ? j - 1 : j;
        for (int i = 0; i < n; ++i) {
            const R next = imaginary[j] == 0 ? R(0) : packed[i * n + first + 1];
            v[i * row + j] = {packed[i * n + first], imaginary[j] < 0 ? -next : next};
        }
    }
    return failed;
}
inline int general_eigenvalues(int n, std::complex<float> *a, std::complex<float> *w, std::complex<float> *v, int row) {
    return LAPACKE_cgeev(LAPACK_ROW_MAJOR, 'N', 'V', n, a, n, w, nullptr, n, v, row);
}
inline int general_eigenvalues(int n, std::complex<double> *a, std::complex<double> *w, std::complex<double> *v, int row) {
    return LAPACKE_zgeev(LAPACK_ROW_MAJOR, 'N', 'V', n, a, n, w, nullptr, n, v, row);
}

template <typename T, typename C> void eig(int64_t n, const T *a, int64_t a_row, C *w, C *v, int64_t row) {
    std::vector<T> own(n * n);
    for (int64_t i = 0; i < n; ++i) std::copy_n(a + i * a_row, n, own.data() + i * n);
    if (all_finite(n, n, own.data(), n) && general_eigenvalues(int(n), own.data(), w, v, int(row)) == 0) return;
    no_numbers(1, n, w, n);
    no_numbers(n, n, v, row);
}

#define SDGRAD_LU(letter, T)                                                                                           \
    inline void eliminate(int m, int n, T *f, int row, int *p) {                                                       \
        LAPACKE_##letter##getrf(LAPACK_ROW_MAJOR, m, n, f, row, p);                                                    \
    }                                                                                                                  \
    inline int solve_banded(int n, int lower, int upper, int columns, T *bands, T *x, int row) {                       \
        std::vector<int> p(n);                                                                                         \
        return LAPACKE_##letter##gbsv(LAPACK_ROW_MAJOR, n, lower, upper, columns, bands, n, p.data(), x, row);         \
    }                                                                                                                  \
    inline int solve_positive_banded(int n, int lower, int columns, T *bands, T *x, int row) {                         \
        return LAPACKE_##letter##pbsv(LAPACK_ROW_MAJOR, 'L', n, lower, columns, bands, n, x, row);                     \
    }
SDGRAD_LU(s, float)
SDGRAD_LU(d, double)
SDGRAD_LU(c, std::complex<float>)
SDGRAD_LU(z, std::complex<double>)
#undef SDGRAD_LU

// Packed factors of a matrix with partial pivoting, the rows that were interchanged (p), and where each row of the matrix
// is among those of the product L U (order).
template <typename T>
void lu(int64_t m, int64_t n, const T *a, int64_t a_row, T *f, int64_t row, int32_t *p, int32_t *order) {
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * a_row, n, f + i * row);
    std::vector<int64_t> rows(m);
    for (int64_t i = 0; i < m; ++i) rows[i] = i;
    for (int64_t k = 0; k < std::min(m, n); ++k) p[k] = int32_t(k + 1);
    if (!all_finite(m, n, a, a_row)) {  // LAPACKE looks for NaN as well, and leaves the interchanges as they were
        no_numbers(m, n, f, row);
    } else {
        eliminate(int(m), int(n), f, int(row), p);
    }
    for (int64_t k = 0; k < std::min(m, n); ++k) std::swap(rows[k], rows[--p[k]]);
    for (int64_t i = 0; i < m; ++i) order[rows[i]] = int32_t(i);
}

// Solutions of a system whose matrix has these diagonals, from the uppermost on; NaN if it has no inverse, or is to be
// positive definite and is not.
template <bool positive, typename T>
void banded(int64_t n, int64_t columns, int64_t lower, int64_t upper, const T *a, int64_t a_row, const T *b, int64_t b_row,
            T *x, int64_t row) {
    std::vector<T> bands((2 * lower + upper + 1) * n);
    const int64_t first = positive ? upper : 0, before = positive ? 0 : lower;  // rows to read, and to leave free
    for (int64_t i = first; i < lower + upper + 1; ++i)
        std::copy_n(a + i * a_row, n, bands.data() + (before + i - first) * n);
    for (int64_t i = 0; i < n; ++i) std::copy_n(b + i * b_row, columns, x + i * row);
    const int failed = positive ? solve_positive_banded(int(n), int(lower), int(columns), bands.data(), x, int(row))
                                : solve_banded(int(n), int(lower), int(upper), int(columns), bands.data(), x, int(row));
    if (failed) no_numbers(n, columns, x, row);
}

}  // namespace sdgrad
#endif
