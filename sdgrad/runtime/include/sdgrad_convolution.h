// Convolutions in single precision by oneDNN, compiled once on a machine (native/convolution.cpp).
#pragma once

#include <cstdint>

extern "C" {
// Compute one of the three operands from the other two: kind 0 the result, 1 the image, 2 the weights.
//
// Extents: batch, groups, channels of a group, results of a group, then for each spatial axis
// image, kernel, result, stride, dilation, padding before and after.
void sdgrad_convolution(int kind, int rank, const int64_t *extents, const float *image, const float *weights,
                        const float *result);
// How many bytes that takes while it runs, for plans of memory: oneDNN chooses layouts by the processor.
int64_t sdgrad_convolution_bytes(int kind, int rank, const int64_t *extents);
}
