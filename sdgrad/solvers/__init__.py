"""Solve equations and minimise inside of programs: solutions have derivatives, the iterations need none."""

import importlib
from typing import TYPE_CHECKING, Any

from sdgrad.record.functions import on_demand

if TYPE_CHECKING:
    from sdgrad.solvers.ivp import Solution, solve_ivp
    from sdgrad.solvers.linear import linear_solve
    from sdgrad.solvers.minimum import minimize
    from sdgrad.solvers.roots import fixed_point, root

on_demand.offer(
    "scipy.optimize",
    *("sdgrad.solvers.scipy_roots", "sdgrad.solvers.scipy_minima", "sdgrad.solvers.scipy_fits"),
    "sdgrad.solvers.scipy_assignments",
)
on_demand.offer("scipy.integrate", "sdgrad.solvers.scipy_integrals", "sdgrad.solvers.scipy_ivp")
on_demand.offer("scipy.sparse.linalg", "sdgrad.solvers.exponential_action")

MODULES = {
    **dict.fromkeys(("Solution", "solve_ivp"), "ivp"),
    **dict.fromkeys(("fixed_point", "root"), "roots"),
    "linear_solve": "linear",
    "minimize": "minimum",
}
"""Where names are: solvers import parts of SciPy, which takes a while, and are imported when they are asked for."""


def _found(name: str) -> Any:
    """Import a solver."""
    if name in MODULES:
        return getattr(importlib.import_module(f"sdgrad.solvers.{MODULES[name]}"), name)
    raise AttributeError(f"module 'sdgrad.solvers' has no attribute '{name}'")


if not TYPE_CHECKING:
    __getattr__ = _found


__all__ = ["Solution", "fixed_point", "linear_solve", "minimize", "root", "solve_ivp"]
