"""The irregular programs of FreeTensor's paper (Tang et al., 2022), written from their definitions.

Modules are like those of ``benchmarks/npbench``: indirection, windows and rows of unequal lengths are written as a user
of NumPy writes them, or as a user of JAX or PyTorch has to.
"""

PROGRAMS = ("gat", "longformer", "softras", "subdivnet")
"""The programs, each the name of a module and of the function in it."""
