// Discrete Fourier transforms by pocketfft, whose header the wheel of Pythran ships.
//
// Lines are transformed in chunks that fit into the cache, so that what is done to a spectrum before or after finds it
// there. Chunks are divided among the threads of OpenMP. pocketfft transforms several lines of a chunk at once, in the
// lanes of vector registers, and keeps the factors of the last lengths behind a lock.
//
// REAL is the type of real numbers. WITH_REAL chooses the transforms between real and complex numbers, which are most
// of the compile time, instead of those between complex ones.

#include "sdgrad_fft.h"

#include <algorithm>
#include <array>
#include <vector>

#pragma GCC visibility push(default)  // memory that waits is that of all programs
#include "sdgrad_memory.h"
#pragma GCC visibility pop

// pocketfft asks for memory for its lines in each call: from the system, large pieces would take longer than the lines
#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 32
#define aligned_alloc(alignment, bytes) ::sdgrad::allocate(bytes)
#define free(memory) ::sdgrad::release(memory)
#include POCKETFFT_HEADER
#undef aligned_alloc
#undef free

#ifdef _OPENMP
#include <omp.h>
#endif

namespace sdgrad {
namespace fft {
namespace {

using Complex = std::complex<REAL>;
using Extents = std::vector<int64_t>;

constexpr int64_t chunk_bytes = 1 << 17;  // of the second level cache
constexpr int64_t lanes = pocketfft::detail::VLEN<REAL>::val;  // lines that are transformed at once
constexpr int64_t serial_elements = 16384;  // fewer are not worth threads

// Lines along one axis: the shape, and the strides of both sides in elements.
struct Lines {
    Extents shape, from, to;
    int axis;

    explicit Lines(const Transform &t)
        : shape(t.shape, t.shape + t.rank), from(t.from, t.from + t.rank), to(t.to, t.to + t.rank), axis(t.axis) {}

    int64_t n() const { return shape[axis]; }

    int64_t elements() const {
        int64_t all = 1;
        for (const int64_t extent : shape) all *= extent;
        return all;
    }

    // The axis with the most lines; the transformed one if there is no other.
    int longest() const {
        int found = axis;
        for (int d = 0; d < int(shape.size()); ++d)
            if (d != axis && (found == axis || shape[d] > shape[found])) found = d;
        return found;
    }

