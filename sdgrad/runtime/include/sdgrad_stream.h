// Stores that go around the cache: lines of memory that are written as a whole need not be read first.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sdgrad
{
    constexpr std::size_t LINE = 64;

    // The end of the part of a row that begins at an element: it ends with a line, and the next part begins with one.
    template <typename T>
    inline long part_end(const T *place, long first, long end, long most)
    {
        const long over = long(reinterpret_cast<std::uintptr_t>(place) % LINE / sizeof(T));
        return end - first < most - over ? end : first + most - over;
    }

    // Elements to a place in memory that nobody reads soon.
    template <typename T>
    inline void stream(T *to, const T *from, long count)
    {
        long k = 0;
#if defined(__SSE2__)
        if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0 && LINE % sizeof(T) == 0) {
            constexpr long one = long(LINE / sizeof(T));
            for (; k < count && reinterpret_cast<std::uintptr_t>(to + k) % LINE; ++k) to[k] = from[k];
            for (; k + one <= count; k += one) {
#if defined(__AVX512F__)
                _mm512_stream_si512(reinterpret_cast<__m512i *>(to + k), _mm512_loadu_si512(from + k));
#elif defined(__AVX__)
                auto *into = reinterpret_cast<__m256i *>(to + k);
                auto *out = reinterpret_cast<const __m256i *>(from + k);
                for (int part = 0; part < 2; ++part) _mm256_stream_si256(into + part, _mm256_loadu_si256(out + part));
#else
                auto *into = reinterpret_cast<__m128i *>(to + k);
                auto *out = reinterpret_cast<const __m128i *>(from + k);
                for (int part = 0; part < 4; ++part) _mm_stream_si128(into + part, _mm_loadu_si128(out + part));
#endif
            }
        }
#endif
        for (; k < count; ++k) to[k] = from[k];
    }

    // Other threads see what this one has streamed.
    inline void streamed()
    {
#if defined(__SSE2__)
        _mm_sfence();
#endif
    }
}  // namespace sdgrad
