"""CUDA on a CPU, for tests: a toolkit whose ``nvcc`` makes plain C++ of kernels, which run thread by thread.

Memory of the "device" can be touched by kernels and copies only, and kernels are given no other: a program that mixes
up the two memories fails here as it would on a GPU. Threads run one after another, in an order that is shuffled, so
that what depends on the order gives different results.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

RUNTIME = r"""
#pragma once
#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef void *cudaStream_t;
typedef void *cudaEvent_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorUnknown = 999 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaStreamNonBlocking, cudaEventDisableTiming };

namespace emulated {
constexpr size_t ARENA = size_t(1) << 32, PAGE = 4096;
inline char *arena = nullptr;
inline size_t used = 0;

inline bool is_device(const void *p) { return arena && p >= arena && p < arena + used; }

inline void open(bool on) {
    if (used) mprotect(arena, used, on ? PROT_READ | PROT_WRITE : PROT_NONE);
}

inline void *take(size_t bytes) {
    if (!arena) arena = (char *)mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bytes = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    if (used + bytes > ARENA) return nullptr;
    char *found = arena + used;
    used += bytes;
    open(true);
    memset(found, 0x7f, bytes);  // what nobody has written is no number that a test expects
    open(false);
    return found;
}

template <typename T>
bool fits(T value) {
    if constexpr (std::is_pointer_v<T>) return is_device(value);
    return true;
}

template <typename... A, size_t... K>
cudaError_t run(void (*kernel)(A...), dim3 grid, dim3 block, void **args, std::index_sequence<K...>) {
    if (!(fits(*static_cast<std::decay_t<A> *>(args[K])) && ...)) return cudaErrorInvalidValue;
    gridDim = grid, blockDim = block;
    const size_t blocks = size_t(grid.x) * grid.y * grid.z, threads = size_t(block.x) * block.y * block.z;
    static std::mt19937 order(1);
    std::vector<size_t> all(blocks);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), order);
    open(true);
    for (size_t b : all)
        for (size_t k = 0; k < threads; ++k) {
            const size_t t = b % 2 ? k : threads - 1 - k;
            blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
            threadIdx = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
            kernel(*static_cast<std::decay_t<A> *>(args[K])...);
        }
    open(false);
    return cudaSuccess;
}

template <typename... A>
cudaError_t launch(void (*kernel)(A...), dim3 grid, dim3 block, void **args, size_t, cudaStream_t) {
    return run(kernel, grid, block, args, std::index_sequence_for<A...>());
}
}  // namespace emulated

