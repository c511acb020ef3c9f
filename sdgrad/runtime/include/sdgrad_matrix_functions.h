// Functions of matrices, and Sylvester equations, by Schur forms of LAPACK. Matrices are stored row by row.
// What has no result is NaN.
#pragma once

#include "sdgrad_factors.h"
#include "sdgrad_lapack.h"

#ifdef LAPACKE_dgees  // of sdgrad_blas.h
namespace sdgrad {

#define SDGRAD_MATRICES(letter, T, ONE, BETA)                                                                          \
    inline void multiply(int m, int n, int k, const T *a, bool a_adjoint, const T *b, bool b_adjoint, T *c,            \
                         bool add = false) {                                                                           \
        const T one = 1, beta = add;                                                                                   \
        cblas_##letter##gemm(CblasRowMajor, a_adjoint ? CblasConjTrans : CblasNoTrans,                                 \
                             b_adjoint ? CblasConjTrans : CblasNoTrans, m, n, k, ONE, a, a_adjoint ? m : k, b,         \
                             b_adjoint ? k : n, BETA, c, n);                                                           \
    }                                                                                                                  \
    inline void solve_in_place(int n, int columns, T *a, T *x) {                                                       \
        std::vector<int> p(n);                                                                                         \
        const int failed = LAPACKE_##letter##gesv(LAPACK_ROW_MAJOR, n, columns, a, n, p.data(), x, columns);           \
        if (failed) no_numbers(n, columns, x, columns);                                                                \
    }                                                                                                                  \
    inline bool sylvester_of_schur_forms(int m, int n, const T *a, const T *b, T *c, real_of<T>::type *scale) {        \
        return LAPACKE_##letter##trsyl(LAPACK_ROW_MAJOR, 'N', 'C', 1, m, n, a, m, b, n, c, n, scale) >= 0;             \
    }
SDGRAD_MATRICES(s, float, one, beta)
SDGRAD_MATRICES(d, double, one, beta)
SDGRAD_MATRICES(c, std::complex<float>, &one, &beta)
SDGRAD_MATRICES(z, std::complex<double>, &one, &beta)
#undef SDGRAD_MATRICES

// A = Z T Z^H: T in place of A. The eigenvalues of a real matrix are in `w` as well.
inline int schur_form(int n, float *a, float *z, std::complex<float> *w) {
    std::vector<float> real(n), imaginary(n);
    int chosen, failed = LAPACKE_sgees(LAPACK_ROW_MAJOR, 'V', 'N', nullptr, n, a, n, &chosen, real.data(), imaginary.data(), z, n);
    for (int i = 0; i < n; ++i) w[i] = {real[i], imaginary[i]};
    return failed;
}
inline int schur_form(int n, double *a, double *z, std::complex<double> *w) {
    std::vector<double> real(n), imaginary(n);
    int chosen, failed = LAPACKE_dgees(LAPACK_ROW_MAJOR, 'V', 'N', nullptr, n, a, n, &chosen, real.data(), imaginary.data(), z, n);
    for (int i = 0; i < n; ++i) w[i] = {real[i], imaginary[i]};
    return failed;
}
inline int schur_form(int n, std::complex<float> *a, std::complex<float> *z, std::complex<float> *w) {
    int chosen;
    return LAPACKE_cgees(LAPACK_ROW_MAJOR, 'V', 'N', nullptr, n, a, n, &chosen, w, z, n);
}
inline int schur_form(int n, std::complex<double> *a, std::complex<double> *z, std::complex<double> *w) {
    int chosen;
    return LAPACKE_zgees(LAPACK_ROW_MAJOR, 'V', 'N', nullptr, n, a, n, &chosen, w, z, n);
}

template <typename T> std::vector<T> copied(int64_t m, int64_t n, const T *a, int64_t row) {
    std::vector<T> own(m * n);
    for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * row, n, own.data() + i * n);
    return own;
}

template <typename T> double norm_of_columns(int64_t n, const std::vector<T> &a) {
    std::vector<double> sums(n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) sums[j] += std::abs(a[i * n + j]);
    double found = 0;
    for (double sum : sums) found = sum > found || std::isnan(sum) ? sum : found;
    return found;
}

// The Schur form T and the vectors Z of A = Z T Z^H.
template <typename T>
void schur(int64_t n, const T *a, int64_t a_row, T *t, int64_t t_row, T *z, int64_t z_row) {
    std::vector<T> form = copied(n, n, a, a_row), vectors(n * n);
    std::vector<std::complex<typename real_of<T>::type>> w(n);
    if (schur_form(n, form.data(), vectors.data(), w.data())) {
        no_numbers(n, n, t, t_row);
        no_numbers(n, n, z, z_row);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        std::copy_n(form.data() + i * n, n, t + i * t_row);
        std::copy_n(vectors.data() + i * n, n, z + i * z_row);
    }
}

