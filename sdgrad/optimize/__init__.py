"""Optimisation of a program tree after differentiation."""

from sdgrad.optimize.passes import optimize

__all__ = ["optimize"]
