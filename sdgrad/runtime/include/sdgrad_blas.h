// The BLAS and LAPACK of the scipy-openblas32 wheel under their usual names.
//
// Every function of that library carries the prefix "scipy_", so that it can live in one process with another
// OpenBLAS. Generated code calls cblas_dgemm and LAPACKE_dpotrf; this header maps those names to the wheel's.
// A name that is not in the lists below is reached by its prefixed name.
#pragma once

#include "sdgrad_linked.h"

#include <algorithm>
#include <cmath>
#include <complex>
#ifdef _OPENMP
#include <omp.h>
#endif

// LAPACKE's complex numbers are those of the generated code.
#ifndef lapack_complex_float
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#endif

#include <cblas.h>
#include <lapacke.h>

#include <dace_blas.h>  // DaCe's constants for complex routines

// BLAS
#define cblas_sasum     scipy_cblas_sasum
#define cblas_saxpy     scipy_cblas_saxpy
#define cblas_scopy     scipy_cblas_scopy
#define cblas_sdot      scipy_cblas_sdot
#define cblas_isamax    scipy_cblas_isamax
#define cblas_snrm2     scipy_cblas_snrm2
#define cblas_srot      scipy_cblas_srot
#define cblas_sscal     scipy_cblas_sscal
#define cblas_sswap     scipy_cblas_sswap
#define cblas_sgemv     sdgrad_cblas_sgemv
#define cblas_sger      scipy_cblas_sger
#define cblas_ssymv     scipy_cblas_ssymv
#define cblas_ssyr      scipy_cblas_ssyr
#define cblas_ssyr2     scipy_cblas_ssyr2
#define cblas_strmv     scipy_cblas_strmv
#define cblas_strsv     scipy_cblas_strsv
#define cblas_sgemm     sdgrad_cblas_sgemm
#define cblas_ssymm     scipy_cblas_ssymm
#define cblas_ssyrk     scipy_cblas_ssyrk
#define cblas_ssyr2k    scipy_cblas_ssyr2k
#define cblas_strmm     scipy_cblas_strmm
#define cblas_strsm     sdgrad_cblas_strsm
#define cblas_somatcopy scipy_cblas_somatcopy
#define cblas_simatcopy scipy_cblas_simatcopy
#define cblas_dasum     scipy_cblas_dasum
#define cblas_daxpy     scipy_cblas_daxpy
#define cblas_dcopy     scipy_cblas_dcopy
#define cblas_ddot      scipy_cblas_ddot
#define cblas_idamax    scipy_cblas_idamax
#define cblas_dnrm2     scipy_cblas_dnrm2
#define cblas_drot      scipy_cblas_drot
#define cblas_dscal     scipy_cblas_dscal
#define cblas_dswap     scipy_cblas_dswap
#define cblas_dgemv     sdgrad_cblas_dgemv
#define cblas_dger      scipy_cblas_dger
#define cblas_dsymv     scipy_cblas_dsymv
#define cblas_dsyr      scipy_cblas_dsyr
#define cblas_dsyr2     scipy_cblas_dsyr2
#define cblas_dtrmv     scipy_cblas_dtrmv
#define cblas_dtrsv     scipy_cblas_dtrsv
#define cblas_dgemm     sdgrad_cblas_dgemm
#define cblas_dsymm     scipy_cblas_dsymm
#define cblas_dsyrk     scipy_cblas_dsyrk
#define cblas_dsyr2k    scipy_cblas_dsyr2k
#define cblas_dtrmm     scipy_cblas_dtrmm
#define cblas_dtrsm     sdgrad_cblas_dtrsm
#define cblas_domatcopy scipy_cblas_domatcopy
#define cblas_dimatcopy scipy_cblas_dimatcopy
#define cblas_caxpy     scipy_cblas_caxpy
#define cblas_ccopy     scipy_cblas_ccopy
#define cblas_cdotc_sub scipy_cblas_cdotc_sub
#define cblas_cdotu_sub scipy_cblas_cdotu_sub
#define cblas_cscal     scipy_cblas_cscal
#define cblas_cswap     scipy_cblas_cswap
#define cblas_cgemv     sdgrad_cblas_cgemv
#define cblas_cgeru     scipy_cblas_cgeru
#define cblas_cgerc     scipy_cblas_cgerc
#define cblas_chemv     scipy_cblas_chemv
#define cblas_cher      scipy_cblas_cher
#define cblas_cher2     scipy_cblas_cher2
#define cblas_ctrmv     scipy_cblas_ctrmv
#define cblas_ctrsv     scipy_cblas_ctrsv
#define cblas_cgemm     sdgrad_cblas_cgemm
#define cblas_csymm     scipy_cblas_csymm
#define cblas_chemm     scipy_cblas_chemm
#define cblas_csyrk     scipy_cblas_csyrk
#define cblas_cherk     scipy_cblas_cherk
#define cblas_csyr2k    scipy_cblas_csyr2k
#define cblas_cher2k    scipy_cblas_cher2k
#define cblas_ctrmm     scipy_cblas_ctrmm
#define cblas_ctrsm     sdgrad_cblas_ctrsm
#define cblas_comatcopy scipy_cblas_comatcopy
#define cblas_cimatcopy scipy_cblas_cimatcopy
#define cblas_zaxpy     scipy_cblas_zaxpy
#define cblas_zcopy     scipy_cblas_zcopy
#define cblas_zdotc_sub scipy_cblas_zdotc_sub
#define cblas_zdotu_sub scipy_cblas_zdotu_sub
#define cblas_zscal     scipy_cblas_zscal
#define cblas_zswap     scipy_cblas_zswap
#define cblas_zgemv     sdgrad_cblas_zgemv
#define cblas_zgeru     scipy_cblas_zgeru
#define cblas_zgerc     scipy_cblas_zgerc
#define cblas_zhemv     scipy_cblas_zhemv
#define cblas_zher      scipy_cblas_zher
#define cblas_zher2     scipy_cblas_zher2
#define cblas_ztrmv     scipy_cblas_ztrmv
#define cblas_ztrsv     scipy_cblas_ztrsv
#define cblas_zgemm     sdgrad_cblas_zgemm
#define cblas_zsymm     scipy_cblas_zsymm
#define cblas_zhemm     scipy_cblas_zhemm
#define cblas_zsyrk     scipy_cblas_zsyrk
#define cblas_zherk     scipy_cblas_zherk
#define cblas_zsyr2k    scipy_cblas_zsyr2k
#define cblas_zher2k    scipy_cblas_zher2k
#define cblas_ztrmm     scipy_cblas_ztrmm
#define cblas_ztrsm     sdgrad_cblas_ztrsm
#define cblas_zomatcopy scipy_cblas_zomatcopy
#define cblas_zimatcopy scipy_cblas_zimatcopy
#define cblas_scasum    scipy_cblas_scasum
#define cblas_dzasum    scipy_cblas_dzasum
#define cblas_scnrm2    scipy_cblas_scnrm2
#define cblas_dznrm2    scipy_cblas_dznrm2

