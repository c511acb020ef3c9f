// Products of sparse matrices with dense ones. A pattern is compressed (places `at` of row r: from[r] to from[r + 1]), or
// a list of rows and columns. Dense operands have a step between rows (`xr`) and between columns (`xc`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace sdgrad {

constexpr int64_t SPARSE_WORK = 1 << 15;  // products from which on threads pay

inline int sparse_threads(int64_t work, int64_t size) {
#ifdef _OPENMP
    if (work >= SPARSE_WORK && work >= 2 * size && !omp_in_parallel()) return omp_get_max_threads();
#endif
    return 1;
}

// y = A x, a row at a time.
template <typename T, typename P, typename I>
void sparse_gather(int64_t rows, int64_t columns, const T *data, const P *from, const I *at, const T *x, int64_t xr, int64_t xc,
                   T *y, int64_t yr, int64_t yc) {
#pragma omp parallel for if (int64_t(from[rows]) * columns >= SPARSE_WORK)
    for (int64_t r = 0; r < rows; ++r) {
        if (columns == 1) {
            T sum(0);
            for (int64_t k = from[r]; k < int64_t(from[r + 1]); ++k) sum += data[k] * x[int64_t(at[k]) * xr];
            y[r * yr] = sum;
            continue;
        }
        T *const to = y + r * yr;
        for (int64_t c = 0; c < columns; ++c) to[c * yc] = T(0);
        for (int64_t k = from[r]; k < int64_t(from[r + 1]); ++k) {
            const T factor = data[k];
            const T *const own = x + int64_t(at[k]) * xr;
            for (int64_t c = 0; c < columns; ++c) to[c * yc] += factor * own[c * xc];
        }
    }
}

// Let each of several threads add to results of its own, and add these up in their order: the result depends on the
// number of threads alone.
template <typename T, typename Add>
void sparse_added(int64_t parts, int64_t work, int64_t rows, int64_t columns, T *y, int64_t yr, int64_t yc, Add add) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) y[r * yr + c * yc] = T(0);
    const int threads = sparse_threads(work, rows * columns);
    if (threads == 1) {
        add(0, parts, y, yr, yc);
        return;
    }
    std::vector<std::vector<T>> own(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
        own[t].assign(rows * columns, T(0));
        add(parts * t / threads, parts * (t + 1) / threads, own[t].data(), columns, 1);
    }
#pragma omp parallel for num_threads(threads)
    for (int64_t r = 0; r < rows; ++r)
        for (int t = 0; t < threads; ++t)
            for (int64_t c = 0; c < columns; ++c) y[r * yr + c * yc] += own[t][r * columns + c];
}

// y = A^T x, where the rows of A are compressed.
template <typename T, typename P, typename I>
void sparse_spread(int64_t rows, int64_t size, int64_t columns, const T *data, const P *from, const I *at, const T *x, int64_t xr,
                   int64_t xc, T *y, int64_t yr, int64_t yc) {
    sparse_added(rows, int64_t(from[rows]) * columns, size, columns, y, yr, yc,
                 [=](int64_t begin, int64_t end, T *to, int64_t tr, int64_t tc) {
                     for (int64_t r = begin; r < end; ++r) {
                         const T *const own = x + r * xr;
                         for (int64_t k = from[r]; k < int64_t(from[r + 1]); ++k)
                             for (int64_t c = 0; c < columns; ++c) to[int64_t(at[k]) * tr + c * tc] += data[k] * own[c * xc];
                     }
                 });
}

// d[k] = sum of g[row, :] x[column, :] for each place of the pattern.
template <typename T, typename P, typename I>
void sparse_sampled(int64_t rows, int64_t columns, const P *from, const I *at, const T *g, int64_t gr, int64_t gc, const T *x,
                    int64_t xr, int64_t xc, T *d) {
#pragma omp parallel for if (int64_t(from[rows]) * columns >= SPARSE_WORK)
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = from[r]; k < int64_t(from[r + 1]); ++k) {
            T sum(0);
            for (int64_t c = 0; c < columns; ++c) sum += g[r * gr + c * gc] * x[int64_t(at[k]) * xr + c * xc];
            d[k] = sum;
        }
}

// y = A x for places in a list.
template <typename T, typename I>
void sparse_listed(int64_t count, int64_t rows, int64_t columns, const T *data, const I *row, const I *column, const T *x, int64_t xr,
                   int64_t xc, T *y, int64_t yr, int64_t yc) {
    sparse_added(count, count * columns, rows, columns, y, yr, yc, [=](int64_t begin, int64_t end, T *to, int64_t tr, int64_t tc) {
        for (int64_t k = begin; k < end; ++k)
            for (int64_t c = 0; c < columns; ++c) to[int64_t(row[k]) * tr + c * tc] += data[k] * x[int64_t(column[k]) * xr + c * xc];
    });
}

template <typename T, typename I>
void sparse_sampled_listed(int64_t count, int64_t columns, const I *row, const I *column, const T *g, int64_t gr, int64_t gc,
                           const T *x, int64_t xr, int64_t xc, T *d) {
#pragma omp parallel for if (count * columns >= SPARSE_WORK)
    for (int64_t k = 0; k < count; ++k) {
        T sum(0);
        for (int64_t c = 0; c < columns; ++c) sum += g[int64_t(row[k]) * gr + c * gc] * x[int64_t(column[k]) * xr + c * xc];
        d[k] = sum;
    }
}

// Find 1 if two elements are at one place, else 0: of compressed rows.
template <typename P, typename I> void sparse_repeats(int64_t rows, const P *from, const I *at, int64_t *found) {
    *found = 0;
    std::vector<int64_t> seen;  // for each column, the last row that has it, counted from 1
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = from[r]; k < int64_t(from[r + 1]); ++k) {
            if (int64_t(at[k]) >= int64_t(seen.size())) seen.resize(at[k] + 1);
            if (seen[at[k]] == r + 1) *found = 1;
            seen[at[k]] = r + 1;
        }
}

// The same of a list of rows and columns.
template <typename I, typename J>
void sparse_repeats_listed(int64_t count, const I *row, const J *column, int64_t *found) {
    std::vector<int64_t> from(1), at(count);
    for (int64_t k = 0; k < count; ++k) {
        if (int64_t(row[k]) + 1 >= int64_t(from.size())) from.resize(row[k] + 2);
        ++from[row[k] + 1];
    }
    for (std::size_t r = 1; r < from.size(); ++r) from[r] += from[r - 1];
    std::vector<int64_t> next(from);
    for (int64_t k = 0; k < count; ++k) at[next[row[k]]++] = column[k];
    sparse_repeats(int64_t(from.size()) - 1, from.data(), at.data(), found);
}

}  // namespace sdgrad
