"""Heat in a rod whose conductivity is found from a measurement, on as many ranks as there are.

``mpiexec -n 2 python -m mpi4py examples/mpi_heat.py``: each rank has a piece of the rod, and sends its ends to both
neighbours in each step. The gradient passes through these messages. Without ``mpiexec`` one rank has the whole rod.
"""

import numpy as np
from mpi4py import MPI
from scipy.optimize import minimize

import sdgrad

comm = MPI.COMM_WORLD
CELLS, STEPS, NOISE = 96, 60, 1e-4
rod = comm.Create_cart([comm.size], periods=[False])
below, above = rod.Shift(0, 1)  # a rank at an end of the rod has nobody there


def simulate(heat, conductivity):
    """The heat in this rank's piece after all steps: the ends of the rod are insulated."""
    u, k = np.empty(heat.size + 2), np.empty(heat.size + 2)
    u[1:-1], k[1:-1] = heat, conductivity
    fill(k)
    for _ in range(STEPS):
        fill(u)
        flux = 0.5 * (k[1:] + k[:-1]) * (u[1:] - u[:-1])
        u[1:-1] = u[1:-1] + flux[1:] - flux[:-1]
    return u[1:-1]


def fill(u):
    """The first and the last element are the neighbours' cells, or this rank's own at an end of the rod."""
    u[0], u[-1] = u[1], u[-2]
    rod.Sendrecv(u[-2:-1], dest=above, recvbuf=u[:1], source=below)
    rod.Sendrecv(u[1:2], dest=below, recvbuf=u[-1:], source=above)


def conductivity(parameters):
    """A conductivity that is smooth over the whole rod, in this rank's piece."""
    return 0.3 + shapes @ parameters


def misfit(parameters, heat, measured):
    """This rank's part of the misfit. A loss is the sum of what all ranks return."""
    return np.sum((simulate(heat, conductivity(parameters)) - measured) ** 2) / CELLS


value_and_gradient = sdgrad.value_and_grad(misfit)


def everywhere(parameters):
    """The misfit of the whole rod and its gradient: the same on all ranks, so that all take the same steps."""
    value, gradient = value_and_gradient(parameters, heat, measured)
    total = np.empty_like(gradient)
    comm.Allreduce(gradient, total)
    return comm.allreduce(value), total


places = np.array_split((np.arange(CELLS) + 0.5) / CELLS, comm.size)[comm.rank]
shapes = np.stack([np.cos(np.pi * k * places) for k in range(4)], axis=1)
heat = np.sin(7 * np.pi * places) + np.cos(18 * np.pi * places)
truth = np.array([0.02, 0.08, -0.05, 0.03])
noise = np.random.default_rng(comm.rank).standard_normal(places.size)
measured = simulate(heat, conductivity(truth)) + NOISE * noise

guess, direction = np.zeros(4), np.array([0.3, -0.2, 0.5, 0.1])
start, gradient = everywhere(guess)
slope = gradient @ direction
nearby = [comm.allreduce(misfit(guess + by * direction, heat, measured)) for by in (-1e-6, 1e-6)]
found = minimize(everywhere, guess, jac=True, method="BFGS", options={"gtol": 1e-10})
if comm.rank == 0:
    print(f"slope along a direction: {slope:.10f}, by differences {(nearby[1] - nearby[0]) / 2e-6:.10f}")
    print(f"misfit on {comm.size} ranks: {start:.2e} -> {found.fun:.2e} after {found.nit} steps, noise {NOISE**2:.0e}")
    print(f"conductivity {np.round(found.x, 4)}, true {truth}")
assert np.isclose(slope, (nearby[1] - nearby[0]) / 2e-6, rtol=1e-5)
assert np.allclose(found.x, truth, atol=1e-2)
