// Random numbers that a key and a position decide. The functions are in native/random_numbers.cpp.
#pragma once

#include <cstdint>

namespace sdgrad {
namespace random {

// What is drawn. Element k depends on the key and on k alone, whatever thread or program draws it.
enum Kind : int {
    WORDS = 0,         // uniform integers of 64 bits, those of numpy.random.Philox
    HALVES = 1,        // of 32 bits, as NumPy cuts words: the lower half first
    UNIT = 2,          // multiples of 2^-53 in [0, 1); of 2^-24 in single precision
    OPEN = 3,          // odd multiples of 2^-53 in (0, 1)
    KEYS = 4,          // keys, two words each
    FOLDED = 5,        // the key of an integer
    BELOW = 6,         // integers of 64 bits below a number, which for 0 is 2^64
    EXPONENTIAL = 7,   // standard distributions from here on
    NORMAL = 8,
    LAPLACE = 9,
    LOGISTIC = 10,
    GUMBEL = 11,
    CAUCHY = 12,
    GAMMA = 13,
    LOG_GAMMA = 14,
    POISSON = 15,
    BINOMIAL = 16,
};

}  // namespace random
}  // namespace sdgrad

// Fill n elements of a kind, `to` elements apart.
// Parameters a and b are `by_a` and `by_b` elements apart: 0 for one number; null where a kind has none.
// The element type of the result is that of the kind, or float with `is_float`.
extern "C" void sdgrad_draw(int kind, const uint64_t *key, int64_t n, const void *a, int64_t by_a, const void *b,
                            int64_t by_b, void *out, int64_t to, bool is_float);
