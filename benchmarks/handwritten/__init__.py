"""Value and gradient of four kernels, written in C by hand."""
