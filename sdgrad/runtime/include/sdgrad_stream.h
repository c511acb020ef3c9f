// Stores that go around the cache: lines of memory that are written as a whole need not be read first.
#pragma once

#include <cstddef>
#include <cstdint>

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

#if defined(__SSE2__)
    // The compiler's own functions: <immintrin.h> would be a third of the precompiled header.
#if defined(__AVX512F__)
    typedef long long Wide __attribute__((vector_size(64)));
#elif defined(__AVX__)
    typedef long long Wide __attribute__((vector_size(32)));
#else
    typedef long long Wide __attribute__((vector_size(16)));
#endif
    inline void stream_wide(Wide *to, const void *from)
    {
        Wide value;
        __builtin_memcpy(&value, from, sizeof value);
#if defined(__clang__)
        __builtin_nontemporal_store(value, to);
#elif defined(__AVX512F__)
        __builtin_ia32_movntdq512(to, value);
#elif defined(__AVX__)
        __builtin_ia32_movntdq256(to, value);
#else
        __builtin_ia32_movntdq(to, value);
#endif
    }
#endif

    // Elements to a place in memory that nobody reads soon.
    template <typename T>
    __attribute__((noinline)) inline void stream(T *to, const T *from, long count)
    {
        long k = 0;
#if defined(__SSE2__)
        if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0 && LINE % sizeof(T) == 0) {
            constexpr long one = long(LINE / sizeof(T));
            for (; k < count && reinterpret_cast<std::uintptr_t>(to + k) % LINE; ++k) to[k] = from[k];
            for (; k + one <= count; k += one) {
                auto *into = reinterpret_cast<Wide *>(to + k);
                auto *out = reinterpret_cast<const char *>(from + k);
                for (std::size_t part = 0; part < LINE / sizeof(Wide); ++part)
                    stream_wide(into + part, out + part * sizeof(Wide));
            }
        }
#endif
        for (; k < count; ++k) to[k] = from[k];
    }

    // Other threads see what this one has streamed.
    inline void streamed()
    {
#if defined(__SSE2__)
        __builtin_ia32_sfence();
#endif
    }
}  // namespace sdgrad
