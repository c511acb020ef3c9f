"""Map programs to the kernels of a GPU."""
