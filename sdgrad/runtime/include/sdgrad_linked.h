// Functions that are compiled once on a machine, and not in each program: programs are linked with their object
// (runtime/native), and see declarations. Files that are compiled with DaCe's own headers have them inline.
#pragma once

#if defined(SDGRAD_PROGRAM)
#define SDGRAD_LINKED
#define SDGRAD_BODY(...) ;
#else
#if defined(SDGRAD_OBJECT)
#define SDGRAD_LINKED __attribute__((used, noinline)) inline
#else
#define SDGRAD_LINKED __attribute__((noinline)) inline
#endif
#define SDGRAD_BODY(...) __VA_ARGS__
#endif
