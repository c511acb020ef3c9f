// Discrete Fourier transforms along one axis of arrays. The functions are in native/fourier_transform.cpp.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

namespace sdgrad {
namespace fft {

// Which transform: of what shape, along which axis, with which factor.
// The sign of the exponent is negative, or positive with `back`. Results are multiplied by `factor`.
// Between real and complex numbers, `half` means that of a spectrum only the n/2 + 1 first values exist, and those
// without a mirror image (at 0, and at n/2 for even n) count once, the others `inner` times.
struct Transform {
    int rank;
    int axis;
    bool back;
    bool half;
    double inner;
    double factor;
    const int64_t *shape;  // with n values along the axis, half a spectrum or not
    const int64_t *from;   // strides in elements
    const int64_t *to;
};

void transform(const Transform &, const std::complex<double> *, std::complex<double> *);
void transform(const Transform &, const std::complex<float> *, std::complex<float> *);
void transform(const Transform &, const double *, std::complex<double> *);
void transform(const Transform &, const float *, std::complex<float> *);
void transform(const Transform &, const std::complex<double> *, double *);  // the real part
void transform(const Transform &, const std::complex<float> *, float *);

}  // namespace fft
}  // namespace sdgrad
