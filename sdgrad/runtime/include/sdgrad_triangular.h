// Systems with a triangular matrix, by halves: most of the work is a product of matrices, which OpenBLAS computes up to
// three times as fast as its own trsm does.
#pragma once

constexpr int SDGRAD_SMALL_TRIANGLE = 64;

// Where the parts of a system are: the matrix is split behind `half` of its `size` rows and columns.
struct sdgrad_halves {
    const bool left, first;        // on which side the matrix is; whether the first unknowns are solved first
    const long half, beside, next; // offsets of elements: the block beside the diagonal, the second half of the unknowns

    sdgrad_halves(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO part, CBLAS_TRANSPOSE how, int size, int lda, int ldx)
        : left(side == CblasLeft),
          first(left == ((part == CblasLower) == (how == CblasNoTrans))),
          half((size / 2 + 7) / 8 * 8),
          beside(half * ((part == CblasLower) == (order == CblasRowMajor) ? lda : 1)),
          next(half * (left == (order == CblasRowMajor) ? ldx : 1)) {}
};

#define SDGRAD_TRSM(letter, T, S, ONE, MINUS)                                                                          \
    SDGRAD_LINKED void sdgrad_cblas_##letter##trsm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO part,                \
                                                        CBLAS_TRANSPOSE how, CBLAS_DIAG unit, int m, int n, S alpha,   \
                                                        const void *a, int lda, void *b, int ldb) SDGRAD_BODY({        \
        const int size = side == CblasLeft ? m : n, sides = side == CblasLeft ? n : m;                                 \
        T *x = static_cast<T *>(b);                                                                                    \
        const T *matrix = static_cast<const T *>(a), one = 1, minus = -1;                                              \
        if (size <= SDGRAD_SMALL_TRIANGLE)                                                                             \
            return sdgrad_solution(double(size) * size * sides, SDGRAD_SHARED_SYSTEM, [&] {                            \
                scipy_cblas_##letter##trsm(order, side, part, how, unit, m, n, alpha, matrix, lda, x, ldb);            \
            });                                                                                                        \
        const sdgrad_halves cut(order, side, part, how, size, lda, ldb);                                               \
        const T *beside = matrix + cut.beside;                                                                         \
        auto solve = [&](bool of_first, S factor) {                                                                    \
            const int count = of_first ? int(cut.half) : size - int(cut.half);                                         \
            sdgrad_cblas_##letter##trsm(order, side, part, how, unit, cut.left ? count : m, cut.left ? n : count,      \
                                        factor, of_first ? matrix : matrix + cut.half * (lda + 1L), lda,               \
                                        of_first ? x : x + cut.next, ldb);                                             \
        };                                                                                                             \
        solve(cut.first, alpha);                                                                                       \
        const T *known = cut.first ? x : x + cut.next;                                                                 \
        T *rest = cut.first ? x + cut.next : x;                                                                        \
        const int solved = cut.first ? int(cut.half) : size - int(cut.half), open = size - solved;                     \
        if (cut.left)                                                                                                  \
            sdgrad_cblas_##letter##gemm(order, how, CblasNoTrans, open, n, solved, MINUS, beside, lda, known, ldb,     \
                                        alpha, rest, ldb);                                                             \
        else                                                                                                           \
            sdgrad_cblas_##letter##gemm(order, CblasNoTrans, how, m, open, solved, MINUS, known, ldb, beside, lda,     \
                                        alpha, rest, ldb);                                                             \
        solve(!cut.first, ONE);                                                                                        \
    })
SDGRAD_TRSM(s, float, float, one, minus)
SDGRAD_TRSM(d, double, double, one, minus)
SDGRAD_TRSM(c, std::complex<float>, const void *, &one, &minus)
SDGRAD_TRSM(z, std::complex<double>, const void *, &one, &minus)
#undef SDGRAD_TRSM
