// Exponentials of matrices and their adjoints (Al-Mohy and Higham 2009, both papers of that year). Matrices are stored row by
// row. What has no result is NaN.
#pragma once

#include <cstring>

#include "sdgrad_matrix_functions.h"

#ifdef LAPACKE_dgees  // of sdgrad_blas.h
namespace sdgrad {

#define SDGRAD_QUOTIENTS(letter, T)                                                                                    \
    inline bool factorize_columns(int n, T *f, int *p) {                                                               \
        return LAPACKE_##letter##getrf_work(LAPACK_COL_MAJOR, n, n, f, n, p) == 0;                                     \
    }                                                                                                                  \
    inline void divide_columns(int n, const T *f, const int *p, T *x, bool adjoint) {                                  \
        LAPACKE_##letter##getrs(LAPACK_COL_MAJOR, adjoint ? 'C' : 'N', n, n, f, n, p, x, n);                           \
    }
SDGRAD_QUOTIENTS(s, float)
SDGRAD_QUOTIENTS(d, double)
SDGRAD_QUOTIENTS(c, std::complex<float>)
SDGRAD_QUOTIENTS(z, std::complex<double>)
#undef SDGRAD_QUOTIENTS

constexpr double OF_DERIVATIVE = 4.74;  // the norm up to which the quotient of degree 13 has its derivative

template <typename T> using Matrix = std::vector<T>;

// By how many more halvings rounding stays below that of the type, from the norm of the power 2m + 1 of |A|.
template <typename T> int more_halvings(int64_t n, const std::vector<T> &a, int m, double scale, double norm) {
    static const double coefficients[] = {0, 0, 0, 1.0 / 1.008e5, 0, 1.0 / 1.00590336e10, 0, 1.0 / 4.487938430976e15, 0,
                                          1.0 / 5.914384781877411e21, 0, 0, 0, 1.0 / 1.132509600021212e35};
    std::vector<double> sums(n, 1), next(n);
    for (int power = 0; power < 2 * m + 1; ++power) {
        std::fill(next.begin(), next.end(), 0);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) next[j] += sums[i] * std::abs(a[i * n + j]) * scale;
        sums.swap(next);
    }
    const double largest = n ? *std::max_element(sums.begin(), sums.end()) : 0;
    if (!(largest > 0) || !(norm > 0)) return 0;
    const double unit = std::ldexp(1.0, -53), alpha = coefficients[m] * largest / (norm * scale);
    return int(std::clamp(std::ceil(std::log2(alpha / unit) / (2 * m)), 0.0, 1100.0));
}