// LAPACK
#define LAPACKE_sgesv   scipy_LAPACKE_sgesv
#define LAPACKE_sgetrf  sdgrad_LAPACKE_sgetrf
#define LAPACKE_sgetri  sdgrad_LAPACKE_sgetri
#define LAPACKE_sgetrs  sdgrad_LAPACKE_sgetrs
#define LAPACKE_spotrf  sdgrad_LAPACKE_spotrf
#define LAPACKE_sgetrf_work sdgrad_LAPACKE_sgetrf_work
#define LAPACKE_sposv   scipy_LAPACKE_sposv
#define LAPACKE_spotri  scipy_LAPACKE_spotri
#define LAPACKE_spotrs  scipy_LAPACKE_spotrs
#define LAPACKE_ssytrf  scipy_LAPACKE_ssytrf
#define LAPACKE_ssytrs  scipy_LAPACKE_ssytrs
#define LAPACKE_strtri  scipy_LAPACKE_strtri
#define LAPACKE_strtrs  scipy_LAPACKE_strtrs
#define LAPACKE_sgeqrf  scipy_LAPACKE_sgeqrf
#define LAPACKE_sgeqp3  scipy_LAPACKE_sgeqp3
#define LAPACKE_sgelsd  scipy_LAPACKE_sgelsd
#define LAPACKE_sgeev   scipy_LAPACKE_sgeev
#define LAPACKE_sgesdd  scipy_LAPACKE_sgesdd
#define LAPACKE_sgees   scipy_LAPACKE_sgees
#define LAPACKE_sgehrd  scipy_LAPACKE_sgehrd
#define LAPACKE_sorghr  scipy_LAPACKE_sorghr
#define LAPACKE_strsyl  scipy_LAPACKE_strsyl
#define LAPACKE_sgbsv   scipy_LAPACKE_sgbsv
#define LAPACKE_spbsv   scipy_LAPACKE_spbsv
#define LAPACKE_dgesv   scipy_LAPACKE_dgesv
#define LAPACKE_dgetrf  sdgrad_LAPACKE_dgetrf
#define LAPACKE_dgetri  sdgrad_LAPACKE_dgetri
#define LAPACKE_dgetrs  sdgrad_LAPACKE_dgetrs
#define LAPACKE_dpotrf  sdgrad_LAPACKE_dpotrf
#define LAPACKE_dgetrf_work sdgrad_LAPACKE_dgetrf_work
#define LAPACKE_dposv   scipy_LAPACKE_dposv
#define LAPACKE_dpotri  scipy_LAPACKE_dpotri
#define LAPACKE_dpotrs  scipy_LAPACKE_dpotrs
#define LAPACKE_dsytrf  scipy_LAPACKE_dsytrf
#define LAPACKE_dsytrs  scipy_LAPACKE_dsytrs
#define LAPACKE_dtrtri  scipy_LAPACKE_dtrtri
#define LAPACKE_dtrtrs  scipy_LAPACKE_dtrtrs
#define LAPACKE_dgeqrf  scipy_LAPACKE_dgeqrf
#define LAPACKE_dgeqp3  scipy_LAPACKE_dgeqp3
#define LAPACKE_dgelsd  scipy_LAPACKE_dgelsd
#define LAPACKE_dgeev   scipy_LAPACKE_dgeev
#define LAPACKE_dgesdd  scipy_LAPACKE_dgesdd
#define LAPACKE_dgees   scipy_LAPACKE_dgees
#define LAPACKE_dgehrd  scipy_LAPACKE_dgehrd
#define LAPACKE_dorghr  scipy_LAPACKE_dorghr
#define LAPACKE_dtrsyl  scipy_LAPACKE_dtrsyl
#define LAPACKE_dgbsv   scipy_LAPACKE_dgbsv
#define LAPACKE_dpbsv   scipy_LAPACKE_dpbsv
#define LAPACKE_cgesv   scipy_LAPACKE_cgesv
#define LAPACKE_cgetrf  sdgrad_LAPACKE_cgetrf
#define LAPACKE_cgetri  sdgrad_LAPACKE_cgetri
#define LAPACKE_cgetrs  sdgrad_LAPACKE_cgetrs
#define LAPACKE_cpotrf  sdgrad_LAPACKE_cpotrf
#define LAPACKE_cgetrf_work sdgrad_LAPACKE_cgetrf_work
#define LAPACKE_cposv   scipy_LAPACKE_cposv
#define LAPACKE_cpotri  scipy_LAPACKE_cpotri
#define LAPACKE_cpotrs  scipy_LAPACKE_cpotrs
#define LAPACKE_csytrf  scipy_LAPACKE_csytrf
#define LAPACKE_chetrf  scipy_LAPACKE_chetrf
#define LAPACKE_csytrs  scipy_LAPACKE_csytrs
#define LAPACKE_ctrtri  scipy_LAPACKE_ctrtri
#define LAPACKE_ctrtrs  scipy_LAPACKE_ctrtrs
#define LAPACKE_cgeqrf  scipy_LAPACKE_cgeqrf
#define LAPACKE_cgeqp3  scipy_LAPACKE_cgeqp3
#define LAPACKE_cgelsd  scipy_LAPACKE_cgelsd
#define LAPACKE_cgeev   scipy_LAPACKE_cgeev
#define LAPACKE_cgesdd  scipy_LAPACKE_cgesdd
#define LAPACKE_cgees   scipy_LAPACKE_cgees
#define LAPACKE_cgehrd  scipy_LAPACKE_cgehrd
#define LAPACKE_cunghr  scipy_LAPACKE_cunghr
#define LAPACKE_ctrsyl  scipy_LAPACKE_ctrsyl
#define LAPACKE_cgbsv   scipy_LAPACKE_cgbsv
#define LAPACKE_cpbsv   scipy_LAPACKE_cpbsv
#define LAPACKE_zgesv   scipy_LAPACKE_zgesv
#define LAPACKE_zgetrf  sdgrad_LAPACKE_zgetrf
#define LAPACKE_zgetri  sdgrad_LAPACKE_zgetri
#define LAPACKE_zgetrs  sdgrad_LAPACKE_zgetrs
#define LAPACKE_zpotrf  sdgrad_LAPACKE_zpotrf
#define LAPACKE_zgetrf_work sdgrad_LAPACKE_zgetrf_work
#define LAPACKE_zposv   scipy_LAPACKE_zposv
#define LAPACKE_zpotri  scipy_LAPACKE_zpotri
#define LAPACKE_zpotrs  scipy_LAPACKE_zpotrs
#define LAPACKE_zsytrf  scipy_LAPACKE_zsytrf
#define LAPACKE_zhetrf  scipy_LAPACKE_zhetrf
#define LAPACKE_zsytrs  scipy_LAPACKE_zsytrs
#define LAPACKE_ztrtri  scipy_LAPACKE_ztrtri
#define LAPACKE_ztrtrs  scipy_LAPACKE_ztrtrs
#define LAPACKE_zgeqrf  scipy_LAPACKE_zgeqrf
#define LAPACKE_zgeqp3  scipy_LAPACKE_zgeqp3
#define LAPACKE_zgelsd  scipy_LAPACKE_zgelsd
#define LAPACKE_zgeev   scipy_LAPACKE_zgeev
#define LAPACKE_zgesdd  scipy_LAPACKE_zgesdd
#define LAPACKE_zgees   scipy_LAPACKE_zgees
#define LAPACKE_zgehrd  scipy_LAPACKE_zgehrd
#define LAPACKE_zunghr  scipy_LAPACKE_zunghr
#define LAPACKE_ztrsyl  scipy_LAPACKE_ztrsyl
#define LAPACKE_zgbsv   scipy_LAPACKE_zgbsv
#define LAPACKE_zpbsv   scipy_LAPACKE_zpbsv
#define LAPACKE_sorgqr  scipy_LAPACKE_sorgqr
#define LAPACKE_sormqr  scipy_LAPACKE_sormqr
#define LAPACKE_ssyevd  scipy_LAPACKE_ssyevd
#define LAPACKE_dorgqr  scipy_LAPACKE_dorgqr
#define LAPACKE_dormqr  scipy_LAPACKE_dormqr
#define LAPACKE_dsyevd  scipy_LAPACKE_dsyevd
#define LAPACKE_cungqr  scipy_LAPACKE_cungqr
#define LAPACKE_cunmqr  scipy_LAPACKE_cunmqr
#define LAPACKE_cheevd  scipy_LAPACKE_cheevd
#define LAPACKE_zungqr  scipy_LAPACKE_zungqr
#define LAPACKE_zunmqr  scipy_LAPACKE_zunmqr
#define LAPACKE_zheevd  scipy_LAPACKE_zheevd

