"""Rosenbrock's function, minimised by SciPy with gradients and Hessian-vector products from sdgrad."""

import numpy as np
from scipy.optimize import minimize

import sdgrad


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


start = np.full(20, -1.2)
value_and_gradient = sdgrad.value_and_grad(rosenbrock)


def hessp(x, v):
    return sdgrad.hvp(rosenbrock, (x,), (v,))


quasi_newton = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000})
newton = minimize(value_and_gradient, start, jac=True, hessp=hessp, method="Newton-CG", options={"xtol": 1e-10})
print(f"L-BFGS-B: {quasi_newton.fun:.1e} after {quasi_newton.nit} steps")
print(f"Newton-CG: {newton.fun:.1e} after {newton.nit} steps")
assert newton.success and newton.fun < 1e-12
