"""Solve equations and minimise inside of programs: solutions have derivatives, the iterations need none."""

from sdgrad.solvers.ivp import Solution, solve_ivp
from sdgrad.solvers.linear import linear_solve
from sdgrad.solvers.minimum import minimize
from sdgrad.solvers.root import fixed_point, root

__all__ = ["Solution", "fixed_point", "linear_solve", "minimize", "root", "solve_ivp"]