// Complex dot products that return their value, which is how DaCe's Dot node calls them.
static inline std::complex<float> cblas_cdot(int n, const void *x, int incx, const void *y, int incy) {
    std::complex<float> result;
    scipy_cblas_cdotu_sub(n, x, incx, y, incy, &result);
    return result;
}

static inline std::complex<double> cblas_zdot(int n, const void *x, int incx, const void *y, int incy) {
    std::complex<double> result;
    scipy_cblas_zdotu_sub(n, x, incx, y, incy, &result);
    return result;
}

// One of OpenBLAS's threads, where asked for, until the end of the scope. How many there are is the number of the process: who
// finds it at one leaves it there for the one who set it.
class sdgrad_one_thread {
  public:
    const int before;  // 1 where nothing was changed

    explicit sdgrad_one_thread(bool asked) : before(asked ? scipy_openblas_get_num_threads() : 1) {
        if (before > 1) scipy_openblas_set_num_threads(1);
    }
    sdgrad_one_thread(const sdgrad_one_thread &) = delete;
    ~sdgrad_one_thread() {
        if (before > 1) scipy_openblas_set_num_threads(before);
    }
};

// Matrix times vector, where the matrix may have no columns: OpenBLAS leaves the result as it was, instead of beta * y.
// Of matrices that are in the cache of a core, as blocks of rows of larger ones are, each is read by one thread.
constexpr double SDGRAD_SHARED_MATRIX = 1 << 17;  // elements

