// The adjoint of a Cholesky factorization, block by block from the last one: I. Murray, Differentiation of the
// Cholesky decomposition, 2016, section 4. It takes twice as many operations as the factorization.
//
// Matrices are stored row by row. G comes in as the cotangent of L, of which the lower triangle counts, and goes out as
// the gradient of the lower triangle of A = L L^T.
#pragma once
#include <algorithm>
#include <vector>

// Row by row, for blocks that stay in the first cache.
template <typename T>
void sdgrad_cholesky_adjoint_rows(int n, const T *__restrict__ l, int ldl, T *__restrict__ g, int ldg) {
    for (int j = n - 1; j >= 0; --j) {
        const T d = l[j * ldl + j];
        T sum = g[j * ldg + j];
        for (int i = j + 1; i < n; ++i) {
            g[i * ldg + j] /= d;
            sum -= l[i * ldl + j] * g[i * ldg + j];
        }
        sum /= d;
        for (int i = j + 1; i < n; ++i) {
            const T c = g[i * ldg + j];
            for (int k = 0; k < j; ++k) {
                g[j * ldg + k] -= c * l[i * ldl + k];
                g[i * ldg + k] -= c * l[j * ldl + k];
            }
        }
        for (int k = 0; k < j; ++k) g[j * ldg + k] -= sum * l[j * ldl + k];
        g[j * ldg + j] = sum / 2;
    }
}

#ifdef CBLAS_H
inline void sdgrad_minus_product(CBLAS_TRANSPOSE how, int m, int n, int k, const double *a, int lda, const double *b,
                                 int ldb, double *c, int ldc) {
    cblas_dgemm(CblasRowMajor, how, CblasNoTrans, m, n, k, -1.0, a, lda, b, ldb, 1.0, c, ldc);
}
inline void sdgrad_minus_product(CBLAS_TRANSPOSE how, int m, int n, int k, const float *a, int lda, const float *b,
                                 int ldb, float *c, int ldc) {
    cblas_sgemm(CblasRowMajor, how, CblasNoTrans, m, n, k, -1.0f, a, lda, b, ldb, 1.0f, c, ldc);
}
inline void sdgrad_solve_right(int m, int n, const double *l, int ldl, double *x, int ldx) {
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0, l, ldl, x, ldx);
}
inline void sdgrad_solve_right(int m, int n, const float *l, int ldl, float *x, int ldx) {
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0f, l, ldl, x, ldx);
}

template <typename T> void sdgrad_cholesky_adjoint_blocks(int n, const T *l, int ldl, T *g, int ldg, int block = 64) {
    if (n <= 16) return sdgrad_cholesky_adjoint_rows(n, l, ldl, g, ldg);
    std::vector<T> own(block * block);
    for (int end = n; end > 0; end -= std::min(block, end)) {
        const int size = std::min(block, end), first = end - size, below = n - end;
        const T *d = l + first * ldl + first, *r = l + first * ldl, *c = l + end * ldl + first, *b = l + end * ldl;
        T *gd = g + first * ldg + first, *gr = g + first * ldg, *gc = g + end * ldg + first, *gb = g + end * ldg;
        if (below > 0) {
            sdgrad_solve_right(below, size, d, ldl, gc, ldg);
            std::fill(own.begin(), own.end(), T(0));
            sdgrad_minus_product(CblasTrans, size, size, below, gc, ldg, c, ldl, own.data(), size);
            for (int i = 0; i < size; ++i)
                for (int j = 0; j <= i; ++j) gd[i * ldg + j] += own[i * size + j];
            if (first > 0) {
                sdgrad_minus_product(CblasNoTrans, below, first, size, gc, ldg, r, ldl, gb, ldg);
                sdgrad_minus_product(CblasTrans, size, first, below, gc, ldg, b, ldl, gr, ldg);
            }
        }
        sdgrad_cholesky_adjoint_blocks(size, d, ldl, gd, ldg, 16);
        if (first > 0) {
            for (int i = 0; i < size; ++i)
                for (int j = 0; j <= i; ++j) own[i * size + j] = own[j * size + i] = gd[i * ldg + j];
            for (int i = 0; i < size; ++i) own[i * size + i] *= 2;
            sdgrad_minus_product(CblasNoTrans, size, first, size, own.data(), size, r, ldl, gr, ldg);
        }
    }
}
#endif
