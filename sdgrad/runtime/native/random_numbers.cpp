// Random numbers by Philox4x64-10 (Salmon, Moraes, Dror and Shaw 2011, Parallel random numbers: as easy as 1, 2, 3).
//
// A block of four words is a function of a key and a counter of four words. Counters (1 + k / 4, 0, 0, 0) are those of
// numpy.random.Philox, whose stream draws are made of. The last word of a counter tells other uses of a key apart.
//
// Numbers are the same on every machine and in every program: operations are rounded one by one (no fast arithmetic, no
// contraction; what is fused is written so), and of the C library only what is rounded right or is not in a hot loop.

#include "sdgrad_philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace {

using namespace sdgrad::random;
using Word = uint64_t;

enum Use : Word { STREAM = 0, SPLIT = 1, FOLD = 2, TRIALS = 3, AGAIN = 4, BOOST = 5 };  // the last word of a counter

struct Block {
    Word w[4];
};

inline Block philox(const Word *key, Word c0, Word c1, Word c2, Word c3) {
    Word k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
        const auto p = static_cast<unsigned __int128>(c0) * 0xD2E7470EE14C6C93u;
        const auto q = static_cast<unsigned __int128>(c2) * 0xCA5A826395121157u;
        c0 = Word(q >> 64) ^ c1 ^ k0;
        c1 = Word(q);
        c2 = Word(p >> 64) ^ c3 ^ k1;
        c3 = Word(p);
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
    return {{c0, c1, c2, c3}};
}

inline double unit(Word w) { return double(w >> 11) * 0x1p-53; }
inline double open_unit(Word w) { return (double(int64_t(w >> 12)) + 0.5) * 0x1p-52; }

// Words of an element's own, for what takes as many as chance decides.
struct Trials {
    const Word *key;
    Word element, use, block = 0;
    int left = 0;
    Block words = {};

    Trials(const Word *k, int64_t at, Word u) : key(k), element(Word(at)), use(u) {}
    Word next() {
        if (left == 0) {
            words = philox(key, block++, element, 0, use);
            left = 4;
        }
        return words.w[4 - left--];
    }
    double open() { return open_unit(next()); }
};

// Elementary functions, in terms of rounded operations -------------------------------------------------------

// c0 + x (c1 + x (c2 + ...)): as arguments, the coefficients are constants of vectorized loops.
inline double horner(double, double c) { return c; }
template <typename... More> inline double horner(double x, double c, More... more) {
    return std::fma(horner(x, more...), x, c);
}

// The natural logarithm of a positive normal number: of m in [sqrt(1/2), sqrt(2)) by the series of atanh, and of 2^e.
inline double logarithm(double x) {
    Word bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Word shifted = bits - 0x3FE6A09E667F3BCDu;  // so that m begins at sqrt(1/2)
    const double e = double(int64_t(shifted) >> 52);
    bits -= shifted & 0xFFF0000000000000u;
    double m;
    std::memcpy(&m, &bits, sizeof m);
    const double f = m - 1, r = f / (2 + f), s = r * r;
    const double sum = horner(s, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21);
    const double half = 0.5 * f * f;  // log(1 + f) = f - (half - r (half + 2 s sum))
    const double rest = std::fma(r, std::fma(2 * s, sum, half), e * 1.90821492927058770002e-10);
    return std::fma(e, 6.93147180369123816490e-01, f - (half - rest));
}

// The quantile of the normal distribution (Wichura 1988, algorithm AS 241): in the middle, and in the tails.
constexpr double MIDDLE = 0.425;
inline double normal_middle(double q) {
    const double r = std::fma(-q, q, MIDDLE * MIDDLE);
    const double over = horner(r, 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                              4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3);
    return q * (over / horner(r, 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                              2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3));
}
// Of the distance r = sqrt(-log(p)): up to 5, and beyond, where one of 7e10 is.
inline double normal_tail(double r) {
    const double s = r - 1.6;
    return horner(s, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
                              1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4) /
           horner(s, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                              1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9);
}
double normal_end(double r) {
    const double s = r - 5;
    return horner(s, 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7) /
           horner(s, 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                              7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15);
}
inline double distance(double q) { return std::sqrt(-logarithm(0.5 - std::fabs(q))); }
inline double normal(double u) {
    const double q = u - 0.5;
    if (std::fabs(q) <= MIDDLE) return normal_middle(q);
    const double r = distance(q), found = r <= 5 ? normal_tail(r) : normal_end(r);
    return std::copysign(found, q);
}