// What an exponential leaves for its adjoint.
template <typename T> struct Exponential {
    int64_t n;
    Matrix<T> a;                         // halved so often that the quotient is exact
    std::vector<Matrix<T>> powers;       // 2, 4, .. of a
    Matrix<T> odd, factors, x;           // x: the quotient of even + a odd and even - a odd, with factors by columns
    std::vector<int> interchanges;       // of the rows of the denominator
    int64_t degree = 0, halvings = 0, shares = 0;  // shares: the derivative needs no more of these

    explicit Exponential(int64_t size) : n(size), x(size * size), interchanges(size) {}

    Matrix<T> product(const Matrix<T> &left, const Matrix<T> &right) const {
        Matrix<T> found(n * n);
        multiply(int(n), int(n), int(n), left.data(), false, right.data(), false, found.data());
        return found;
    }

    // The derivative of the product of two adjoints.
    Matrix<T> slope(const Matrix<T> &left, const Matrix<T> &of_left, const Matrix<T> &right, const Matrix<T> &of_right) const {
        Matrix<T> found(n * n);
        multiply(int(n), int(n), int(n), of_left.data(), false, right.data(), true, found.data());
        multiply(int(n), int(n), int(n), left.data(), true, of_right.data(), false, found.data(), true);
        return found;
    }

    void halve(int64_t times) {
        for (T &value : a) value *= T(std::ldexp(1.0, int(-times)));
        for (size_t k = 0; k < powers.size(); ++k)
            for (T &value : powers[k]) value *= T(std::ldexp(1.0, int(-2 * int64_t(k + 1) * times)));
        halvings += times;
    }

    double root(const Matrix<T> &power, double of) const { return std::pow(norm_of_columns(n, power), 1 / of); }

    double smallest_norm() const {
        double rows = 0;
        for (int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < n; ++j) sum += std::abs(a[i * n + j]);
            rows = std::max(rows, sum);
        }
        return std::min(rows, norm_of_columns(n, a));
    }

    // Powers of a, the degree, and halvings. High powers are computed only where their norms decide.
    void prepare() {
        halve(std::max(0, std::ilogb(norm_of_columns(n, a) + 1) - 10));  // powers stay finite
        const int64_t before = halvings;
        const double norm = norm_of_columns(n, a), smallest = smallest_norm();
        powers.push_back(product(a, a));
        powers.push_back(product(powers[0], powers[0]));
        powers.push_back(product(powers[0], powers[1]));
        const double d4 = root(powers[1], 4), d6 = root(powers[2], 6), low = std::max(d4, d6);
        auto exact = [&](int m) { return more_halvings(n, a, m, 1, norm) == 0; };
        if (low <= 1.495585217958292e-2 && exact(3)) degree = 3;
        else if (low <= 2.539398330063230e-1 && exact(5)) degree = 5;
        else choose_high_degree(d4, d6, d6 <= 9.504178996162932e-1 && exact(7), d6 <= 2.097847961257068 && exact(9));
        if (degree == 13) halve(more_halvings(n, a, 13, std::ldexp(1.0, int(before - halvings)), norm));
        static const double enough[] = {0, 1.08e-2, 2.00e-1, 7.83e-1, 1.78, 0, OF_DERIVATIVE};  // of degrees 3, 5, ..
        shares = std::ldexp(smallest, int(before - halvings)) <= enough[degree / 2];
    }

    // The same for the derivative alone, where it needs more halvings.
    void prepare_for_derivative() {
        degree = 13;
        halve(std::max(0, std::ilogb(smallest_norm() / OF_DERIVATIVE) + 1));
        powers.push_back(product(a, a));
        powers.push_back(product(powers[0], powers[0]));
        powers.push_back(product(powers[0], powers[1]));
    }

    void choose_high_degree(double d4, double d6, bool seven, bool nine) {
        auto d8 = [&] {  // at most d4
            if (powers.size() == 3) powers.push_back(product(powers[1], powers[1]));
            return root(powers[3], 8);
        };
        degree = 13;
        if (seven && (d4 <= 9.504178996162932e-1 || d8() <= 9.504178996162932e-1)) degree = 7;
        else if (nine && d8() <= 2.097847961257068) degree = 9;
        else if (std::max(d4, d6) > 4.25) {
            const double high = std::min(std::max(d6, d8()), std::max(d8(), root(product(powers[1], powers[2]), 10)));
            halve(high > 0 ? std::max(0, int(std::ceil(std::log2(high / 4.25)))) : 0);
        }
    }

    // Coefficients of the numerator: of a^k, the last one 1.
    std::vector<double> coefficients() const {
        std::vector<double> c(degree + 1, 1.0);
        for (int64_t k = degree; k > 0; --k) c[k - 1] = c[k] * double(k) * double(2 * degree + 1 - k) / double(degree + 1 - k);
        return c;
    }

    // The sum of c[first], c[first + 2], .. times some of the powers, or of their derivatives.
    Matrix<T> sum(const std::vector<Matrix<T>> &terms, const std::vector<double> &c, int64_t first, int64_t count) const {
        Matrix<T> found(n * n);
        for (int64_t k = 0; k < count; ++k)
            for (int64_t e = 0; e < n * n; ++e) found[e] += T(c[first + 2 * k]) * terms[k][e];
        return found;
    }

    int64_t low_terms() const { return degree == 13 ? 3 : degree / 2; }

    // The solution of a system with the denominator, or with its adjoint.
    Matrix<T> divided(const Matrix<T> &right, bool adjoint) const {
        Matrix<T> columns(n * n), found(n * n);
        transpose(n, n, right.data(), n, columns.data(), n);
        divide_columns(int(n), factors.data(), interchanges.data(), columns.data(), adjoint);
        transpose(n, n, columns.data(), n, found.data(), n);
        return found;
    }

    // The quotient of polynomials.
    void divide_polynomials() {
        const std::vector<double> c = coefficients();
        Matrix<T> even = sum(powers, c, 2, low_terms());
        odd = sum(powers, c, 3, low_terms());
        if (degree == 13) {
            const Matrix<T> high_odd = sum(powers, c, 9, 3), high_even = sum(powers, c, 8, 3);
            multiply(int(n), int(n), int(n), powers[2].data(), false, high_odd.data(), false, odd.data(), true);
            multiply(int(n), int(n), int(n), powers[2].data(), false, high_even.data(), false, even.data(), true);
        }
        for (int64_t i = 0; i < n; ++i) odd[i * n + i] += T(c[1]), even[i * n + i] += T(c[0]);
        const Matrix<T> u = product(a, odd);
        Matrix<T> above = even;
        for (int64_t e = 0; e < n * n; ++e) above[e] += u[e], even[e] -= u[e];
        factors.resize(n * n);
        transpose(n, n, even.data(), n, factors.data(), n);
        if (!factorize_columns(int(n), factors.data(), interchanges.data())) no_numbers(n, n, factors.data(), n);
        x = divided(above, false);
    }

    // The adjoint of the derivative: the derivative of the same quotient at the adjoint matrix, and of its squares.
    Matrix<T> adjoint(Matrix<T> g) const {
        for (T &value : g) value *= T(std::ldexp(1.0, int(-halvings)));
        const std::vector<double> c = coefficients();
        std::vector<Matrix<T>> slopes;
        slopes.push_back(slope(a, g, a, g));
        slopes.push_back(slope(powers[0], slopes[0], powers[0], slopes[0]));
        if (degree > 5) slopes.push_back(slope(powers[1], slopes[1], powers[0], slopes[0]));
        if (degree == 9) slopes.push_back(slope(powers[1], slopes[1], powers[1], slopes[1]));
        Matrix<T> of_odd = sum(slopes, c, 3, low_terms()), of_even = sum(slopes, c, 2, low_terms());
        if (degree == 13)
            for (Matrix<T> *const to : {&of_odd, &of_even}) {
                const int64_t first = to == &of_odd ? 9 : 8;
                const Matrix<T> more = slope(powers[2], slopes[2], sum(powers, c, first, 3), sum(slopes, c, first, 3));
                for (int64_t e = 0; e < n * n; ++e) (*to)[e] += more[e];
            }
        const Matrix<T> of_u = slope(a, g, odd, of_odd);
        Matrix<T> found(n * n), below(n * n), power = x;
        for (int64_t e = 0; e < n * n; ++e) found[e] = of_even[e] + of_u[e], below[e] = of_u[e] - of_even[e];
        multiply(int(n), int(n), int(n), below.data(), false, x.data(), true, found.data(), true);
        found = divided(found, true);
        for (int64_t k = 0; k < halvings; ++k) {
            found = slope(power, found, power, found);
            if (k + 1 < halvings) power = product(power, power);
        }
        return found;
    }

    // What the adjoint needs, to `kept` and back.
    template <typename Move> void each_part(Move move) {
        int64_t *numbers[] = {&degree, &halvings, &shares};
        for (int64_t *number : numbers) move(number, sizeof(int64_t));
        move(interchanges.data(), n * sizeof(int));
        powers.resize(4, Matrix<T>(n * n));
        odd.resize(n * n), factors.resize(n * n);
        for (Matrix<T> *part : {&powers[0], &powers[1], &powers[2], &powers[3], &odd, &factors, &x})
            move(part->data(), n * n * sizeof(T));
    }
    void keep(int64_t *kept) {
        char *to = reinterpret_cast<char *>(kept);
        each_part([&](const void *part, size_t size) { std::memcpy(to, part, size), to += size; });
    }
    void recall(const int64_t *kept) {
        const char *from = reinterpret_cast<const char *>(kept);
        each_part([&](void *part, size_t size) { std::memcpy(part, from, size), from += size; });
    }
};

