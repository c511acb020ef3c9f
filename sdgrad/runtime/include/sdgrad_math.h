// Functions of generated code that neither C++ nor DaCe's runtime has.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifdef __CUDACC__  // kernels call them, too
#include <thrust/complex.h>
#define SDGRAD_FUNCTION __host__ __device__ inline
template <typename T> using sdgrad_complex = thrust::complex<T>;
template <typename T> SDGRAD_FUNCTION T real(const thrust::complex<T> &z) { return z.real(); }
template <typename T> SDGRAD_FUNCTION T imag(const thrust::complex<T> &z) { return z.imag(); }
SDGRAD_FUNCTION float real(float x) { return x; }
SDGRAD_FUNCTION double real(double x) { return x; }
#else
template <typename T> using sdgrad_complex = std::complex<T>;
#define SDGRAD_FUNCTION inline
#endif

#ifndef __CUDACC__  // thrust's numbers have them
// Complex numbers and numbers of other types. The library has no such operators, and DaCe's runtime has a product with
// int, which a real number would become. A real number takes the type of the complex one.
template <typename T, typename S, typename R>
using sdgrad_mixed = std::enable_if_t<std::is_arithmetic_v<S> && !std::is_same_v<S, T>, R>;
#define SDGRAD_MIXED(op, Result) \
    template <typename T, typename S> \
    inline sdgrad_mixed<T, S, Result<T>> operator op(const std::complex<T> &a, const S &b) { return a op T(b); } \
    template <typename T, typename S> \
    inline sdgrad_mixed<T, S, Result<T>> operator op(const S &a, const std::complex<T> &b) { return T(a) op b; } \
    inline Result<double> operator op(const std::complex<float> &a, const std::complex<double> &b) { \
        return std::complex<double>(a) op b; \
    } \
    inline Result<double> operator op(const std::complex<double> &a, const std::complex<float> &b) { \
        return a op std::complex<double>(b); \
    }
template <typename> using sdgrad_truth = bool;
SDGRAD_MIXED(+, std::complex)
SDGRAD_MIXED(-, std::complex)
SDGRAD_MIXED(*, std::complex)
SDGRAD_MIXED(/, std::complex)
SDGRAD_MIXED(==, sdgrad_truth)
SDGRAD_MIXED(!=, sdgrad_truth)
#undef SDGRAD_MIXED
#endif

// Sine and cosine by names of their own: of both for one number GCC would make one call, for which it has no lanes.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
extern "C" {
__attribute__((simd("notinbranch"), const)) double sdgrad_sin_double(double) noexcept __asm__("sin");
__attribute__((simd("notinbranch"), const)) double sdgrad_cos_double(double) noexcept __asm__("cos");
__attribute__((simd("notinbranch"), const)) float sdgrad_sin_single(float) noexcept __asm__("sinf");
__attribute__((simd("notinbranch"), const)) float sdgrad_cos_single(float) noexcept __asm__("cosf");
}
inline double sdgrad_sin(double x) { return sdgrad_sin_double(x); }
inline double sdgrad_cos(double x) { return sdgrad_cos_double(x); }
inline float sdgrad_sin(float x) { return sdgrad_sin_single(x); }
inline float sdgrad_cos(float x) { return sdgrad_cos_single(x); }
#endif
template <typename T> SDGRAD_FUNCTION auto sdgrad_sin(T x) { return std::sin(x); }
template <typename T> SDGRAD_FUNCTION auto sdgrad_cos(T x) { return std::cos(x); }

#include "sdgrad_elementary.h"

// The digamma function near its zero between 1 and 2, where other formulas lose digits: the Taylor series there.
SDGRAD_FUNCTION double sdgrad_digamma_at_zero(double x) {
    static const double series[] = {
        0.96767224544762117, -0.44276316898359211, 0.25849976095565101, -0.16394270544240653, 0.10782405069126237,
        -0.072199561256454711, 0.048804288164143107, -0.033161126474847359, 0.022597648232218105,
        -0.015424765904948959, 0.010538791616612175, -0.0072045343863568682, 0.0049267813957298534,
        -0.0033698016554393281, 0.0023051263267349278, -0.0015769367714301973, 0.0010788252019162966,
        -0.00073807093899600513, 0.00050495326583460204, -0.0003454680251063077};
    const double d = (x - 1.4616321449683622) - 9.5499954299656977e-17;
    double sum = 0;
    for (int k = 19; k >= 0; --k) sum = sum * d + series[k];
    return sum * d;
}
// The same near the zero between -1 and 0.
SDGRAD_FUNCTION double sdgrad_digamma_at_negative_zero(double x) {
    static const double series[] = {
        8.939798558792134, -0.8093454625306507, 32.258572064915505, -2.761011648790828, 128.27342343090902,
        -14.70672173553036, 513.2704629562862, -75.37700066344631, 2055.5357119463315, -368.5783503832191,
        8234.667099203069, -1743.364608867363, 32997.785655255044, -8051.818155363498, 132262.95480834588,
        -36529.94596948565, 530280.3912420176, -163451.79342700253, 2126602.3725968753, -723318.8861804305,
        8530604.878543982, -3172131.3155744765, 34228316.69580112, -13807481.997263888, 137373435.87411496,
        -59721085.411294304};
    const double d = (x - (-0.5040830082644554)) - (-8.15428206243813e-18);
    double sum = 0;
    for (int k = 25; k >= 0; --k) sum = sum * d + series[k];
    return sum * d;
}

