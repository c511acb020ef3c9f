"""Iterative methods, written as a user writes programs: they are recorded where a program calls a solver."""
