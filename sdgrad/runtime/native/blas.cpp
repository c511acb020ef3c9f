// What surrounds calls of BLAS: products on the threads of OpenMP, triangular systems by halves.
#define SDGRAD_OBJECT
#include "sdgrad_blas.h"
