"""The eleven programs of GradBench, written from their definitions: ``python -m benchmarks.gradbench --help``.

GradBench (https://github.com/gradbench/gradbench) contains those of ADBench (Srajer, Kukelova & Fitzgibbon 2018). Each
module is one program in plain NumPy: the objective, inputs of the suite's sizes, and what is differentiated.
:mod:`benchmarks.gradbench.by_jax` and its kin say what other libraries need written in another way.
"""

MODULES = ("ba", "det", "gmm", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle")