// (e^b - e^a) / (b - a), also where both are near.
template <typename T> T slope_of_exp(T a, T b) {
    const T d = (b - a) / T(2);
    if (std::abs(d) > 1) return (std::exp(b) - std::exp(a)) / (b - a);
    return std::exp((a + b) / T(2)) * (std::abs(d) < 1e-4 ? T(1) + d * d / T(6) : std::sinh(d) / d);
}

// The diagonal, and the one beside it, of the exponential of a triangular matrix: exact, where products lose digits.
template <typename T> void exact_diagonals(int64_t n, const std::vector<T> &a, double scale, bool upper, std::vector<T> &x) {
    for (int64_t i = 0; i < n; ++i) {
        const T own = a[i * n + i] * T(scale), next = i + 1 < n ? a[(i + 1) * (n + 1)] * T(scale) : T(0);
        x[i * n + i] = std::exp(own);
        const int64_t beside = upper ? i * n + i + 1 : (i + 1) * n + i;
        if (i + 1 < n) x[beside] = a[beside] * T(scale) * slope_of_exp(own, next);
    }
}

template <typename T> void expm_kept(int64_t n, const T *from, int64_t from_row, T *to, int64_t row, int64_t *kept) {
    Exponential<T> e(n);
    const Matrix<T> whole = e.a = copied(n, n, from, from_row);
    if (!all_finite(n, n, whole.data(), n)) {
        if (kept) e.keep(kept);  // of degree 0
        return no_numbers(n, n, to, row);
    }
    bool upper = true, lower = true;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) upper = upper && whole[i * n + j] == T(0), lower = lower && whole[j * n + i] == T(0);
    e.prepare();
    e.divide_polynomials();
    if (kept) e.keep(kept);
    Matrix<T> x = e.x;
    const bool triangular = (upper || lower) && e.halvings > 0;
    if (triangular) exact_diagonals(n, whole, std::ldexp(1.0, int(-e.halvings)), upper, x);
    for (int64_t k = e.halvings; k > 0; --k) {
        x = e.product(x, x);
        if (triangular) exact_diagonals(n, whole, std::ldexp(1.0, int(1 - k)), upper, x);
    }
    for (int64_t i = 0; i < n; ++i) std::copy_n(x.data() + i * n, n, to + i * row);
}

template <typename T> void expm(int64_t n, const T *a, int64_t a_row, T *x, int64_t row) { expm_kept(n, a, a_row, x, row, nullptr); }

// The adjoint of the derivative in the direction g.
template <typename T>
void expm_adjoint(int64_t n, const T *a, int64_t a_row, const int64_t *kept, const T *g, int64_t g_row, T *x, int64_t row) {
    Exponential<T> e(n);
    e.recall(kept);
    e.a = copied(n, n, a, a_row);
    const Matrix<T> direction = copied(n, n, g, g_row);
    if (e.degree == 0 || !all_finite(n, n, direction.data(), n)) return no_numbers(n, n, x, row);
    if (e.shares) {
        for (T &value : e.a) value *= T(std::ldexp(1.0, int(-e.halvings)));
    } else {
        e.halvings = 0, e.powers.clear();
        e.prepare_for_derivative();
        e.divide_polynomials();
    }
    const Matrix<T> found = e.adjoint(direction);
    for (int64_t i = 0; i < n; ++i) std::copy_n(found.data() + i * n, n, x + i * row);
}

}  // namespace sdgrad
#endif