// Transformations of numbers in (0, 1), in loops that the compiler vectorizes: one by one the results are the same ----

constexpr int64_t CHUNK = 512;  // elements that are made at once, in the first level cache
constexpr int64_t SERIAL = 1 << 15;  // fewer elements are not worth threads

void exponential_of(int64_t n, double *x) {
    for (int64_t k = 0; k < n; ++k) x[k] = -logarithm(x[k]);
}
void normal_of(int64_t n, double *x) {
    double q[CHUNK], r[CHUNK], tail[CHUNK];
    int64_t at[CHUNK], count = 0;
    for (int64_t k = 0; k < n; ++k) {
        q[count] = x[k] - 0.5, at[count] = k;  // those in the tails, one behind the other
        count += std::fabs(x[k] - 0.5) > MIDDLE;
    }
    for (int64_t k = 0; k < n; ++k) x[k] = normal_middle(x[k] - 0.5);
    for (int64_t j = 0; j < count; ++j) {
        r[j] = distance(q[j]);
        tail[j] = normal_tail(r[j]);
    }
    for (int64_t j = 0; j < count; ++j) {
        const double found = r[j] <= 5 ? tail[j] : normal_end(r[j]);
        x[at[j]] = std::copysign(found, q[j]);
    }
}
void laplace_of(int64_t n, double *x) {
    for (int64_t k = 0; k < n; ++k) {
        const double q = x[k] - 0.5;
        const double size = -logarithm(1 - 2 * std::fabs(q));
        x[k] = std::copysign(size, q);
    }
}
void logistic_of(int64_t n, double *x) {
    for (int64_t k = 0; k < n; ++k) x[k] = logarithm(x[k]) - logarithm(1 - x[k]);
}
void gumbel_of(int64_t n, double *x) {
    for (int64_t k = 0; k < n; ++k) x[k] = -logarithm(-logarithm(x[k]));
}
void cauchy_of(int64_t n, double *x) {
    for (int64_t k = 0; k < n; ++k) x[k] = std::tan(3.14159265358979323846 * (x[k] - 0.5));
}
void nothing_of(int64_t, double *) {}

// Fill in chunks, which threads share. `make(first, count, chunk)` may be asked for a part, rounded up to blocks.
template <typename T, typename F> void in_chunks(int64_t n, void *out, int64_t to, F make) {
    T *result = static_cast<T *>(out);
    using Made = decltype(make.type());
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) if (n > SERIAL)
    for (int64_t c = 0; c < chunks; ++c) {
        alignas(64) Made made[CHUNK];
        const int64_t count = std::min(CHUNK, n - c * CHUNK);
        make(c * CHUNK, (count + 7) / 8 * 8, made);
        T *here = result + c * CHUNK * to;
        if (to == 1)
            for (int64_t k = 0; k < count; ++k) here[k] = T(made[k]);
        else
            for (int64_t k = 0; k < count; ++k) here[k * to] = T(made[k]);
    }
}

inline void words_of(const Word *key, int64_t first, int64_t count, Word *w) {
    for (int64_t k = 0; k < count; k += 4) {
        const Block block = philox(key, Word(1 + (first + k) / 4), 0, 0, STREAM);
        std::memcpy(w + k, block.w, sizeof block);
    }
}

