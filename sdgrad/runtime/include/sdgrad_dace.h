// DaCe's header as generated code includes it. It is precompiled in place of <dace/dace.h>.
#pragma once

#ifdef SDGRAD_NO_SPECIAL_FUNCTIONS
// libstdc++ instantiates the special functions of C++17 (Bessel, zeta, ...) in every file that includes <cmath>,
// used or not: a third of what a small program takes to compile. Any header sets the macro that asks for them.
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iosfwd>
#include <new>
#include <numeric>
#include <tuple>
#include <type_traits>

// <complex> reads and writes numbers as text. Nothing here does, and what that needs (strings, streams) is instantiated
// in every file: more than half of what a small program takes to compile. Files that want it include it themselves.
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_SSTREAM)
namespace std
{
    struct sdgrad_no_stream
    {
        static constexpr struct Failed
        {
            template <typename State>
            constexpr operator State() const
            {
                return State(4);
            }
        } failbit{};
    };
}  // namespace std
#define _GLIBCXX_SSTREAM
#define ios_base sdgrad_no_stream
#include <complex>
#undef ios_base
#undef _GLIBCXX_SSTREAM
#endif

#define SDGRAD_PROGRAM  // linked with the objects of sdgrad_linked.h
#include "sdgrad_memory.h"
#include "sdgrad_stream.h"

// What <dace/dace.h> includes, in its order, but for <dace/os.h>: functions for environment variables, with strings.
#define __DACE_RUNTIME_H
#include <dace/types.h>
#include <dace/vector.h>
#include <dace/intset.h>
#include <dace/math.h>
#include <dace/complex.h>
#include <dace/pyinterop.h>
#include <dace/reduction.h>
#include <dace/copy.h>
#include <dace/stream.h>
#include <dace/perf/reporting.h>
#include <dace/comm.h>
#include <dace/serialization.h>
#include <dace/cudainterop.h>

#if defined(SDGRAD_WITH_BLAS) && __has_include(<cblas.h>)
#include "sdgrad_blas.h"  // its declarations take longer to read than most programs to compile
#endif

// DaCe's expansions of library nodes write sizes as SymPy prints them.
template <typename T1, typename T2>
static DACE_CONSTEXPR DACE_HDFI auto Mod(const T1 &numerator, const T2 &denominator) {
    return py_mod(numerator, denominator);
}
