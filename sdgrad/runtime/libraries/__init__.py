"""Library nodes and their expansions: BLAS, LAPACK, cuBLAS, oneDNN."""