inline cudaError_t cudaMalloc(void **p, size_t n) {
    return (*p = emulated::take(n)) ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaFree(void *) { return cudaSuccess; }
inline cudaError_t cudaMallocHost(void **p, size_t n) { return *p = malloc(n), cudaSuccess; }
inline cudaError_t cudaFreeHost(void *p) { return free(p), cudaSuccess; }
inline cudaError_t cudaMemset(void *p, int v, size_t n) {
    return emulated::open(true), memset(p, v, n), emulated::open(false), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) { return cudaMemset(p, v, n); }
inline cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t) {
    const bool here = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool there = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (emulated::is_device(from) != here || emulated::is_device(to) != there) return cudaErrorInvalidValue;
    emulated::open(true);
    for (size_t k = 0; k < height; ++k) memcpy((char *)to + k * tp, (const char *)from + k * fp, width);
    emulated::open(false);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s) {
    return cudaMemcpy2DAsync(to, n, from, n, n, 1, kind, s);
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, n, kind, nullptr);
}
// CUDA has these beside any template, and they drop what is not a number.
inline double max(double a, double b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline cudaError_t cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaGetDevice(int *n) { return *n = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t e) { return e ? "emulated: memory of the wrong kind" : "no error"; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int) { return *s = nullptr, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) { return *e = nullptr, cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cudaSuccess; }
template <typename... A>
cudaError_t cudaFuncSetAttribute(A...) { return cudaSuccess; }
template <typename... A>
cudaError_t cudaDeviceGetAttribute(A...) { return cudaSuccess; }
"""

CUBLAS = r"""
#include <complex>
#include <cuda_runtime.h>

static int calls = 0;
extern "C" int emulated_products() { return calls; }
extern "C" int cublasCreate_v2(void **handle) { return *handle = malloc(1), 0; }
extern "C" int cublasSetStream_v2(void *, cudaStream_t) { return 0; }

template <typename T>
int products(int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, long long next_a, const T *b,
             int ldb, long long next_b, const T *beta, T *c, int ldc, long long next_c, int count) {
    if (!(emulated::is_device(a) && emulated::is_device(b) && emulated::is_device(c))) return 13;
    const bool fits = lda >= std::max(1, ta ? k : m) && ldb >= std::max(1, tb ? n : k) && ldc >= std::max(1, m);
    if (m < 0 || n < 0 || k < 0 || !fits) return 7;
    const size_t a_row = ta ? lda : 1, a_column = ta ? 1 : lda, b_row = tb ? ldb : 1, b_column = tb ? 1 : ldb;
    ++calls;
    emulated::open(true);
    for (int s = 0; s < count; ++s, a += next_a, b += next_b, c += next_c)
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < m; ++i) {
                T sum = 0;
                for (int l = 0; l < k; ++l) sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
                T &target = c[i + j * (size_t)ldc];
                target = *alpha * sum + (*beta == T(0) ? T(0) : *beta * target);
            }
    emulated::open(false);
    return 0;
}
#define GEMM(letter, T)                                                                                                \
    extern "C" int cublas##letter##gemm_v2(void *, int ta, int tb, int m, int n, int k, const T *alpha, const T *a,    \
                                           int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {               \
        return products(ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);                             \
    }                                                                                                                  \
    extern "C" int cublas##letter##gemmStridedBatched(void *, int ta, int tb, int m, int n, int k, const T *alpha,     \
                                                      const T *a, int lda, long long sa, const T *b, int ldb,          \
                                                      long long sb, const T *beta, T *c, int ldc, long long sc,        \
                                                      int count) {                                                     \
        return products(ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count);                      \
    }
GEMM(S, float) GEMM(D, double) GEMM(C, std::complex<float>) GEMM(Z, std::complex<double>)
"""

COMPILER = r"""#!{python}
import re, subprocess, sys
from pathlib import Path

arguments = sys.argv[1:]
if "--dryrun" in arguments:
    print("#$ TOP={home}", file=sys.stderr)
    sys.exit(0)
source, target = Path(arguments[arguments.index("-c") + 1]), arguments[arguments.index("-o") + 1]
code = re.sub(r"cudaLaunchKernel\(\(void\*\)(\w+),", r"emulated::launch(\1,", source.read_text())
plain = source.with_suffix(".emulated.cpp")
plain.write_text(code)
given = [a for a in arguments if a.startswith(("-I", "-D"))]
command = ["c++", "-O0", "-w", "-fPIC", "-std=c++20", "-I{home}/include", *given, "-c", str(plain), "-o", target]
sys.exit(subprocess.run(command).returncode)
"""


def toolkit(home: Path) -> Path:
    """Make the toolkit in a folder, which is what ``CUDA_HOME`` is then."""
    for name in ("bin", "include", "lib"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "include" / "cuda_runtime.h").write_text(RUNTIME)
    compiler = home / "bin" / "nvcc"
    compiler.write_text(COMPILER.replace("{python}", sys.executable).replace("{home}", str(home)))
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    for library, code in (("cudart", ""), ("cublas", CUBLAS)):
        source = home / f"{library}.cpp"
        source.write_text(code)
        command = ["c++", "-O1", "-w", "-fPIC", "-shared", "-std=c++20", f"-I{home}/include", str(source)]
        subprocess.run([*command, "-o", str(home / "lib" / f"lib{library}.so")], check=True)
    return home
