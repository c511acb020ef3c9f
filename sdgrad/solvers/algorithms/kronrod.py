"""Points and weights of Gauss and Kronrod (Piessens et al. 1983, QUADPACK)."""

from __future__ import annotations

import numpy as np

NODES_15 = (
    0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945, 0.5860872354676911,
    0.4058451513773972, 0.20778495500789848, 0.0,
)  # fmt: skip
WEIGHTS_15 = (
    0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592, 0.1690047266392679,
    0.19035057806478542, 0.20443294007529889, 0.20948214108472782,
)  # fmt: skip
NODES_21 = (
    0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845, 0.7808177265864169,
    0.6794095682990244, 0.5627571346686047, 0.4333953941292472, 0.2943928627014602, 0.14887433898163122,
    0.0,
)  # fmt: skip
WEIGHTS_21 = (
    0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996, 0.0931254545836976,
    0.10938715880229764, 0.12349197626206584, 0.13470921731147334, 0.14277593857706009, 0.14773910490133849,
    0.1494455540029169,
)  # fmt: skip


def kronrod(nodes: tuple[float, ...], weights: tuple[float, ...]) -> np.ndarray:
    """Return rows: points between -1 and 1, weights, and those of Gauss for every other point."""
    half, fine = np.array(nodes), np.array(weights)
    coarse = np.zeros(2 * half.size - 1)
    coarse[1::2] = np.polynomial.legendre.leggauss(half.size - 1)[1]
    return np.stack([np.hstack([half, -half[-2::-1]]), np.hstack([fine, fine[-2::-1]]), coarse])


GK15, GK21 = kronrod(NODES_15, WEIGHTS_15), kronrod(NODES_21, WEIGHTS_21)