struct Words {
    const Word *key;
    Word type() const;
    void operator()(int64_t first, int64_t count, Word *made) const { words_of(key, first, count, made); }
};
struct Halves {
    const Word *key;
    uint32_t type() const;
    void operator()(int64_t first, int64_t count, uint32_t *made) const {
        Word w[CHUNK / 2];
        words_of(key, first / 2, count / 2, w);
        for (int64_t k = 0; k < count / 2; ++k) made[2 * k] = uint32_t(w[k]), made[2 * k + 1] = uint32_t(w[k] >> 32);
    }
};
struct Single {
    const Word *key;
    float type() const;
    void operator()(int64_t first, int64_t count, float *made) const {
        uint32_t w[CHUNK];
        Halves{key}(first, count, w);
        for (int64_t k = 0; k < count; ++k) made[k] = float(int32_t(w[k] >> 8)) * 0x1p-24f;
    }
};
struct Unit {
    const Word *key;
    double type() const;
    void operator()(int64_t first, int64_t count, double *made) const {
        Word w[CHUNK];
        words_of(key, first, count, w);
        for (int64_t k = 0; k < count; ++k) made[k] = double(int64_t(w[k] >> 11)) * 0x1p-53;
    }
};
template <void (*F)(int64_t, double *)> struct Standard {
    const Word *key;
    double type() const;
    void operator()(int64_t first, int64_t count, double *made) const {
        Word w[CHUNK];
        words_of(key, first, count, w);
        for (int64_t k = 0; k < count; ++k) made[k] = open_unit(w[k]);
        F(count, made);
    }
};
struct Keys {
    const Word *key;
    Word type() const;
    void operator()(int64_t first, int64_t count, Word *made) const {
        for (int64_t k = 0; k < count; k += 2) {
            const Block block = philox(key, Word((first + k) / 2), 0, 0, SPLIT);
            made[k] = block.w[0], made[k + 1] = block.w[1];
        }
    }
};

template <void (*F)(int64_t, double *)> void standard(const Word *key, int64_t n, void *out, int64_t to, bool is_float) {
    if (is_float)
        in_chunks<float>(n, out, to, Standard<F>{key});
    else
        in_chunks<double>(n, out, to, Standard<F>{key});
}

// Distributions by rejection: each element has words of its own --------------------------------------------------

template <typename T, typename F> void by_element(int64_t n, void *out, int64_t to, F draw) {
    T *result = static_cast<T *>(out);
#pragma omp parallel for schedule(static) if (n > SERIAL / 8)
    for (int64_t k = 0; k < n; ++k) result[k * to] = T(draw(k));
}

// An integer below `most`, each with the same probability (Lemire 2019).
inline Word below(const Word *key, int64_t k, Word most) {
    Word word = philox(key, Word(1 + k / 4), 0, 0, STREAM).w[k % 4];
    if (most == 0) return word;
    auto product = static_cast<unsigned __int128>(word) * most;
    if (Word(product) < most) {
        const Word least = (0 - most) % most;
        Trials more(key, k, AGAIN);
        while (Word(product) < least) product = static_cast<unsigned __int128>(more.next()) * most;
    }
    return Word(product >> 64);
}

// A number of the gamma distribution, or its logarithm (Marsaglia and Tsang 2000), for a < 1 from one of a + 1.
double gamma(const Word *key, int64_t k, double a, bool is_log) {
    if (!(a >= 0)) return NAN;
    if (a == 0) return is_log ? -INFINITY : 0;
    if (a > std::numeric_limits<double>::max()) return INFINITY;
    const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    Trials trials(key, k, TRIALS);
    double v;
    for (;;) {
        const double x = normal(trials.open()), u = trials.open(), t = 1 + c * x;
        if (t <= 0) continue;
        v = t * t * t;
        const double square = x * x;
        if (u < 1 - 0.0331 * square * square) break;
        if (logarithm(u) < 0.5 * square + d * (1 - v + logarithm(v))) break;
    }
    if (a >= 1) return is_log ? logarithm(d * v) : d * v;
    const double power = logarithm(open_unit(philox(key, 0, Word(k), 0, BOOST).w[0])) / a;
    return is_log ? logarithm(d * v) + power : d * v * std::exp(power);
}

// A number of the Poisson distribution: by products, or by transformed rejection (Hoermann 1993).
int64_t poisson(const Word *key, int64_t k, double rate) {
    if (!(rate >= 0) || rate > 9e18) return -1;
    if (rate == 0) return 0;
    Trials trials(key, k, TRIALS);
    if (rate < 10) {
        const double least = std::exp(-rate);
        double product = trials.open();
        int64_t count = 0;
        for (; product > least; ++count) product *= trials.open();
        return count;
    }
    const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse = 1.1239 + 1.1328 / (b - 3.4), least = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = trials.open() - 0.5, v = trials.open(), s = 0.5 - std::fabs(u);
        const double found = std::floor((2 * a / s + b) * u + rate + 0.43);
        if (s >= 0.07 && v <= least) return int64_t(found);
        if (found < 0 || (s < 0.013 && v > s)) continue;
        if (std::log(v * inverse / (a / (s * s) + b)) <= found * log_rate - rate - std::lgamma(found + 1))
            return int64_t(found);
    }
}

