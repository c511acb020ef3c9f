// In place of CUB's headers, for kernels that do not use it: they are half of what nvcc reads. DaCe's headers include them
// for a barrier of persistent kernels, and need these names.
#pragma once

#include <cstdlib>

#define CUB_NS_PREFIX
#define CUB_NS_POSTFIX
#define CubDebug(error) (error)

namespace cub
{
    enum CacheLoadModifier
    {
        LOAD_CG
    };

    template <CacheLoadModifier, typename T>
    __device__ T ThreadLoad(T *at);
}  // namespace cub