template <typename T, typename S, typename F>
static inline void sdgrad_gemv(F call, CBLAS_TRANSPOSE trans, int m, int n, S beta, T *y, int incy) {
    const int rows = trans == CblasNoTrans ? m : n;
    if (m > 0 && n > 0) {
#ifdef _OPENMP
        const sdgrad_one_thread now(double(m) * n < SDGRAD_SHARED_MATRIX && omp_get_max_threads() > 1);
#endif
        return call();
    }
    for (int k = 0; k < rows; ++k) y[k * incy] = beta == S(0) ? T(0) : T(beta * y[k * incy]);
}
#define SDGRAD_GEMV(letter, T, S, number)                                                                              \
    SDGRAD_LINKED void sdgrad_cblas_##letter##gemv(CBLAS_ORDER order, CBLAS_TRANSPOSE trans, int m, int n, S alpha,    \
                                                   const T *a, int lda, const T *x, int incx, S beta, T *y, int incy) \
    SDGRAD_BODY({                                                                                                      \
        auto call = [&] { scipy_cblas_##letter##gemv(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy); };    \
        sdgrad_gemv(call, trans, m, n, number, y, incy);                                                               \
    })
SDGRAD_GEMV(s, float, float, beta)
SDGRAD_GEMV(d, double, double, beta)
SDGRAD_GEMV(c, std::complex<float>, const void *, *static_cast<const std::complex<float> *>(beta))
SDGRAD_GEMV(z, std::complex<double>, const void *, *static_cast<const std::complex<double> *>(beta))
#undef SDGRAD_GEMV

// Products of matrices on the threads of OpenMP, which wait for the next map anyway, each computing a part of the result.
// OpenBLAS's own threads sleep in between, and are hindered by those of OpenMP on the same cores.
// In a parallel region a product has one thread.
constexpr double SDGRAD_SHARED_PRODUCT = 1 << 18;  // multiplications, from which OpenBLAS shares out as well

template <typename F>
static inline void sdgrad_gemm(F part, int m, int n, int k) {
#ifdef _OPENMP
    const double work = double(m) * n * k;
    const sdgrad_one_thread each(work >= SDGRAD_SHARED_PRODUCT && (omp_in_parallel() || omp_get_max_threads() > 1));
    if (each.before > 1) {
        const int parts = omp_in_parallel() ? 1 : std::min(each.before, omp_get_max_threads());
        int across = 1;  // parts of the columns: as square as the number of parts allows
        for (int t = 1; t <= parts; ++t)
            if (parts % t == 0 && std::abs(std::log(double(m) * t * t / (double(n) * parts))) <
                    std::abs(std::log(double(m) * across * across / (double(n) * parts))))
                across = t;
        const int down = parts / across;
        #pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
        for (int t = 0; t < parts; ++t) {
            const int i = t / across, j = t % across;
            const int top = int(long(m) * i / down), left = int(long(n) * j / across);
            part(top, left, int(long(m) * (i + 1) / down) - top, int(long(n) * (j + 1) / across) - left);
        }
        return;
    }
#endif
    part(0, 0, m, n);
}
// A part of the result is a part of the rows of one operand and of the columns of the other.
#define SDGRAD_GEMM(letter, T, S)                                                                                      \
    SDGRAD_LINKED void sdgrad_cblas_##letter##gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m,   \
                                                   int n, int k, S alpha, const void *a, int lda, const void *b,       \
                                                   int ldb, S beta, void *c, int ldc) SDGRAD_BODY({                    \
        const bool rows = order == CblasRowMajor;                                                                      \
        const long a_step = (ta == CblasNoTrans) == rows ? lda : 1, b_step = (tb == CblasNoTrans) == rows ? 1 : ldb;   \
        const long c_down = rows ? ldc : 1, c_across = rows ? 1 : ldc;                                                 \
        auto part = [&](int top, int left, int height, int width) {                                                    \
            scipy_cblas_##letter##gemm(order, ta, tb, height, width, k, alpha,                                         \
                                       static_cast<const T *>(a) + top * a_step, lda,                                  \
                                       static_cast<const T *>(b) + left * b_step, ldb, beta,                           \
                                       static_cast<T *>(c) + top * c_down + left * c_across, ldc);                     \
        };                                                                                                             \
        sdgrad_gemm(part, m, n, k);                                                                                    \
    })
