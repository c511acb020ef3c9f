// Orders of elements, some of the elements in order, and searches in sorted arrays. What is not a number comes last, as in NumPy.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace sdgrad {

// Unsigned integers in the order of the elements: equal for 0 and -0, and for all that is not a number. By their bits:
// compilers may be told that there is no NaN, and no -0.
template <typename Bits, typename T> Bits key_of_real(T x, Bits infinity) {
    constexpr Bits SIGN = Bits(1) << (8 * sizeof(Bits) - 1);
    Bits bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Bits size = bits & ~SIGN;
    if (size > infinity) return ~Bits(0);
    return size == bits ? size | SIGN : size == 0 ? SIGN : ~bits;
}
inline uint64_t sort_key(double x) { return key_of_real(x, uint64_t(0x7ff) << 52); }
inline uint32_t sort_key(float x) { return key_of_real(x, uint32_t(0xff) << 23); }
template <typename T, std::enable_if_t<std::is_integral<T>::value, int> = 0> auto sort_key(T x) {
    using Key = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
    return Key(Key(x) + (std::is_signed<T>::value ? Key(1) << (8 * sizeof(Key) - 1) : 0));
}

constexpr int DIGIT = 11;  // bits
constexpr int64_t COMPARED = 512;  // elements up to which comparisons take less time than tables of digits

template <typename Key> using Ranked = std::vector<std::pair<Key, int64_t>>;

// Sort by the digits from bit `first` on, the last one first: each pass keeps the order of equal digits.
inline void sort_by_digits(std::vector<uint64_t> &items, std::vector<uint64_t> &other, int first, int bits) {
    constexpr uint64_t MASK = (uint64_t(1) << DIGIT) - 1;
    const int passes = (bits + DIGIT - 1) / DIGIT;
    std::vector<std::array<int64_t, 1 << DIGIT>> counts(passes);
    for (auto &table : counts) table.fill(0);
    for (const uint64_t item : items)
        for (int pass = 0; pass < passes; ++pass) ++counts[pass][(item >> (first + pass * DIGIT)) & MASK];
    for (int pass = 0; pass < passes; ++pass) {
        const int down = first + pass * DIGIT;
        auto &next = counts[pass];
        if (next[(items[0] >> down) & MASK] == int64_t(items.size())) continue;  // all have this digit
        int64_t before = 0;
        for (auto &count : next) before += std::exchange(count, before);
        for (const uint64_t item : items) other[next[(item >> down) & MASK]++] = item;
        items.swap(other);
    }
}

// items[k]: the place of the k-th key in order; equal ones keep their order. Each item is the first bits of a key, as many
// as there is room for, before its place; those that differ in later bits alone are ordered afterwards.
template <typename Key>
void order_keys(const std::vector<Key> &keys, std::vector<uint64_t> &items, std::vector<uint64_t> &other) {
    const int64_t n = int64_t(keys.size());
    const auto [least, largest] = std::minmax_element(keys.begin(), keys.end());
    const Key base = *least;
    const int room = std::bit_width(uint64_t(n)), width = std::bit_width(Key(*largest - base));
    const int bits = std::min(width, 64 - room), down = width - bits;
    items.resize(n), other.resize(n);
    for (int64_t k = 0; k < n; ++k) items[k] = uint64_t(Key(keys[k] - base) >> down) << room | uint64_t(k);
    sort_by_digits(items, other, room, bits);
    const uint64_t mask = (uint64_t(1) << room) - 1;
    auto before = [&](uint64_t a, uint64_t b) { return keys[a & mask] < keys[b & mask]; };
    for (int64_t start = 0, end; down > 0 && start < n; start = end) {
        for (end = start + 1; end < n && items[end] >> room == items[start] >> room;) ++end;
        const auto first = items.begin() + start, last = items.begin() + end;
        if (end - start == 1 || std::is_sorted(first, last, before)) continue;
        if (end - start <= COMPARED) {
            std::stable_sort(first, last, before);
            continue;
        }
        std::vector<Key> near(end - start);
        std::vector<uint64_t> order, unused, own(first, last);
        for (int64_t k = 0; k < end - start; ++k) near[k] = keys[own[k] & mask];
        order_keys(near, order, unused);
        for (int64_t k = 0; k < end - start; ++k) first[k] = own[order[k]];
    }
    for (uint64_t &item : items) item &= mask;
}

// order[k]: the place of the element that is k-th in each row; equal elements keep their order.
template <typename T>
void argsort(int64_t rows, int64_t n, const T *a, int64_t row, int64_t step, int64_t *order, int64_t to_row, int64_t to_step,
             bool descending) {
    using Key = decltype(sort_key(*a));
#pragma omp parallel if (rows > 1 && rows * n > 8192)
    {
        std::vector<Key> keys(n);
        std::vector<uint64_t> items, other;
        Ranked<Key> few(n > COMPARED ? 0 : n);
#pragma omp for
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t k = 0; k < n; ++k) {
                const Key key = sort_key(a[r * row + k * step]);
                keys[k] = descending ? Key(~key) : key;
            }
            if (n > COMPARED) {
                order_keys(keys, items, other);
                for (int64_t k = 0; k < n; ++k) order[r * to_row + k * to_step] = int64_t(items[k]);
                continue;
            }
            for (int64_t k = 0; k < n; ++k) few[k] = {keys[k], k};
            std::sort(few.begin(), few.end());  // places differ: no two are equal
            for (int64_t k = 0; k < n; ++k) order[r * to_row + k * to_step] = few[k].second;
        }
    }
}