    // Calls f with the offsets of each line on both sides; lines that are next to each other in memory come in order.
    template <typename F> void each(F f) const {
        std::vector<int> others;
        for (int d = 0; d < int(shape.size()); ++d)
            if (d != axis && shape[d] != 1) others.push_back(d);
        Extents at(others.size(), 0);
        int64_t a = 0, b = 0;
        while (true) {
            f(a, b);
            int k = int(others.size()) - 1;
            for (; k >= 0; --k) {
                const int d = others[k];
                a += from[d], b += to[d];
                if (++at[k] < shape[d]) break;
                a -= shape[d] * from[d], b -= shape[d] * to[d], at[k] = 0;
            }
            if (k < 0) return;
        }
    }
};

pocketfft::stride_t bytes(const Extents &strides, size_t element) {
    pocketfft::stride_t found;
    for (const int64_t s : strides) found.push_back(ptrdiff_t(s) * ptrdiff_t(element));
    return found;
}

pocketfft::shape_t sizes(const Extents &shape) { return pocketfft::shape_t(shape.begin(), shape.end()); }

// Calls f(lines, from, to) for chunks of all lines, in threads.
template <typename From, typename To, typename F>
void in_chunks(const Transform &t, const From *from, To *to, F f) {
    const Lines all(t);
    const int64_t elements = all.elements();
    if (elements <= 0) return;
    const int d = all.longest();
    const int64_t count = d == all.axis ? 1 : all.shape[d];
    const int64_t of_one = std::max<int64_t>(1, elements / count);
    // the same for every number of threads, or results would differ in their last bits
    const int64_t fitting = chunk_bytes / int64_t(of_one * sizeof(Complex)) / lanes * lanes;
    const int64_t size = std::min(count, std::max(lanes, fitting));
    int threads = 1;
#ifdef _OPENMP
    threads = elements < serial_elements || omp_in_parallel() ? 1 : omp_get_max_threads();
#endif
    const int64_t chunks = (count + size - 1) / size;
#pragma omp parallel for schedule(static) if (threads > 1 && chunks > 1) num_threads(threads)
    for (int64_t c = 0; c < chunks; ++c) {
        const int64_t first = c * size;
        Lines part = all;
        if (d != all.axis) part.shape[d] = std::min(size, count - first);
        const int64_t skipped = d == all.axis ? 0 : first;
        f(part, from + skipped * all.from[d], to + skipped * all.to[d]);
    }
}

#ifdef WITH_REAL

// Writes the other half of spectra of real numbers: the conjugates of their mirror images.
void mirror(const Lines &lines, Complex *to) {
    const int64_t n = lines.n(), step = lines.to[lines.axis];
    lines.each([&](int64_t, int64_t b) {
        Complex *line = to + b;
        for (int64_t k = n / 2 + 1; k < n; ++k) line[k * step] = std::conj(line[(n - k) * step]);
    });
}

// Multiplies what has a mirror image in half a spectrum.
void scale_inner(const Lines &lines, Complex *to, REAL by) {
    const int64_t n = lines.n(), step = lines.to[lines.axis];
    lines.each([&](int64_t, int64_t b) {
        Complex *line = to + b;
        for (int64_t k = 1; k < (n + 1) / 2; ++k) line[k * step] *= by;
    });
}

// Adds what belongs to the values of half spectra that have no mirror image, times a factor.
void add_ends(const Lines &lines, const Complex *from, REAL *to, REAL by) {
    const int64_t n = lines.n(), last = n / 2 * lines.from[lines.axis], step = lines.to[lines.axis];
    lines.each([&](int64_t a, int64_t b) {
        const REAL constant = by * from[a].real(), alternating = n % 2 ? REAL(0) : by * from[a + last].real();
        const REAL even = constant + alternating, odd = constant - alternating;
        REAL *line = to + b;
        for (int64_t j = 0; j + 1 < n; j += 2) line[j * step] += even, line[(j + 1) * step] += odd;
        if (n % 2) line[(n - 1) * step] += even;
    });
}

// Calls f with half the spectra that belong to the real parts of transforms, and their strides: the means of values and
// their mirror images. The axis stays where it is, so that lanes stay neighbours.
template <typename F> void with_halves(const Lines &lines, const Complex *from, F f) {
    Lines both = lines;
    int64_t all = 1;
    for (int d = int(lines.shape.size()) - 1; d >= 0; --d) {
        both.to[d] = all;
        all *= d == lines.axis ? lines.n() / 2 + 1 : lines.shape[d];
    }
    pocketfft::detail::arr<Complex> memory(all);
    Complex *halves = memory.data();
    const int64_t n = lines.n(), step = both.from[lines.axis], own = both.to[lines.axis];
    both.each([&](int64_t a, int64_t b) {
        const Complex *line = from + a;
        Complex *half = halves + b;
        half[0] = line[0];
        for (int64_t k = 1; k < n / 2 + 1; ++k)
            half[k * own] = REAL(0.5) * (line[k * step] + std::conj(line[(n - k) * step]));
    });
    f(both.to, halves);
}

#endif

}  // namespace

#ifdef WITH_REAL

void transform(const Transform &t, const REAL *from, Complex *to) {
    in_chunks(t, from, to, [&](const Lines &lines, const REAL *a, Complex *b) {
        pocketfft::r2c<REAL>(sizes(lines.shape), bytes(lines.from, sizeof(REAL)), bytes(lines.to, sizeof(Complex)),
                             size_t(lines.axis), !t.back, a, b, REAL(t.factor), 1);
        if (!t.half) mirror(lines, b);
        else if (t.inner != 1) scale_inner(lines, b, REAL(t.inner));
    });
}

void transform(const Transform &t, const Complex *from, REAL *to) {
    in_chunks(t, from, to, [&](const Lines &lines, const Complex *a, REAL *b) {
        const auto whole = [&](const Extents &strides, const Complex *half, double factor) {
            pocketfft::c2r<REAL>(sizes(lines.shape), bytes(strides, sizeof(Complex)), bytes(lines.to, sizeof(REAL)),
                                 size_t(lines.axis), !t.back, half, b, REAL(factor), 1);
        };
        if (!t.half) return with_halves(lines, a, [&](const Extents &strides, const Complex *half) {
            whole(strides, half, t.factor);
        });
        whole(lines.from, a, t.factor * t.inner / 2);  // pocketfft counts what has a mirror image twice
        if (t.inner != 2) add_ends(lines, a, b, REAL(t.factor * (1 - t.inner / 2)));
    });
}

#else

void transform(const Transform &t, const Complex *from, Complex *to) {
    in_chunks(t, from, to, [&](const Lines &lines, const Complex *a, Complex *b) {
        pocketfft::c2c<REAL>(sizes(lines.shape), bytes(lines.from, sizeof(Complex)), bytes(lines.to, sizeof(Complex)),
                             {size_t(lines.axis)}, !t.back, a, b, REAL(t.factor), 1);
    });
}

#endif

}  // namespace fft
}  // namespace sdgrad