SDGRAD_GEMM(s, float, float)
SDGRAD_GEMM(d, double, double)
SDGRAD_GEMM(c, std::complex<float>, const void *)
SDGRAD_GEMM(z, std::complex<double>, const void *)
#undef SDGRAD_GEMM

// Factorizations and triangular systems wait for the threads of OpenBLAS, which share the cores with those of OpenMP: up to
// a size, one thread is faster. In a parallel region there is one.
constexpr double SDGRAD_SHARED_FACTORS = 2e9, SDGRAD_SHARED_SYSTEM = 1e8;  // multiplications, nearly

template <typename F>
static inline auto sdgrad_solution(double work, double shared, F call) {
#ifdef _OPENMP
    const sdgrad_one_thread now(omp_in_parallel() || (work < shared && omp_get_max_threads() > 1));
#endif
    return call();
}
// What a factorization that failed leaves is finite: a square of NaN is not taken for a result.
template <typename T>
static inline int sdgrad_unless_failed(int info, int n, T *a, int row) {
    if (info > 0)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) a[i * long(row) + j] = T(NAN);
    return info;
}
// Compiled once in a program, and not in place of each call; a template: what no program calls is not compiled.
#define SDGRAD_ONCE __attribute__((noinline))
#define SDGRAD_SOLUTIONS(letter)                                                                                       \
    template <typename A>                                                                                              \
    SDGRAD_ONCE static auto sdgrad_LAPACKE_##letter##potrf(int order, char part, int n, A a, int row) {                     \
        const int info = sdgrad_solution(double(n) * n * n, SDGRAD_SHARED_FACTORS,                                     \
                                         [&] { return scipy_LAPACKE_##letter##potrf(order, part, n, a, row); });       \
        return sdgrad_unless_failed(info, n, a, row);                                                                  \
    }                                                                                                                  \
    template <typename... A>                                                                                           \
    SDGRAD_ONCE static auto sdgrad_LAPACKE_##letter##getrf(int order, int m, int n, A... rest) {                            \
        return sdgrad_solution(double(n) * n * n, SDGRAD_SHARED_FACTORS,                                               \
                               [&] { return scipy_LAPACKE_##letter##getrf(order, m, n, rest...); });                   \
    }                                                                                                                  \
    template <typename... A>                                                                                           \
    SDGRAD_ONCE static auto sdgrad_LAPACKE_##letter##getrf_work(int order, int m, int n, A... rest) {                       \
        return sdgrad_solution(double(n) * n * n, SDGRAD_SHARED_FACTORS,                                               \
                               [&] { return scipy_LAPACKE_##letter##getrf_work(order, m, n, rest...); });              \
    }                                                                                                                  \
    template <typename A>                                                                                              \
    SDGRAD_ONCE static auto sdgrad_LAPACKE_##letter##getri(int order, int n, A a, int row, const int *pivots) {             \
        const int info = sdgrad_solution(double(n) * n * n, SDGRAD_SHARED_FACTORS,                                     \
                                         [&] { return scipy_LAPACKE_##letter##getri(order, n, a, row, pivots); });     \
        return sdgrad_unless_failed(info, n, a, row);                                                                  \
    }                                                                                                                  \
    template <typename... A>                                                                                           \
    SDGRAD_ONCE static auto sdgrad_LAPACKE_##letter##getrs(int order, char how, int n, int columns, A... rest) {            \
        return sdgrad_solution(double(n) * n * columns, SDGRAD_SHARED_SYSTEM,                                          \
                               [&] { return scipy_LAPACKE_##letter##getrs(order, how, n, columns, rest...); });        \
    }
SDGRAD_SOLUTIONS(s)
SDGRAD_SOLUTIONS(d)
SDGRAD_SOLUTIONS(c)
SDGRAD_SOLUTIONS(z)
#undef SDGRAD_SOLUTIONS

#include "sdgrad_triangular.h"