#define SDGRAD_HESSENBERG(letter, T, making)                                                                           \
    inline void make_hessenberg(int n, T *a, T *q, T *tau) {                                                           \
        LAPACKE_##letter##gehrd(LAPACK_COL_MAJOR, n, 1, n, a, n, tau);                                                 \
        std::copy_n(a, int64_t(n) * n, q);                                                                             \
        LAPACKE_##letter##making(LAPACK_COL_MAJOR, n, 1, n, q, n, tau);                                                \
    }
SDGRAD_HESSENBERG(s, float, orghr)
SDGRAD_HESSENBERG(d, double, orghr)
SDGRAD_HESSENBERG(c, std::complex<float>, unghr)
SDGRAD_HESSENBERG(z, std::complex<double>, unghr)
#undef SDGRAD_HESSENBERG

// The Hessenberg form H and the vectors Q of A = Q H Q^H.
template <typename T>
void hessenberg(int64_t n, const T *a, int64_t a_row, T *h, int64_t h_row, T *q, int64_t q_row) {
    std::vector<T> form(n * n), vectors(n * n), tau(n);  // columns, one behind the other
    if (!all_finite(n, n, a, a_row)) {
        no_numbers(n, n, h, h_row);
        no_numbers(n, n, q, q_row);
        return;
    }
    transpose(n, n, a, a_row, form.data(), n);
    make_hessenberg(int(n), form.data(), vectors.data(), tau.data());
    transpose(n, n, form.data(), n, h, h_row);
    transpose(n, n, vectors.data(), n, q, q_row);
    for (int64_t i = 2; i < n; ++i) std::fill_n(h + i * h_row, i - 1, T(0));
}

// A X + X B = Q (Bartels and Stewart 1972), by the Schur forms of A and of B^H.
template <typename T>
void sylvester(int64_t m, int64_t n, const T *a, int64_t a_row, const T *b, int64_t b_row, const T *q, int64_t q_row, T *x,
               int64_t row) {
    typename real_of<T>::type scale = 1;
    std::vector<T> r = copied(m, m, a, a_row), s(n * n), f = copied(m, n, q, q_row), u(m * m), v(n * n), half(m * n);
    std::vector<std::complex<typename real_of<T>::type>> w(std::max(m, n));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) s[i * n + j] = conjugate(b[j * b_row + i]);
    if (!all_finite(m, m, r.data(), m) || !all_finite(n, n, s.data(), n) || schur_form(int(m), r.data(), u.data(), w.data()) ||
        schur_form(int(n), s.data(), v.data(), w.data()))
        return no_numbers(m, n, x, row);
    multiply(int(m), int(n), int(m), u.data(), true, f.data(), false, half.data());
    multiply(int(m), int(n), int(n), half.data(), false, v.data(), false, f.data());
    if (!sylvester_of_schur_forms(int(m), int(n), r.data(), s.data(), f.data(), &scale)) return no_numbers(m, n, x, row);
    for (T &value : f) value /= scale;
    multiply(int(m), int(n), int(m), u.data(), false, f.data(), false, half.data());
    multiply(int(m), int(n), int(n), half.data(), false, v.data(), true, f.data());
    for (int64_t i = 0; i < m; ++i) std::copy_n(f.data() + i * n, n, x + i * row);
}

// -- roots and logarithms
// The principal root of an upper triangular matrix (Bjorck and Hammarling 1983).
template <typename C> std::vector<C> root_of_triangle(int64_t n, const std::vector<C> &t) {
    std::vector<C> r(n * n), column(n);  // a copy of column j
    for (int64_t j = 0; j < n; ++j) {
        r[j * n + j] = std::sqrt(t[j * n + j]);
        for (int64_t i = j - 1; i >= 0; --i) {
            C rest = t[i * n + j];
            for (int64_t k = i + 1; k < j; ++k) rest -= r[i * n + k] * column[k];
            const C sum = r[i * n + i] + r[j * n + j];
            r[i * n + j] = column[i] = rest == C(0) ? C(0) : rest / sum;
        }
    }
    return r;
}

