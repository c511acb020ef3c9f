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