// Keys from the least to the largest one, divided evenly among the digits.
template <typename Key> struct Buckets {
    Key least, largest;
    std::array<int64_t, 1 << DIGIT> counts{};

    template <typename At> Buckets(int64_t n, At key_at) : least(key_at(0)), largest(least) {
        for (int64_t i = 0; i < n; ++i) least = std::min(least, key_at(i)), largest = std::max(largest, key_at(i));
        for (int64_t i = 0; i < n; ++i) ++counts[digit(key_at(i))];
    }

    Key digit(Key key) const { return Key(key - least) >> std::max(0, int(std::bit_width(Key(largest - least))) - DIGIT); }

    // The digit of the key that is k-th in order; `k` becomes its rank among those with this digit.
    Key of_rank(int64_t &k) const {
        Key found = 0;
        for (; k >= counts[found]; ++found) k -= counts[found];
        return found;
    }
};

// The place of the element that is k-th in order, of some in the order of their places.
template <typename Key> int64_t select_among(Ranked<Key> &items, Ranked<Key> &other, int64_t k) {
    while (int64_t(items.size()) > COMPARED) {
        const Buckets<Key> buckets(int64_t(items.size()), [&](int64_t i) { return items[i].first; });
        if (buckets.least == buckets.largest) return items[k].second;
        const Key digit = buckets.of_rank(k);
        other.clear();
        for (const auto &item : items)
            if (buckets.digit(item.first) == digit) other.push_back(item);
        items.swap(other);
    }
    std::nth_element(items.begin(), items.begin() + k, items.end());  // places differ: no two are equal
    return items[k].second;
}

// order[j]: the place of the element that is ranks[j]-th in each row, from zero on; equal elements keep their order.
template <typename T>
void select(int64_t rows, int64_t n, const T *a, int64_t row, int64_t step, int64_t count, const int64_t *ranks, int64_t *order,
            int64_t to_row, int64_t to_step) {
    using Key = decltype(sort_key(*a));
#pragma omp parallel if (rows > 1 && rows * n > 8192)
    {
        std::vector<Key> keys(n);
        Ranked<Key> items, other;
#pragma omp for
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t i = 0; i < n; ++i) keys[i] = sort_key(a[r * row + i * step]);
            const Buckets<Key> buckets(n, [&](int64_t i) { return keys[i]; });
            for (int64_t j = 0; j < count; ++j) {
                int64_t k = order[r * to_row + j * to_step] = ranks[j];
                if (buckets.least == buckets.largest) continue;
                const Key digit = buckets.of_rank(k);
                items.clear();
                for (int64_t i = 0; i < n; ++i)
                    if (buckets.digit(keys[i]) == digit) items.push_back({keys[i], i});
                order[r * to_row + j * to_step] = select_among(items, other, k);
            }
        }
    }
}

// at[j]: how many of n ascending keys come before wanted[j], or (right) not after it. All halve together, without
// branches, so that processors need not guess them.
template <typename Key, typename At>
void count_before(int64_t n, At key_at, int64_t count, const Key *wanted, int64_t *at, bool right) {
    std::fill_n(at, count, 0);
    for (int64_t rest = n, half; rest > 0; rest -= half) {
        half = (rest + 1) / 2;
        for (int64_t j = 0; j < count; ++j) {
            const Key own = key_at(at[j] + half - 1);
            const bool before = right ? own <= wanted[j] : own < wanted[j];
            at[j] += before ? half : 0;
        }
    }
}

constexpr int64_t TOGETHER = 64;  // searches

template <typename T, typename At>
void search_keys(int64_t n, At key_at, int64_t m, const T *values, int64_t by, int64_t *at, int64_t to, bool right) {
#pragma omp parallel for if (m > 8192)
    for (int64_t first = 0; first < m; first += TOGETHER) {
        decltype(sort_key(*values)) wanted[TOGETHER];
        int64_t found[TOGETHER];
        const int64_t count = std::min(TOGETHER, m - first);
        for (int64_t j = 0; j < count; ++j) wanted[j] = sort_key(values[(first + j) * by]);
        count_before(n, key_at, count, wanted, found, right);
        for (int64_t j = 0; j < count; ++j) at[(first + j) * to] = found[j];
    }
}

// at[k]: how many elements of a sorted array come before values[k], or (right) not after it.
template <typename T>
void search_sorted(int64_t n, const T *a, int64_t step, int64_t m, const T *values, int64_t by, int64_t *at, int64_t to, bool right) {
    if (n > m) {  // few are read
        search_keys(n, [=](int64_t k) { return sort_key(a[k * step]); }, m, values, by, at, to, right);
        return;
    }
    std::vector<decltype(sort_key(*a))> keys(n);
    for (int64_t k = 0; k < n; ++k) keys[k] = sort_key(a[k * step]);
    search_keys(n, [own = keys.data()](int64_t k) { return own[k]; }, m, values, by, at, to, right);
}

}  // namespace sdgrad
