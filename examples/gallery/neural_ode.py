"""A neural differential equation learns a spiral: a small network says how fast a point moves at each place.

The network sees noisy points of one curve. The curve it makes is integrated with it by Runge and Kutta's method, and the
gradient goes through all steps.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

TIMES, SUBSTEPS, END = 40, 2, 8.0
HIDDEN, UPDATES, NOISE = 16, 600, 0.03
START = np.array([2.0, 0.0])


def speed(y, params):
    """A layer of tanh on cubes of the place, as the curve is nearly a linear flow of them."""
    return params["W2"] @ np.tanh(params["W1"] @ (y**3) + params["b1"]) + params["b2"]


def true_speed(y, matrix):
    return matrix @ y**3


def curve(f, y, step, count, params):
    """The places after each interval, by the classical method of fourth order."""
    places = np.empty((count, 2))
    for i in range(count):
        for _ in range(SUBSTEPS):
            k1 = f(y, params)
            k2 = f(y + step / 2 * k1, params)
            k3 = f(y + step / 2 * k2, params)
            k4 = f(y + step * k3, params)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        places[i] = y
    return places


def loss(params, observed):
    return np.mean((curve(speed, START, STEP, TIMES, params) - observed) ** 2)
