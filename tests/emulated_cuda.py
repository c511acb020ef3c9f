"""CUDA on a CPU, for tests: a toolkit whose ``nvcc`` makes plain C++ of kernels, which run thread by thread.

Memory of the "device" can be touched by kernels and copies only, and kernels are given no other: a program that mixes
up the two memories fails here as it would on a GPU. Threads run one after another, in an order that is shuffled, so
that what depends on the order gives different results.
"""

from __future__ import annotations

import hashlib
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import dace

from sdgrad.config import config
from sdgrad.program.prelude import MATH_HEADER
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import build, nvcc
from sdgrad.runtime.compile.compiler import DACE_INCLUDE
from sdgrad.runtime.compile.file_lock import locked
from sdgrad.runtime.compile.precompiled_header import INSTRUMENTS, STREAMS

RUNTIME = r"""
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef void *cudaStream_t;
typedef void *cudaEvent_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorUnknown = 999 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaStreamNonBlocking, cudaEventDisableTiming };

namespace emulated {
bool is_device(const void *p);
void open(bool on);

// A kernel whose arguments have no types any more, so that what runs it is compiled once.
struct Kernel {
    void (*address)();
    void (*call)(void (*address)(), void **args);
    const bool *is_pointer;
    size_t count;
};
cudaError_t run(const Kernel &kernel, dim3 grid, dim3 block, void **args, unsigned seed);

template <typename... A, size_t... K>
void call(void (*kernel)(A...), void **args, std::index_sequence<K...>) { kernel(*static_cast<A *>(args[K])...); }

template <typename... A>
void call(void (*address)(), void **args) {
    call(reinterpret_cast<void (*)(A...)>(address), args, std::index_sequence_for<A...>());
}

static unsigned launches = 0;  // of this program, whose order of threads is then always the same

template <typename... A>
cudaError_t launch(void (*kernel)(A...), dim3 grid, dim3 block, void **args, size_t, cudaStream_t) {
    static constexpr bool is_pointer[] = {std::is_pointer_v<A>..., false};
    return run({reinterpret_cast<void (*)()>(kernel), call<A...>, is_pointer, sizeof...(A)}, grid, block, args,
               ++launches);
}
}  // namespace emulated

// CUDA has these beside any template, and they drop what is not a number.
inline double max(double a, double b) { return __builtin_fmax(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline float min(float a, float b) { return __builtin_fminf(a, b); }

cudaError_t cudaMalloc(void **p, size_t n);
cudaError_t cudaFree(void *);
cudaError_t cudaMallocHost(void **p, size_t n);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemset(void *p, int v, size_t n);
cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s);
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDevice(int *n);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int);
template <typename... A>
cudaError_t cudaFuncSetAttribute(A...) { return cudaSuccess; }
template <typename... A>
cudaError_t cudaDeviceGetAttribute(A...) { return cudaSuccess; }
"""

CUDART = r"""
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <cstdlib>
#include <cstring>
#include <vector>

constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {
constexpr size_t ARENA = size_t(1) << 32, PAGE = 4096;
char *arena = nullptr;
size_t used = 0;

bool is_device(const void *p) { return arena && p >= arena && p < arena + used; }

void open(bool on) {
    if (used) mprotect(arena, used, on ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void *take(size_t bytes) {
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

cudaError_t run(const Kernel &kernel, dim3 grid, dim3 block, void **args, unsigned seed) {
    for (size_t k = 0; k < kernel.count; ++k)
        if (kernel.is_pointer[k] && !is_device(*static_cast<void **>(args[k]))) return cudaErrorInvalidValue;
    gridDim = grid, blockDim = block;
    const size_t blocks = size_t(grid.x) * grid.y * grid.z, threads = size_t(block.x) * block.y * block.z;
    std::vector<size_t> all(blocks);
    for (size_t k = 0; k < blocks; ++k) {
        seed = seed * 1664525u + 1013904223u;
        const size_t other = (seed >> 8) % (k + 1);
        all[k] = all[other], all[other] = k;
    }
    open(true);
    for (size_t b : all)
        for (size_t k = 0; k < threads; ++k) {
            const size_t t = b % 2 ? k : threads - 1 - k;
            blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
            threadIdx = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
            kernel.call(kernel.address, args);
        }
    open(false);
    return cudaSuccess;
}
}  // namespace emulated

cudaError_t cudaMalloc(void **p, size_t n) {
    return (*p = emulated::take(n)) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaFree(void *) { return cudaSuccess; }
cudaError_t cudaMallocHost(void **p, size_t n) { return *p = malloc(n), cudaSuccess; }
cudaError_t cudaFreeHost(void *p) { return free(p), cudaSuccess; }
cudaError_t cudaMemset(void *p, int v, size_t n) {
    return emulated::open(true), memset(p, v, n), emulated::open(false), cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) { return cudaMemset(p, v, n); }
cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t) {
    const bool here = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool there = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (emulated::is_device(from) != here || emulated::is_device(to) != there) return cudaErrorInvalidValue;
    emulated::open(true);
    for (size_t k = 0; k < height; ++k) memcpy((char *)to + k * tp, (const char *)from + k * fp, width);
    emulated::open(false);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s) {
    return cudaMemcpy2DAsync(to, n, from, n, n, 1, kind, s);
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, n, kind, nullptr);
}
cudaError_t cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *n) { return *n = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t e) { return e ? "emulated: memory of the wrong kind" : "no error"; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int) { return *s = nullptr, cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) { return *e = nullptr, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cudaSuccess; }

// What stands for CuPy (emulated_cupy.py) calls these.
extern "C" void *emulated_take(size_t n) { return emulated::take(n); }
extern "C" int emulated_put(void *to, const void *from, size_t n) {
    return cudaMemcpy(to, from, n, cudaMemcpyHostToDevice);
}
extern "C" int emulated_get(void *to, const void *from, size_t n) {
    return cudaMemcpy(to, from, n, cudaMemcpyDeviceToHost);
}
"""

