"""An ensemble under ``mpi4py.futures``: rank 0 hands gradients and their arguments to the others."""

import json

import numpy as np
from mpi4py.futures import MPIPoolExecutor

import sdgrad


def energy(x, k):
    return np.sum(np.sin(k * x) ** 2)


gradient = sdgrad.value_and_grad(energy)


def main() -> None:
    x = np.linspace(0.0, 1.0, 6)
    gradient(x, 1.0)  # so that it holds what belongs to this process
    with MPIPoolExecutor() as pool:
        found = list(pool.map(gradient, [x] * 5, np.arange(5.0)))
    print(json.dumps({"name": "ensemble", "gradients": [g.tolist() for _, g in found]}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main()
