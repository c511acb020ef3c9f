"""Hydrology: runoff, flood routing, soil water, wells, evaporation."""

from collections import deque

import numpy as np
from scipy.special import exp1, gamma

from people._case import case


@case(lambda rng: ({"n": 2.6, "k": 1.8, "loss": 0.3}, np.maximum(rng.normal(1, 1.5, 24), 0), rng.random(24)))
def nash_cascade(p, rain, observed):
    t = np.arange(1, 13) - 0.5
    unit = (t / p["k"]) ** (p["n"] - 1) * np.exp(-t / p["k"]) / (p["k"] * gamma(p["n"]))
    unit /= unit.sum()
    effective = rain * (1 - np.exp(-p["loss"] * rain))
    flow = np.convolve(effective, unit)[: len(rain)]
    nse = 1 - np.sum((flow - observed) ** 2) / np.sum((observed - observed.mean()) ** 2)
    log_nse = 1 - np.sum((np.log(flow + 0.1) - np.log(observed + 0.1)) ** 2)
    return -nse - 0.1 * log_nse


def muskingum(inflow, K, x, dt=1.0):
    if not 2 * K * x < dt < 2 * K * (1 - x):
        raise ValueError(f"unstable: K = {K}, x = {x}")
    denominator = 2 * K * (1 - x) + dt
    c0 = (dt - 2 * K * x) / denominator
    c1 = (dt + 2 * K * x) / denominator
    c2 = (2 * K * (1 - x) - dt) / denominator
    outflow = [inflow[0]]
    for before, now in zip(inflow[:-1], inflow[1:], strict=True):
        outflow.append(c0 * now + c1 * before + c2 * outflow[-1])
    return np.array(outflow)


@case(
    lambda rng: ([(1.2, 0.2), (0.9, 0.1), (1.5, 0.25)], 2 + 8 * np.exp(-((np.arange(20) - 6.0) ** 2) / 8), 0.3),
    wrt=(0, 1, 2),
)
def river_network(reaches, upstream, lateral):
    q = upstream
    storage = 0.0
    for i, (K, x) in enumerate(reaches):
        routed = muskingum(q, K, x)
        storage += np.trapezoid(K * (x * q + (1 - x) * routed), dx=1.0)
        q = routed + lateral * (i + 1)
    peak = int(np.argmax(q))
    a, b, c = q[peak - 1 : peak + 2]
    offset = 0.5 * (a - c) / (a - 2 * b + c)
    return peak + offset + b - 0.25 * (a - c) * offset + 0.01 * storage


class Bucket:
    """A daily rainfall-runoff model of production and routing stores."""

    def __init__(self, capacity, exchange, routing, lag=3):
        self.X1, self.X2, self.X3 = capacity, exchange, routing
        self.S, self.R = 0.6 * capacity, 0.7 * routing
        self.queue = deque([0.0] * lag, maxlen=lag)

    def day(self, rain, pet):
        if rain >= pet:
            net, scaled = rain - pet, np.tanh((rain - pet) / self.X1)
            level = self.S / self.X1
            fill = self.X1 * (1 - level**2) * scaled / (1 + level * scaled)
            self.S = self.S + fill
            excess = net - fill
        else:
            scaled = np.tanh((pet - rain) / self.X1)
            level = self.S / self.X1
            self.S -= self.S * (2 - level) * scaled / (1 + (1 - level) * scaled)
            excess = 0.0
        percolation = self.S * (1 - (1 + (4 / 9 * self.S / self.X1) ** 4) ** -0.25)
        self.S -= percolation
        delayed = self.queue[0]
        self.queue.append(excess + percolation)
        gain = self.X2 * (self.R / self.X3) ** 3.5
        self.R = max(0.0, self.R + 0.9 * delayed + gain)
        out = self.R * (1 - (1 + (self.R / self.X3) ** 4) ** -0.25)
        self.R -= out
        return out + max(0.0, 0.1 * delayed + gain)


@case(
    lambda rng: (
        np.array([3.0, 0.2, 1.1]),
        rng.exponential(0.8, 30) * (rng.random(30) < 0.5),
        0.3 + 0.1 * np.sin(np.arange(30)),
    )
)
def rainfall_runoff(x, rain, pet):
    model = Bucket(*x)
    flow = np.array([model.day(p, e) for p, e in zip(rain, pet, strict=True)])
    sorted_weights = np.exp(-np.arange(30) / 10)
    return np.sum(sorted_weights * np.sqrt(flow)) + flow[10:].std()


def van_genuchten(h, soil):
    m = 1 - 1 / soil["n"]
    wet = np.abs(soil["alpha"] * h) ** soil["n"]
    Se = (1 + wet) ** -m
    theta = soil["theta_r"] + (soil["theta_s"] - soil["theta_r"]) * Se
    K = soil["Ks"] * np.sqrt(Se) * (1 - (1 - Se ** (1 / m)) ** m) ** 2
    C = (
        (soil["theta_s"] - soil["theta_r"])
        * soil["alpha"]
        * m
        * soil["n"]
        * Se
        * wet
        / (1 + wet)
        / np.abs(soil["alpha"] * h)
    )
    return theta, K, C


def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m if i < n - 1 else 0.0
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / m
    x = np.zeros(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@case(
    lambda rng: ({"theta_r": 0.08, "theta_s": 0.45, "alpha": 1.2, "n": 1.8, "Ks": 0.6}, -np.linspace(1.5, 0.8, 8), 0.1),
    wrt=(0, 1, 2),
)
def richards_equation(soil, head, rain):
    dz, dt = 0.2, 0.05
    h = head.copy()
    for _ in range(5):
        theta_old, _, _ = van_genuchten(h, soil)
        for _picard in range(4):
            theta, K, C = van_genuchten(h, soil)
            Km = 0.5 * (K[1:] + K[:-1])
            lower = np.r_[0.0, -Km / dz**2]
            upper = np.r_[-Km / dz**2, 0.0]
            diagonal = C / dt - lower - upper
            rhs = C * h / dt - (theta - theta_old) / dt
            rhs[:-1] -= Km / dz
            rhs[1:] += Km / dz
            rhs[0] += rain / dz
            rhs[-1] -= K[-1] / dz
            h = thomas(lower, diagonal, upper, rhs)
    theta, K, _ = van_genuchten(h, soil)
    return dz * theta.sum() + 10 * K[-1] + 0.1 * np.mean(h**2)


@case(
    lambda rng: (
        [{"x": 2.0, "y": 1.0, "Q": 1.5, "start": 0.0}, {"x": 4.0, "y": -0.5, "Q": -0.8, "start": 1.0}],
        {"T": 0.8, "S": 0.05},
        np.array([[1.0, 0.0], [3.0, 0.7], [2.6, -1.0]]),
    ),
    wrt=(0, 1, 2),
)
def well_field_drawdown(wells, aquifer, piezometers):
    times = [0.5, 1.5, 3.0]
    drawdown = np.zeros((len(piezometers), len(times)))
    for well in wells:
        for sign, x in [(1, well["x"]), (-1, -well["x"])]:  # a river at x = 0: an image of the other sign
            r2 = (piezometers[:, 0] - x) ** 2 + (piezometers[:, 1] - well["y"]) ** 2
            for k, t in enumerate(times):
                if t <= well["start"]:
                    continue
                u = r2 * aquifer["S"] / (4 * aquifer["T"] * (t - well["start"]))
                drawdown[:, k] += sign * well["Q"] / (4 * np.pi * aquifer["T"]) * exp1(u)
    recovery = drawdown[:, -1] - drawdown[:, 0]
    return np.linalg.norm(drawdown) + recovery.sum()