// The principal logarithm of an upper triangular matrix: roots until it is near one, then the partial fractions of the
// Pade approximant of degree 7 (Higham 2008, 11.4 and 11.5).
template <typename C> std::vector<C> logarithm_of_triangle(int64_t n, const std::vector<C> &t) {
    static const double nodes[] = {0, 0.4058451513773971669, 0.7415311855993944399, 0.9491079123427585245};
    static const double weights[] = {0.4179591836734693878, 0.3818300505051189450, 0.2797053914892766679, 0.1294849661688696933};
    std::vector<C> near = t, found(n * n), column(n);
    int roots = 0;
    auto distance = [&] {
        std::vector<C> rest = near;
        for (int64_t i = 0; i < n; ++i) rest[i * n + i] -= C(1);
        return norm_of_columns(n, rest);
    };
    while (!(distance() <= 0.264) && roots < 100) near = root_of_triangle(n, near), ++roots;
    for (int64_t i = 0; i < n; ++i) near[i * n + i] -= C(1);
    using R = typename C::value_type;
    for (int k = -3; k <= 3; ++k) {
        const R at = R((1 + (k < 0 ? -nodes[-k] : nodes[k])) / 2), weight = R(weights[std::abs(k)] / 2);
        for (int64_t j = 0; j < n; ++j)  // (1 + at X)^-1 X
            for (int64_t i = j; i >= 0; --i) {
                C rest = near[i * n + j];
                for (int64_t m = i + 1; m <= j; ++m) rest -= at * near[i * n + m] * column[m];
                column[i] = rest / (C(1) + at * near[i * n + i]);
                found[i * n + j] += weight * column[i];
            }
    }
    for (C &value : found) value *= R(std::ldexp(1.0, roots));
    for (int64_t i = 0; i < n; ++i) found[i * n + i] = std::log(t[i * n + i]);
    if (roots >= 100) no_numbers(n, n, found.data(), n);
    return found;
}

template <typename R> R real_part(const std::complex<R> &x, R) { return x.real(); }
template <typename R> std::complex<R> real_part(const std::complex<R> &x, std::complex<R>) { return x; }

// The triangular form, and its unitary matrix, from those of a real matrix, which has blocks of conjugate eigenvalues: a
// rotation of each block's two rows and columns.
template <typename C> void triangle_of_blocks(int64_t n, C *t, C *z, const std::vector<C> &w) {
    using R = typename C::value_type;
    for (int64_t m = n - 1; m > 0; --m) {
        const int64_t k = m - 1;
        const C below = t[m * n + k], apart = w[k] - t[m * n + m];
        if (below == C(0)) continue;
        const R length = std::hypot(std::abs(apart), std::abs(below));
        const C c = apart / length, s = below / length;
        auto turn_columns = [&](C *a, int64_t rows) {
            for (int64_t i = 0; i < rows; ++i) {
                const C first = a[i * n + k], second = a[i * n + m];
                a[i * n + k] = c * first + s * second;
                a[i * n + m] = conjugate(c) * second - s * first;
            }
        };
        for (int64_t j = k; j < n; ++j) {
            const C first = t[k * n + j], second = t[m * n + j];
            t[k * n + j] = conjugate(c) * first + s * second;
            t[m * n + j] = c * second - s * first;
        }
        turn_columns(t, m + 1);
        turn_columns(z, n);
        t[m * n + k] = 0;
    }
}

// A function of a matrix by that of its triangular form. It is not real, and so NaN, where a real matrix has a negative
// eigenvalue: one that is so by more than this many times its rounding.
template <typename T, typename F>
void of_schur_form(int64_t n, const T *a, int64_t a_row, T *x, int64_t row, int times, F function) {
    using R = typename real_of<T>::type;
    using C = std::complex<R>;
    std::vector<T> own = copied(n, n, a, a_row), vectors(n * n);
    std::vector<C> w(n), half(n * n);
    if (!all_finite(n, n, own.data(), n)) return no_numbers(n, n, x, row);
    const R rounding = R(times * n * norm_of_columns(n, own)) * std::numeric_limits<R>::epsilon();
    if (schur_form(int(n), own.data(), vectors.data(), w.data())) return no_numbers(n, n, x, row);
    std::vector<C> t(own.begin(), own.end()), z(vectors.begin(), vectors.end());
    if constexpr (!std::is_same_v<T, C>) {
        for (const C &value : w)
            if (value.imag() == 0 && value.real() < -rounding) return no_numbers(n, n, x, row);
        triangle_of_blocks(n, t.data(), z.data(), w);
    }
    for (int64_t i = 0; i < n; ++i) std::fill_n(t.begin() + i * n, i, C(0));
    t = function(n, t);
    multiply(int(n), int(n), int(n), z.data(), false, t.data(), false, half.data());
    multiply(int(n), int(n), int(n), half.data(), false, z.data(), true, t.data());
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) x[i * row + j] = real_part(t[i * n + j], T());
}

template <typename T> void sqrtm(int64_t n, const T *a, int64_t a_row, T *x, int64_t row) {
    of_schur_form(n, a, a_row, x, row, 1, [](int64_t size, const auto &t) { return root_of_triangle(size, t); });
}

template <typename T> void logm(int64_t n, const T *a, int64_t a_row, T *x, int64_t row) {
    of_schur_form(n, a, a_row, x, row, 0, [](int64_t size, const auto &t) { return logarithm_of_triangle(size, t); });
}

}  // namespace sdgrad
#endif
