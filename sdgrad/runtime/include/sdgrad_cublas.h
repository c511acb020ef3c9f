// Products of matrices in the memory of a GPU, by cuBLAS.
//
// Its functions are declared here, as its documentation gives them: the wheels that ship the library have no headers
// where a compiler would find them. Complex numbers of the generated code lie in memory as cuBLAS's do.
#pragma once

#include <complex>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
int cublasCreate_v2(void **handle);
int cublasSetStream_v2(void *handle, cudaStream_t stream);
}

#define SDGRAD_CUBLAS(letter, T)                                                                                       \
    extern "C" int cublas##letter##gemm_v2(void *, int, int, int, int, int, const void *, const void *, int,           \
                                           const void *, int, const void *, void *, int);                              \
    extern "C" int cublas##letter##gemmStridedBatched(void *, int, int, int, int, int, const void *, const void *,     \
                                                      int, long long, const void *, int, long long, const void *,      \
                                                      void *, int, long long, int);                                    \
    template <>                                                                                                        \
    struct sdgrad_cublas<T> {                                                                                          \
        static constexpr auto gemm = cublas##letter##gemm_v2;                                                          \
        static constexpr auto stack = cublas##letter##gemmStridedBatched;                                              \
    };
template <typename T>
struct sdgrad_cublas;
SDGRAD_CUBLAS(S, float)
SDGRAD_CUBLAS(D, double)
SDGRAD_CUBLAS(C, std::complex<float>)
SDGRAD_CUBLAS(Z, std::complex<double>)
#undef SDGRAD_CUBLAS

// The handle of this thread on the GPU that it uses; null where none can be made.
inline void *sdgrad_cublas_handle() {
    static thread_local std::vector<void *> handles;
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
    if (handles.size() <= size_t(device)) handles.resize(device + 1, nullptr);
    if (!handles[device] && cublasCreate_v2(&handles[device]) != 0) handles[device] = nullptr;
    return handles[device];
}

// C = alpha op(A) op(B) + beta C, for `count` matrices that are a step apart, each by rows: m by n, sums over k.
template <typename T>
inline cudaError_t sdgrad_cublas_products(cudaStream_t stream, int m, int n, int k, T alpha, bool ta, const T *a, int lda,
                                          long long a_step, bool tb, const T *b, int ldb, long long b_step, T beta, T *c,
                                          int ldc, long long c_step, int count) {
    if (m == 0 || n == 0 || count == 0) return cudaSuccess;
    if (k == 0 && beta == T(0)) {  // a sum of nothing
        for (int matrix = 0; matrix < count; ++matrix)
            for (int row = 0; row < m; ++row)
                if (auto failed = cudaMemsetAsync(c + matrix * c_step + (long long)row * ldc, 0, n * sizeof(T), stream))
                    return failed;
        return cudaSuccess;
    }
    void *handle = sdgrad_cublas_handle();
    if (!handle || cublasSetStream_v2(handle, stream) != 0) return cudaErrorUnknown;
    // cuBLAS reads matrices by columns: what it finds are their transposes, and C' = op(B)' op(A)'
    const int failed =
        count == 1 ? sdgrad_cublas<T>::gemm(handle, tb, ta, n, m, k, &alpha, b, ldb, a, lda, &beta, c, ldc)
                   : sdgrad_cublas<T>::stack(handle, tb, ta, n, m, k, &alpha, b, ldb, b_step, a, lda, a_step, &beta, c, ldc,
                                             c_step, count);
    return failed ? cudaErrorUnknown : cudaSuccess;
}
