// Factors of Hermitian and symmetric matrices, by LAPACK (Bunch and Kaufman 1977). Matrices are stored row by row.
#pragma once

#include "sdgrad_factors.h"
#include "sdgrad_lapack.h"

#ifdef LAPACKE_dsytrf  // of sdgrad_blas.h
namespace sdgrad {

#define SDGRAD_LDL(letter, T, hermitian_kind)                                                                          \
    inline void factor_blocks(bool hermitian, char part, int n, T *a, int *p) {                                        \
        if (hermitian) LAPACKE_##letter##hermitian_kind(LAPACK_ROW_MAJOR, part, n, a, n, p);                           \
        else LAPACKE_##letter##sytrf(LAPACK_ROW_MAJOR, part, n, a, n, p);                                              \
    }
SDGRAD_LDL(s, float, sytrf)
SDGRAD_LDL(d, double, sytrf)
SDGRAD_LDL(c, std::complex<float>, hetrf)
SDGRAD_LDL(z, std::complex<double>, hetrf)
#undef SDGRAD_LDL

// A = L D L^H (or L^T), from one triangle of A: D has blocks of one or two rows; the rows of L in the order `order` are
// those of a triangle.
template <typename T>
void ldl(int64_t n, bool lower, bool hermitian, const T *a, int64_t a_row, T *l, int64_t l_row, T *d, int64_t d_row,
         int64_t *order) {
    std::vector<T> own(n * n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) own[i * n + j] = (lower ? j <= i : j >= i) ? a[i * a_row + j] : T(0);
    const bool finite = all_finite(n, n, own.data(), n);
    std::vector<int> p(n);
    std::vector<int64_t> rows(n);  // which row of the triangle is in each row of L
    if (finite) factor_blocks(hermitian, lower ? 'L' : 'U', int(n), own.data(), p.data());
    for (int64_t i = 0; i < n; ++i) {
        rows[i] = i;
        std::fill_n(l + i * l_row, n, T(0));
        std::fill_n(d + i * d_row, n, T(0));
        l[i * l_row + i] = 1;
    }
    // L is the product of what each block of columns does, and of its interchange, in the order of elimination
    for (int64_t step = 0, width; finite && step < n; step += width) {
        const int64_t last = lower ? n - 1 - step : step;
        width = p[last] < 0 ? 2 : 1;
        const int64_t first = lower ? last - width + 1 : last, end = first + width;
        for (int64_t k = first; k < end; ++k) {
            d[k * d_row + k] = own[k * n + k];
            for (int64_t i = lower ? end : 0; i < (lower ? n : first); ++i)
                for (int64_t j = 0; j < n; ++j) l[i * l_row + j] += own[i * n + k] * l[k * l_row + j];
        }
        if (width == 2) {
            const T beside = lower ? own[(first + 1) * n + first] : own[first * n + first + 1];
            const T mirrored = hermitian ? conjugate(beside) : beside;
            d[(first + 1) * d_row + first] = lower ? beside : mirrored;
            d[first * d_row + first + 1] = lower ? mirrored : beside;
        }
        const int64_t row = lower ? end - 1 : first, other = std::abs(p[row]) - 1;
        std::swap_ranges(l + row * l_row, l + row * l_row + (row == other ? 0 : n), l + other * l_row);
        std::swap(rows[row], rows[other]);
    }
    for (int64_t i = 0; i < n; ++i) order[rows[i]] = i;
    if (finite) return;
    no_numbers(n, n, l, l_row);
    no_numbers(n, n, d, d_row);
}

}  // namespace sdgrad
#endif
