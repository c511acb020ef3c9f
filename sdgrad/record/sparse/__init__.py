"""Sparse matrices of SciPy in recorded functions."""
