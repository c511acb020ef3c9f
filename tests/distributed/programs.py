"""Programs as people write them for several ranks, each beside that of a single rank: the gradients are the same.

``python -m mpi4py -m tests.distributed.programs [NAME ..]`` under ``mpiexec`` prints one line of JSON for each. A loss
is the sum of what all ranks return. An argument that all ranks have has its gradient on all of them, as a sum.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI
from scipy.optimize import minimize

import sdgrad

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
n = 12  # cells in a direction: a multiple of the ranks
p, q = MPI.Compute_dims(size, 2)
grid = comm.Create_cart([p, q], periods=[False, False])
ring = comm.Create_cart([size], periods=[True])
line = comm.Create_cart([size], periods=[False])
down, across = grid.Get_coords(grid.rank)
row, column = grid.Split(down, across), grid.Split(p + across, down)
block = (slice(down * n // p, (down + 1) * n // p), slice(across * n // q, (across + 1) * n // q))
strip = slice(rank * n // size, (rank + 1) * n // size)
PROGRAMS: dict[str, Callable] = {}
Found = tuple[dict[str, tuple[np.ndarray, Any]], Callable[[], tuple]]
"""By a name, this rank's gradient, and which part of the single rank's it should be; what computes the latter."""


def program(f: Callable) -> Callable:
    PROGRAMS[f.__name__] = f
    return f


def summed(value) -> np.ndarray:
    return comm.allreduce(np.asarray(value))


# --- heat in a plate, in blocks ----------------------------------------------------------------------------------
def laplacian(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


def heat_of_one(field, diffusivity, observed):
    u = np.zeros((n + 2, n + 2))
    u[1:-1, 1:-1] = field
    for _ in range(6):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + diffusivity * laplacian(u)
    return np.sum((u[1:-1, 1:-1] - observed) ** 2)


def fill_halos(u):
    """Exchange rows, which are contiguous, and columns, which are copied; the borders of the plate stay cold."""
    north, south = grid.Shift(0, 1)
    west, east = grid.Shift(1, 1)
    grid.Sendrecv(u[1], dest=north, recvbuf=u[-1], source=south)
    grid.Sendrecv(u[-2], dest=south, recvbuf=u[0], source=north)
    ghost = np.zeros(u.shape[0])
    grid.Sendrecv(np.ascontiguousarray(u[:, 1]), dest=west, recvbuf=ghost, source=east)
    if east != MPI.PROC_NULL:
        u[:, -1] = ghost
    grid.Sendrecv(np.ascontiguousarray(u[:, -2]), dest=east, recvbuf=ghost, source=west)
    if west != MPI.PROC_NULL:
        u[:, 0] = ghost


def heat_of_all(field, diffusivity, observed):
    u = np.zeros((field.shape[0] + 2, field.shape[1] + 2))
    u[1:-1, 1:-1] = field
    for _ in range(6):
        fill_halos(u)
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + diffusivity * laplacian(u)
    return np.sum((u[1:-1, 1:-1] - observed) ** 2)


@program
def heat(random) -> Found:
    field, observed = random.normal(size=(2, n, n))
    of_field, of_diffusivity = sdgrad.grad(heat_of_all, wrt=(0, 1))(field[block].copy(), 0.1, observed[block].copy())
    found = {"field": (of_field, block), "diffusivity": (summed(of_diffusivity), ())}
    return found, lambda: sdgrad.grad(heat_of_one, wrt=(0, 1))(field, 0.1, observed)


# --- shallow water in strips: the rows inside are computed while those of the neighbours are on their way --------
def tendency(state):
    """How height and velocities change in all rows but the first and the last; columns repeat."""
    h, u, v = state[0], state[1], state[2]
    west, east = np.roll(state, 1, 2), np.roll(state, -1, 2)
    height = u[2:] * h[2:] - u[:-2] * h[:-2] + east[2, 1:-1] * east[0, 1:-1] - west[2, 1:-1] * west[0, 1:-1]
    down = h[2:] - h[:-2] + u[1:-1] * (u[2:] - u[:-2]) + v[1:-1] * (east[1, 1:-1] - west[1, 1:-1])
    right = east[0, 1:-1] - west[0, 1:-1] + u[1:-1] * (v[2:] - v[:-2]) + v[1:-1] * (east[2, 1:-1] - west[2, 1:-1])
    return -0.5 * np.stack([height, down, right])


def water_of_one(state, steps):
    for _ in range(steps):
        wide = np.concatenate([state[:, -1:], state, state[:, :1]], axis=1)
        state = state + 0.05 * tendency(wide)
    return np.sum(state[0] ** 2 * np.cos(state[1]))


def water_of_all(state, steps):
    above, below = ring.Shift(0, 1)
    first, last = np.empty((3, 1, n)), np.empty((3, 1, n))
    for _ in range(steps):
        requests = [
            ring.Irecv(first, source=above, tag=1),
            ring.Irecv(last, source=below, tag=2),
            ring.Isend(np.ascontiguousarray(state[:, -1:]), dest=below, tag=1),
            ring.Isend(np.ascontiguousarray(state[:, :1]), dest=above, tag=2),
        ]
        inner = tendency(state)
        MPI.Request.Waitall(requests)
        top = tendency(np.concatenate([first, state[:, :2]], axis=1))
        bottom = tendency(np.concatenate([state[:, -2:], last], axis=1))
        state = state + 0.05 * np.concatenate([top, inner, bottom], axis=1)
    return np.sum(state[0] ** 2 * np.cos(state[1]))


@program
def shallow_water(random) -> Found:
    state = 0.1 * random.normal(size=(3, n, n))
    state[0] += 1
    found = sdgrad.grad(water_of_all)(state[:, strip].copy(), 4)
    return {"state": (found, (slice(None), strip))}, lambda: (sdgrad.grad(water_of_one)(state, 4),)


# --- a product of matrices in blocks (R. van de Geijn and J. Watts, SUMMA, 1997) ---------------------------------
def product_of_one(a, b, weights):
    return np.sum(weights * (a @ b) ** 2)


def product_of_all(a, b, weights):
    panels = p * q
    width = n // panels
    c = np.zeros((a.shape[0], b.shape[1]))
    for k in range(panels):
        from_a, from_b = np.empty((a.shape[0], width)), np.empty((width, b.shape[1]))
        owner, start = divmod(k * width, a.shape[1])
        if across == owner:
            from_a[:] = a[:, start : start + width]
        row.Bcast(from_a, root=owner)
        owner, start = divmod(k * width, b.shape[0])
        if down == owner:
            from_b[:] = b[start : start + width]
        column.Bcast(from_b, root=owner)
        c += from_a @ from_b
    return np.sum(weights * c**2)


@program
def summa(random) -> Found:
    a, b, weights = random.normal(size=(3, n, n))
    of_a, of_b = sdgrad.grad(product_of_all, wrt=(0, 1))(*(x[block].copy() for x in (a, b, weights)))
    return {"a": (of_a, block), "b": (of_b, block)}, lambda: sdgrad.grad(product_of_one, wrt=(0, 1))(a, b, weights)


# --- conjugate gradients: how many steps are needed is known when the residual is --------------------------------
def solution_of_one(b, shift):
    x, r = np.zeros(n), b
    d, rho = r, np.dot(r, r)
    while rho > 1e-20:
        wide = np.concatenate([np.zeros(1), d, np.zeros(1)])
        s = (2 + shift) * d - wide[2:] - wide[:-2]
        alpha = rho / np.dot(d, s)
        x, r = x + alpha * d, r - alpha * s
        before, rho = rho, np.dot(r, r)
        d = r + rho / before * d
    return np.sum(np.sin(x))


def dot(a, b):
    return comm.allreduce(np.dot(a, b))


def solution_of_all(b, shift):
    below, above = line.Shift(0, 1)
    x, r = np.zeros(b.size), b
    d, rho = r, dot(r, r)
    while rho > 1e-20:
        wide = np.concatenate([np.zeros(1), d, np.zeros(1)])
        line.Sendrecv(wide[-2:-1], dest=above, recvbuf=wide[:1], source=below)
        line.Sendrecv(wide[1:2], dest=below, recvbuf=wide[-1:], source=above)
        s = (2 + shift) * d - wide[2:] - wide[:-2]
        alpha = rho / dot(d, s)
        x, r = x + alpha * d, r - alpha * s
        before, rho = rho, dot(r, r)
        d = r + rho / before * d
    return np.sum(np.sin(x))


@program
def conjugate_gradients(random) -> Found:
    b = random.normal(size=n)
    of_b, of_shift = sdgrad.grad(solution_of_all, wrt=(0, 1))(b[strip].copy(), 1.5)
    found = {"b": (of_b, strip), "shift": (summed(of_shift), ())}
    return found, lambda: sdgrad.grad(solution_of_one, wrt=(0, 1))(b, 1.5)


# --- training on data of all ranks -------------------------------------------------------------------------------
def entropy(weights, images, labels, count):
    """The part of a mean cross entropy that some images have."""
    scores = np.tanh(images @ weights["first"] + weights["bias"]) @ weights["second"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    likely = scores[np.arange(len(labels)), labels] - np.log(np.sum(np.exp(scores), axis=1))
    return -np.sum(likely) / count


def entropy_of_all(weights, images, labels, count):
    return comm.allreduce(entropy(weights, images, labels, count))


@program
def training(random) -> Found:
    """The gradients are summed after a step; or the loss in the function, and each rank has returned it."""
    images, labels = random.uniform(size=(24, 64)), random.integers(0, 10, 24)
    shapes = {"first": (64, 16), "bias": (16,), "second": (16, 10)}
    weights = {name: random.normal(size=shape) / 4 for name, shape in shapes.items()}
    own = slice(rank * 24 // size, (rank + 1) * 24 // size)
    given = weights, images[own].copy(), labels[own].copy(), 24
    after, inside = (sdgrad.grad(f)(*given) for f in (entropy, entropy_of_all))
    found: dict[str, tuple[np.ndarray, Any]] = {}
    for name in weights:
        total = np.empty(shapes[name])
        comm.Allreduce(after[name], total)
        found |= {name: (total, ()), f"{name}, inside": (summed(inside[name]) / size, ())}

    def reference():
        gradient = sdgrad.grad(entropy)(weights, images, labels, 24)
        return tuple(gradient[name] for name in weights for _ in range(2))

    return found, reference


# --- parameters of a decay, from times that are spread over the ranks --------------------------------------------
def residuals_of_one(parameters, times, measured):
    a, b, c = parameters
    return 0.5 * np.sum((a * np.exp(-b * times) + c - measured) ** 2)


def residuals_of_all(parameters, times, measured):
    """The first rank has the parameters: its gradient is the whole one."""
    here = np.empty(3)
    if rank == 0:
        here[:] = parameters
    comm.Bcast(here, root=0)
    return residuals_of_one(here, times, measured)


@program
def estimation(random) -> Found:
    times, truth, guess = np.linspace(0, 3, 5 * n), np.array([2.0, 1.3, 0.5]), np.array([1.0, 1.0, 1.0])
    measured = truth[0] * np.exp(-truth[1] * times) + truth[2]
    value_and_gradient = sdgrad.value_and_grad(residuals_of_all)
    mine = times[rank::size].copy(), measured[rank::size].copy()

    def everywhere(parameters):
        value, gradient = value_and_gradient(parameters, *mine)
        return summed(value), comm.bcast(gradient)

    found = minimize(everywhere, guess, jac=True, method="BFGS", options={"gtol": 1e-10})
    pairs = {"gradient": (everywhere(guess)[1], ()), "truth to six digits": (np.round(found.x, 6), ())}
    return pairs, lambda: (sdgrad.grad(residuals_of_one)(guess, times, measured), truth)


# --- all of them -------------------------------------------------------------------------------------------------
def error(found, expected) -> float:
    """How far two arrays are apart on any rank, relative to the larger of the second."""
    scale = comm.allreduce(float(np.max(np.abs(expected))), MPI.MAX)
    return comm.allreduce(float(np.max(np.abs(found - expected))), MPI.MAX) / scale


def main(names: list[str]) -> None:
    """Run all programs on all ranks, then those of one rank, of which each rank has some."""
    chosen = {name: PROGRAMS[name](np.random.default_rng(k)) for k, name in enumerate(names or PROGRAMS)}
    alone = {name: reference() for k, (name, (_, reference)) in enumerate(chosen.items()) if k % size == rank}
    for k, (name, (found, _)) in enumerate(chosen.items()):
        expected = comm.bcast(alone.get(name), root=k % size)
        pairs = zip(found.items(), expected, strict=True)
        errors = {what: error(gradient, np.asarray(whole)[part]) for (what, (gradient, part)), whole in pairs}
        if rank == 0:
            print(json.dumps({"name": name, **errors}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main(sys.argv[1:])
