"""Define library nodes and expand them to calls of BLAS, LAPACK, cuBLAS and oneDNN."""
