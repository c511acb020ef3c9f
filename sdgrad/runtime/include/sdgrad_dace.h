// DaCe's header as generated code includes it. It is precompiled in place of <dace/dace.h>.
#pragma once

#ifdef SDGRAD_NO_SPECIAL_FUNCTIONS
// libstdc++ instantiates the special functions of C++17 (Bessel, zeta, ...) in every file that includes <cmath>,
// used or not: a third of what a small program takes to compile. Any header sets the macro that asks for them.
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif

#include "sdgrad_memory.h"
#include "sdgrad_stream.h"

#include <dace/dace.h>

#if defined(SDGRAD_WITH_BLAS) && __has_include(<cblas.h>)
#include "sdgrad_blas.h"  // its declarations take longer to read than most programs to compile
#endif

// DaCe's expansions of library nodes write sizes as SymPy prints them.
template <typename T1, typename T2>
static DACE_CONSTEXPR DACE_HDFI auto Mod(const T1 &numerator, const T2 &denominator) {
    return py_mod(numerator, denominator);
}