// A number of the binomial distribution with p up to 1/2: by inversion, or by transformed rejection (Hoermann 1993).
int64_t binomial_below_half(Trials &trials, double n, double p) {
    const double q = 1 - p, spread = std::sqrt(n * p * q);
    if (n * p < 10) {
        const double first = std::exp(n * std::log1p(-p)), most = std::min(n, n * p + 10 * std::sqrt(n * p * q + 1));
        for (;;) {
            double u = trials.open(), term = first, x = 0;
            for (; u > term && x <= most; u -= term, term *= (n - x) * p / ((x + 1) * q), ++x) {}
            if (x <= most) return int64_t(x);
        }
    }
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, least = 0.92 - 4.2 / b;
    const double alpha = (2.83 + 5.1 / b) * spread, m = std::floor((n + 1) * p), odds = std::log(p / q);
    const double top = std::lgamma(m + 1) + std::lgamma(n - m + 1);
    for (;;) {
        const double u = trials.open() - 0.5, v = trials.open(), s = 0.5 - std::fabs(u);
        const double found = std::floor((2 * a / s + b) * u + n * p + 0.5);
        if (s >= 0.07 && v <= least) return int64_t(found);
        if (found < 0 || found > n) continue;
        const double ratio = top - std::lgamma(found + 1) - std::lgamma(n - found + 1) + (found - m) * odds;
        if (std::log(v * alpha / (a / (s * s) + b)) <= ratio) return int64_t(found);
    }
}
int64_t binomial(const Word *key, int64_t k, int64_t n, double p) {
    if (n < 0 || !(p >= 0 && p <= 1)) return -1;
    if (n == 0 || p == 0) return 0;
    if (p == 1) return n;
    Trials trials(key, k, TRIALS);
    return p <= 0.5 ? binomial_below_half(trials, double(n), p) : n - binomial_below_half(trials, double(n), 1 - p);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void sdgrad_draw(int kind, const uint64_t *key, int64_t n,
                                                                   const void *a, int64_t by_a, const void *b,
                                                                   int64_t by_b, void *out, int64_t to, bool is_float) {
    const auto real = static_cast<const double *>(a);
    const auto gammas = [=](int64_t k) { return gamma(key, k, real[k * by_a], kind == LOG_GAMMA); };
    switch (kind) {
        case WORDS: return in_chunks<Word>(n, out, to, Words{key});
        case HALVES: return in_chunks<uint32_t>(n, out, to, Halves{key});
        case UNIT: return is_float ? in_chunks<float>(n, out, to, Single{key}) : in_chunks<double>(n, out, to, Unit{key});
        case OPEN: return standard<nothing_of>(key, n, out, to, is_float);
        case KEYS: return in_chunks<Word>(n, out, to, Keys{key});
        case FOLDED: {
            const Block block = philox(key, Word(*static_cast<const int64_t *>(a)), 0, 0, FOLD);
            for (int64_t k = 0; k < n; ++k) static_cast<Word *>(out)[k * to] = block.w[k];
            return;
        }
        case BELOW: {
            const auto most = static_cast<const Word *>(a);
            return by_element<Word>(n, out, to, [=](int64_t k) { return below(key, k, most[k * by_a]); });
        }
        case EXPONENTIAL: return standard<exponential_of>(key, n, out, to, is_float);
        case NORMAL: return standard<normal_of>(key, n, out, to, is_float);
        case LAPLACE: return standard<laplace_of>(key, n, out, to, is_float);
        case LOGISTIC: return standard<logistic_of>(key, n, out, to, is_float);
        case GUMBEL: return standard<gumbel_of>(key, n, out, to, is_float);
        case CAUCHY: return standard<cauchy_of>(key, n, out, to, is_float);
        case GAMMA:
        case LOG_GAMMA: return is_float ? by_element<float>(n, out, to, gammas) : by_element<double>(n, out, to, gammas);
        case POISSON: return by_element<int64_t>(n, out, to, [=](int64_t k) { return poisson(key, k, real[k * by_a]); });
        case BINOMIAL: {
            const auto count = static_cast<const int64_t *>(a);
            const auto p = static_cast<const double *>(b);
            return by_element<int64_t>(n, out, to, [=](int64_t k) { return binomial(key, k, count[k * by_a], p[k * by_b]); });
        }
    }
}