// The n-th derivative of pi cot(pi x).
SDGRAD_FUNCTION double sdgrad_cotangent_derivative(int n, double x) {
    const double pi = 3.14159265358979323846;
    double power[34] = {0, 1};  // a polynomial in the cotangent
    for (int order = 1; order <= n; ++order) {  // c' = -pi (1 + c^2)
        double before = 0;
        for (int k = 0; k <= order + 1; ++k) {
            const double now = power[k];
            power[k] = -pi * ((k + 1) * power[k + 1] + before);
            before = k * now;
        }
    }
    const double c = 1 / std::tan(pi * (x - std::rint(x)));
    double sum = 0;
    for (int k = n + 1; k >= 0; --k) sum = sum * c + power[k];
    return pi * sum;
}

// The n-th derivative of the digamma function: by reflection for x < 0; else by recurrence up to x >= 12 + n, and the
// asymptotic series (DLMF 5.11.2, 5.15.6, 5.15.8, 5.5.2, 5.5.4).
SDGRAD_FUNCTION double sdgrad_polygamma_double(int n, double x) {
    static const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6,
                                       -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
    if (x <= 0) {
        if (n > 30) return NAN;
        if (x == std::floor(x)) return n > 0 ? (n % 2 ? INFINITY : -INFINITY) : x == 0 ? -std::copysign(INFINITY, x) : NAN;
        if (n == 0 && x > -0.61 && x < -0.4) return sdgrad_digamma_at_negative_zero(x);
        return (n % 2 ? -1 : 1) * sdgrad_polygamma_double(n, 1 - x) - sdgrad_cotangent_derivative(n, x);
    }
    if (n == 0 && x > 1.26 && x < 1.66) return sdgrad_digamma_at_zero(x);
    double sum = 0;
    if (n == 0) {
        for (; x < 12; x += 1) sum -= 1 / x;
        const double inverse = 1 / (x * x);
        double series = 0;
        for (int k = 10; k >= 1; --k) series = inverse * (series + bernoulli[k - 1] / (2 * k));
        return sum + (std::log(x) - 0.5 / x - series);
    }
    const double factorial = std::tgamma(n + 1.0), sign = n % 2 ? 1 : -1;
    for (; x < 12 + n; x += 1) sum += sign * factorial / std::pow(x, n + 1);
    double result = std::tgamma(double(n)) / std::pow(x, n) + factorial / (2 * std::pow(x, n + 1));
    for (int k = 1; k <= 10; ++k)
        result += bernoulli[k - 1] * std::tgamma(2.0 * k + n) / (std::tgamma(2.0 * k + 1) * std::pow(x, 2 * k + n));
    return sum + sign * result;
}

template <typename T> SDGRAD_FUNCTION T sdgrad_polygamma(int n, T x) { return T(sdgrad_polygamma_double(n, double(x))); }

// The logistic function and its derivative. Neither overflows, neither is a small difference of large numbers, and
// both take the same exponential, which the compiler sees.
template <typename T> SDGRAD_FUNCTION auto sdgrad_sigmoid(T x) {
    if constexpr (std::is_integral_v<T>) return sdgrad_sigmoid(double(x));
    else {
        const T e = std::exp(-std::fabs(x)), r = T(1) / (T(1) + e);
        return x < T(0) ? e * r : r;
    }
}
template <typename T> SDGRAD_FUNCTION auto sdgrad_sigmoid_slope(T x) {
    if constexpr (std::is_integral_v<T>) return sdgrad_sigmoid_slope(double(x));
    else {
        const T e = std::exp(-std::fabs(x)), r = T(1) / (T(1) + e);
        return e * r * r;
    }
}

