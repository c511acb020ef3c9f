"""Solve equations and minimise inside of programs: solutions have derivatives, the iterations need none."""

from sdgrad.record.functions import on_demand
from sdgrad.solvers.ivp import Solution, solve_ivp
from sdgrad.solvers.linear import linear_solve
from sdgrad.solvers.minimum import minimize
from sdgrad.solvers.root import fixed_point, root

on_demand.offer(
    "scipy.optimize",
    *("sdgrad.solvers.scipy_roots", "sdgrad.solvers.scipy_minima", "sdgrad.solvers.scipy_fits"),
    "sdgrad.solvers.scipy_assignments",
)
on_demand.offer("scipy.integrate", "sdgrad.solvers.scipy_integrals", "sdgrad.solvers.scipy_ivp")
on_demand.offer("scipy.sparse.linalg", "sdgrad.solvers.exponential_action")

__all__ = ["Solution", "fixed_point", "linear_solve", "minimize", "root", "solve_ivp"]
