// Bytes that a convolution by oneDNN takes while it runs, for plans of memory: oneDNN chooses layouts by the processor.
#include "sdgrad_convolution.h"

namespace {

template <int RANK>
int64_t bytes_of(int kind, const int64_t *extents) {
    sdgrad::dnn::Extents<RANK> own;
    std::copy_n(extents, own.size(), own.begin());
    return int64_t(sdgrad::dnn::Plan<RANK>(sdgrad::dnn::Kind(kind), own).bytes);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int64_t sdgrad_convolution_bytes(int kind, int rank,
                                                                                   const int64_t *extents) {
    return rank == 1 ? bytes_of<1>(kind, extents) : rank == 2 ? bytes_of<2>(kind, extents) : bytes_of<3>(kind, extents);
}