// The absolute value of a complex number, without overflow on the way, a division or a branch: both parts are scaled by
// a power of two near the larger one. The exponent's limits leave its inverse a normal number, and room for two squares.
template <typename R, typename I> SDGRAD_FUNCTION auto sdgrad_modulus(R re, I im) {
    using T = std::common_type_t<R, I>;
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    constexpr Bits unit = Bits(1) << (Limits::digits - 1), both = 2 * Bits(Limits::max_exponent - 1);
    const T a = std::fabs(re), b = std::fabs(im), most = a > b ? a : b;
    Bits bits, inverse;
    __builtin_memcpy(&bits, &most, sizeof bits);
    bits &= ~(unit - 1);
    bits = bits < unit ? unit : bits > (both - 1) * unit ? (both - 1) * unit : bits;
    inverse = both * unit - bits;
    T power, scale;
    __builtin_memcpy(&power, &bits, sizeof bits), __builtin_memcpy(&scale, &inverse, sizeof bits);
    const T x = a * scale, y = b * scale, found = power * std::sqrt(x * x + y * y);
    return (a > Limits::max()) | (b > Limits::max()) ? Limits::infinity() : found;
}

template <typename T> SDGRAD_FUNCTION bool sdgrad_is_finite(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x) <= std::numeric_limits<T>::max();
    else return std::fabs(double(x)) <= std::numeric_limits<double>::max();
}
template <typename T> SDGRAD_FUNCTION bool sdgrad_is_finite(sdgrad_complex<T> z) {
    return sdgrad_is_finite(z.real()) && sdgrad_is_finite(z.imag());
}
template <typename T> SDGRAD_FUNCTION bool sdgrad_is_no_infinity(T x) {
    if constexpr (std::is_floating_point_v<T>) return !(std::fabs(x) > std::numeric_limits<T>::max());
    else return !(std::fabs(double(x)) > std::numeric_limits<double>::max());
}
template <typename T> SDGRAD_FUNCTION bool sdgrad_is_no_infinity(sdgrad_complex<T> z) {
    return sdgrad_is_no_infinity(z.real()) && sdgrad_is_no_infinity(z.imag());
}
template <typename T> SDGRAD_FUNCTION double sdgrad_finite(T x) { return sdgrad_is_finite(x) ? 1.0 : 0.0; }

// acos(x) / sqrt(1 - x^2): 1 at 1, by its series near it.
template <typename T> SDGRAD_FUNCTION T sdgrad_acos_ratio(T x) {
    const T d = T(1) - x;
    if (d < T(1e-4)) return T(1) + d / T(3) + d * d * T(2) / T(15);
    return std::acos(x) / std::sqrt(d * (T(1) + x));
}

// A product with g: nothing where g is exactly zero and the other factor is infinite.
template <typename T, typename G> SDGRAD_FUNCTION T sdgrad_strong(T value, G g) {
    return g != G(0) || sdgrad_is_finite(value) ? value : T(0);
}

// A value through which no derivative passes.
template <typename T> SDGRAD_FUNCTION T sdgrad_detached(T x) { return x; }

// A value that has no derivative unless the other one is positive.
template <typename T, typename C> SDGRAD_FUNCTION T sdgrad_smooth_if(T x, C) { return x; }

// A quotient without its fraction, towards zero.
template <typename T> SDGRAD_FUNCTION T sdgrad_quotient(T a, T b) {
    if constexpr (std::is_integral_v<T>) return b == T(-1) ? T(T(0) - a) : T(a / b);
    else return std::trunc(a / b);
}

template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_quotient(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_quotient(T(a), T(b));
}

// Operators of bits: Python's precedence of them is not C++'s.
template <typename A, typename B> SDGRAD_FUNCTION std::common_type_t<A, B> sdgrad_bit_and(A a, B b) { return a & b; }
template <typename A, typename B> SDGRAD_FUNCTION std::common_type_t<A, B> sdgrad_bit_or(A a, B b) { return a | b; }
template <typename A, typename B> SDGRAD_FUNCTION std::common_type_t<A, B> sdgrad_bit_xor(A a, B b) { return a ^ b; }
template <typename T> SDGRAD_FUNCTION T sdgrad_bit_not(T a) { return T(-a - T(1)); }  // in two's complement

// Shifts by as many bits as there are, or more, leave nothing (of negative numbers to the right: the sign).
template <typename A, typename N> SDGRAD_FUNCTION std::common_type_t<A, N> sdgrad_shift_left(A a, N n) {
    using T = std::common_type_t<A, N>;
    return std::uint64_t(n) >= 8 * sizeof(T) ? T(0) : T(std::make_unsigned_t<T>(a) << n);
}
template <typename T, typename N> SDGRAD_FUNCTION T sdgrad_shift_right(T a, N n) {
    return std::uint64_t(n) >= 8 * sizeof(T) ? (a < T(0) ? T(-1) : T(0)) : T(a >> n);
}

