// The memory of programs, for all programs of the process together.
#pragma GCC visibility push(default)
#define SDGRAD_OBJECT
#include "sdgrad_memory.h"
