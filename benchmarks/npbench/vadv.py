"""NPBench vadv, the vertical advection of the COSMO weather model: a tridiagonal system in every column of air."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (6, 5, 8), "medium": (64, 64, 60), "large": (128, 128, 90)}
WRT = ("utens_stage", "u_stage", "wcon", "u_pos", "utens")
BET_M = 0.5
BET_P = 0.5


def inputs(size, rng):
    I, J, K = size
    fields = [rng.random((I, J, K)) for _ in range(4)]
    utens_stage, u_stage, u_pos, utens = fields
    return utens_stage, u_stage, 0.2 * rng.random((I + 1, J, K)), u_pos, utens, 3.0 / 20.0


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    K = utens_stage.shape[2]
    ccol = np.zeros_like(utens_stage)
    dcol = np.zeros_like(utens_stage)
    data_col = np.zeros((utens_stage.shape[0], utens_stage.shape[1]))

    gcv = 0.25 * (wcon[1:, :, 1] + wcon[:-1, :, 1])
    bcol = dtr_stage - gcv * BET_P
    correction = -gcv * BET_M * (u_stage[:, :, 1] - u_stage[:, :, 0])
    ccol[:, :, 0] = gcv * BET_P / bcol
    dcol[:, :, 0] = (dtr_stage * u_pos[:, :, 0] + utens[:, :, 0] + utens_stage[:, :, 0] + correction) / bcol

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction = -gav * BET_M * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - gcv * BET_M * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] *= divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    gav = -0.25 * (wcon[1:, :, K - 1] + wcon[:-1, :, K - 1])
    acol = gav * BET_P
    bcol = dtr_stage - acol
    correction = -gav * BET_M * (u_stage[:, :, K - 2] - u_stage[:, :, K - 1])
    dcol[:, :, K - 1] = dtr_stage * u_pos[:, :, K - 1] + utens[:, :, K - 1] + utens_stage[:, :, K - 1] + correction
    divided = 1.0 / (bcol - ccol[:, :, K - 2] * acol)
    dcol[:, :, K - 1] = (dcol[:, :, K - 1] - dcol[:, :, K - 2] * acol) * divided

    data_col[:] = dcol[:, :, K - 1]
    utens_stage[:, :, K - 1] = dtr_stage * (data_col - u_pos[:, :, K - 1])
    for k in range(K - 2, -1, -1):
        data_col[:] = dcol[:, :, k] - ccol[:, :, k] * data_col
        utens_stage[:, :, k] = dtr_stage * (data_col - u_pos[:, :, k])
    return np.sum(utens_stage)


def jax_version(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    w, u, right = (
        jnp.moveaxis(field, 2, 0)
        for field in (0.25 * (wcon[1:] + wcon[:-1]), u_stage, dtr_stage * u_pos + utens + utens_stage)
    )
    edge = jnp.zeros_like(w[:1])
    gav = jnp.concatenate([edge, -w[1:]])
    gcv = jnp.concatenate([w[1:], edge])
    steps = u[1:] - u[:-1]
    right = right - BET_M * (gcv * jnp.concatenate([steps, edge]) - gav * jnp.concatenate([edge, steps]))

    def eliminate(before, level):
        a, c, d = level
        last_c, last_d = before
        divided = 1.0 / (dtr_stage - a - c - last_c * a)
        after = (c * divided, (d - last_d * a) * divided)
        return after, after

    def substitute(below, level):
        c, d = level
        x = d - c * below
        return x, x

    _, rows = lax.scan(eliminate, (edge[0], edge[0]), (BET_P * gav, BET_P * gcv, right))
    _, x = lax.scan(substitute, edge[0], rows, reverse=True)
    return jnp.sum(dtr_stage * (jnp.moveaxis(x, 0, 2) - u_pos))