// A power of integers, which wraps around as their products do; of negative exponents what is whole of it.
template <typename A, typename N> SDGRAD_FUNCTION std::common_type_t<A, N> sdgrad_integer_power(A a, N n) {
    using T = std::common_type_t<A, N>;
    if (n < N(0)) return a == A(1) ? T(1) : a == A(-1) ? (n % 2 ? T(-1) : T(1)) : T(0);
    std::uint64_t result = 1, power = std::uint64_t(a);
    for (std::uint64_t left = std::uint64_t(n); left; left >>= 1, power *= power)
        if (left & 1) result *= power;
    return T(result);
}

// The remainder with the sign of the divisor, as Python's and NumPy's %, infinite divisors included.
template <typename T> SDGRAD_FUNCTION T sdgrad_mod(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == T(0)) return T(0);  // NumPy's, with a warning
        T r = b == T(-1) ? T(0) : T(a % b);
        return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
    } else {
        T r = std::fmod(a, b);
        return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
    }
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_mod(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_mod(T(a), T(b));
}

// The quotient rounded down, as Python's and NumPy's //: of the exact quotient, which a / b may exceed (1.0 // 0.1 is 9).
template <typename T> SDGRAD_FUNCTION T sdgrad_floor_divide(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == T(0)) return T(0);  // NumPy's, with a warning
        if (b == T(-1)) return T(T(0) - a);
        return T(T(a / b) - (a % b != T(0) && (a < T(0)) != (b < T(0))));
    } else if constexpr (!std::is_floating_point_v<T>) return T(sdgrad_floor_divide(float(a), float(b)));  // half precision
    else {
        if (b == T(0)) return a / b;
        T rest = std::fmod(a, b);
        T quotient = (a - rest) / b;
        if (rest != T(0) && (rest < T(0)) != (b < T(0))) quotient -= T(1);
        T down = std::floor(quotient);
        return quotient - down > T(0.5) ? down + T(1) : down;
    }
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_floor_divide(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_floor_divide(T(a), T(b));
}

// Extremes and the sign as NumPy has them: what is not a number stays so. Two comparisons, of which only one waits for
// the first operand, so that a loop over the second is as fast as one that loses such numbers.
template <typename T> SDGRAD_FUNCTION T sdgrad_maximum(T a, T b) {
    const T most = b > a ? b : a;
    return b != b ? b : most;
}
template <typename T> SDGRAD_FUNCTION T sdgrad_minimum(T a, T b) {
    const T least = b < a ? b : a;
    return b != b ? b : least;
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_maximum(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_maximum(T(a), T(b));
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_minimum(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_minimum(T(a), T(b));
}
// As DaCe's max and min on the host: the second operand, unless the comparison holds. CUDA's drop what is not a number.
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_larger(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(a) > T(b) ? T(a) : T(b);
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_smaller(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(a) < T(b) ? T(a) : T(b);
}
template <typename T> SDGRAD_FUNCTION void sdgrad_maximum_into(T *into, T x) { *into = sdgrad_maximum(*into, x); }
template <typename T> SDGRAD_FUNCTION void sdgrad_minimum_into(T *into, T x) { *into = sdgrad_minimum(*into, x); }
#if defined(_OPENMP) && !defined(__CUDACC__)
#pragma omp declare reduction(sdgrad_maximum : float, double : omp_out = sdgrad_maximum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
#pragma omp declare reduction(sdgrad_minimum : float, double : omp_out = sdgrad_minimum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
#endif
template <typename T> SDGRAD_FUNCTION T sdgrad_sign(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == x ? T(0) : x;
}

// The remainder with the sign of the dividend.
template <typename T> SDGRAD_FUNCTION T sdgrad_truncated_mod(T a, T b) {
    if constexpr (std::is_integral_v<T>) return b == T(0) || b == T(-1) ? T(0) : T(a % b);
    else return std::fmod(a, b);
}
template <typename A, typename B> SDGRAD_FUNCTION auto sdgrad_truncated_mod(A a, B b) {
    using T = std::common_type_t<A, B>;
    return sdgrad_truncated_mod(T(a), T(b));
}

template <typename T> SDGRAD_FUNCTION T sdgrad_modulus(const sdgrad_complex<T> &z) {
    return sdgrad_modulus(z.real(), z.imag());
}
SDGRAD_FUNCTION double abs(const sdgrad_complex<double> &z) { return sdgrad_modulus(z); }
SDGRAD_FUNCTION float abs(const sdgrad_complex<float> &z) { return sdgrad_modulus(z); }