CUBLAS = r"""
#include <complex>
#include <cstdlib>
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

COMPILER = r"""#!/bin/sh
for argument; do
    shift
    case $last in
    -c) source=$argument ;;
    -o) target=$argument ;;
    esac
    case $argument in
    --dryrun) echo "#$ TOP={home}" >&2; exit 0 ;;
    -[ID]*) set -- "$@" "$argument" ;;
    esac
    last=$argument
done
plain=${source%.cu}.emulated.cc
sed -E 's/^#include <cuda_runtime\.h>$//
s/cudaLaunchKernel\(\(void\*\)(\w+),/emulated::launch(\1,/' "$source" > "$plain"
kind=without_math
grep -q '^#include ".*/sdgrad_math\.h"$' "$source" && kind=with_math
exec {compiler} -I"{home}/$kind" "$@" -I"{home}/include" -c "$plain" -o "$target"
"""
KERNELS = ("c++", "-O0", "-w", "-fPIC", "-std=c++20")
"""What compiles kernels."""


def toolkit(parent: Path) -> Path:
    """Make the toolkit in a folder, once for all processes, and return its own folder, which ``CUDA_HOME`` is then."""
    with config.override(optimization_level=0):  # that of the programs that are tested
        host = (build.compiler_name(), *build.flags())
    own = [header.read_text() for header in sorted(INCLUDE.glob("*.h"))]
    texts = [Path(__file__).read_text(), dace.__version__, *own, *host]
    home = parent / f"emulated_cuda_{hashlib.sha256(' '.join(texts).encode()).hexdigest()[:16]}"
    compiler = home / "bin" / "nvcc"
    with locked(home):
        if compiler.exists():
            return home
        for name in ("bin", "include", "lib"):
            (home / name).mkdir(parents=True, exist_ok=True)
        (home / "include" / "cuda_runtime.h").write_text(RUNTIME)
        library(home, "cudart", CUDART)
        library(home, "cublas", CUBLAS, f"-L{home}/lib", "-lcudart", f"-Wl,-rpath,{home}/lib")
        precompile(home / "include", host, home)
        precompile(home / "without_math", KERNELS, home)
        precompile(home / "with_math", KERNELS, home, MATH_HEADER)
        part = compiler.with_suffix(".part")
        part.write_text(COMPILER.replace("{compiler}", shlex.join(KERNELS)).replace("{home}", str(home)))
        part.chmod(0o755)
        part.rename(compiler)
    return home


def library(home: Path, name: str, code: str, *links: str) -> None:
    """Make a library of the toolkit."""
    source, target = home / f"{name}.cpp", home / "lib" / f"lib{name}.so"
    source.write_text(code)
    command = ["c++", "-O1", "-w", "-fPIC", "-shared", "-std=c++20", f"-I{home}/include", str(source)]
    subprocess.run([*command, "-o", str(target), *links], check=True)


def precompile(folder: Path, command: Sequence[str], home: Path, *others: Path) -> None:
    """Precompile DaCe's header as programs include it that leave out what most programs do not use.

    Read as text, it takes most of the time of a compilation. GCC does so where other options or macros are given.

    :param folder: where the header is found before DaCe's own.
    :param others: headers that the programs include after it.
    """
    header = folder / "dace" / "dace.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    included = ["<cuda_runtime.h>", *(f'"{path}"' for path in (DACE_INCLUDE / "dace" / "dace.h", *others))]
    header.write_text("#pragma once\n" + "".join(f"#include {name}\n" for name in included))
    macros = [*nvcc.DEFINES, *(f"-D{name}" for name in (*STREAMS, *INSTRUMENTS))]
    folders = [f"-I{path}" for path in (home / "include", DACE_INCLUDE)]
    given = [*macros, *folders, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
    subprocess.run([*command, *given], check=True)
