"""NPBench (from OMEN, quantum transport) scattering_self_energies: electrons scattered by phonons.

Products of small matrices: the Green's functions of electrons at neighbouring atoms and shifted energies, and the
derivatives of the Hamiltonian weighted by the Green's functions of phonons. The result is complex; its squares are
summed.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {
    "small": (2, 3, 2, 2, 2, 3, 2, 2),
    "medium": (2, 4, 2, 2, 2, 6, 2, 3),
    "large": (4, 10, 4, 3, 3, 20, 4, 4),
}
WRT = ("dH", "G", "D")


def inputs(size, rng):
    Nkz, NE, Nqz, Nw, N3D, NA, NB, Norb = size

    def random_complex(*shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    return (
        rng.integers(0, NA, (NA, NB)).astype(np.int32),
        random_complex(NA, NB, N3D, Norb, Norb),
        random_complex(Nkz, NE, NA, Norb, Norb),
        random_complex(Nqz, Nw, NA, NB, N3D, N3D),
        np.zeros((Nkz, NE, NA, Norb, Norb), dtype=np.complex128),
    )


def scattering_self_energies(neigh_idx, dH, G, D, Sigma):
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    for i in range(D.shape[4]):
                        for j in range(D.shape[5]):
                            for a in range(neigh_idx.shape[0]):
                                for b in range(neigh_idx.shape[1]):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD
    return np.sum(np.abs(Sigma) ** 2)


def jax_version(neigh_idx, dH, G, D, Sigma):
    dHG = jnp.einsum("keabxy,abiyz->keabixz", G[:, :, neigh_idx], dH)
    dHD = jnp.einsum("abjxy,qwabij->wabixy", dH, D)
    Sigma = jnp.asarray(Sigma)
    for w in range(D.shape[1]):
        shifted = dHG[:, : G.shape[1] - w]
        Sigma = Sigma.at[:, w:].add(jnp.einsum("keabixy,abiyz->keaxz", shifted, dHD[w]))
    return jnp.sum(jnp.abs(Sigma) ** 2)
