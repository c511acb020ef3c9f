"""Finance: option prices, yield curves, portfolios, volatility models."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from people._case import case

Market = namedtuple("Market", ["spot", "rate", "dividend"])


def d1_d2(S, K, T, r, q, sigma):
    total = sigma * np.sqrt(T)
    d1 = (np.log(S / K) + (r - q + 0.5 * sigma**2) * T) / total
    return d1, d1 - total


def black_scholes(S, K, T, r, q, sigma, kind="call"):
    if np.any(np.asarray(T) <= 0):
        raise ValueError(f"expired option: T={T}")
    d1, d2 = d1_d2(S, K, T, r, q, sigma)
    sign = {"call": 1.0, "put": -1.0}[kind]
    return sign * (S * np.exp(-q * T) * ndtr(sign * d1) - K * np.exp(-r * T) * ndtr(sign * d2))


@case(lambda rng: (Market(101.0, 0.03, 0.01), {"call": [95.0, 105.0], "put": [90.0, 100.0, 110.0]}, 0.25))
def option_book(market, book, sigma):
    worth = 0.0
    for kind, strikes in book.items():
        for strike in strikes:
            skewed = sigma - 0.1 * math.log(strike / market.spot)
            worth += black_scholes(market.spot, strike, 0.75, market.rate, market.dividend, skewed, kind=kind)
    return worth


@case(lambda rng: (100.0, 0.2, 0.05, 103.0), wrt=(0, 1, 2))
def american_put(spot, sigma, rate, strike, T=1.0, steps=24):
    dt = T / steps
    up = math.exp(sigma * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    assert 0 < p < 1, f"arbitrage: p={p:.3f}"
    discount = math.exp(-rate * dt)
    j = np.arange(steps + 1)
    prices = spot * up**j * down ** (steps - j)
    values = np.maximum(strike - prices, 0)
    for n in range(steps - 1, -1, -1):
        values = discount * (p * values[1:] + (1 - p) * values[:-1])
        prices = prices[:-1] * up
        values = np.where(strike - prices > values, strike - prices, values)
    return values[0]


@dataclass
class Heston:
    kappa: float = 1.5
    theta: float = 0.04
    xi: float = 0.3
    rho: float = -0.6
    v0: float = 0.05

    def characteristic(self, u, T):
        b = self.kappa - 1j * self.rho * self.xi * u
        d = np.sqrt(b**2 + self.xi**2 * (u**2 + 1j * u))
        g = (b - d) / (b + d)
        e = np.exp(-d * T)
        C = self.kappa * self.theta / self.xi**2 * ((b - d) * T - 2 * np.log((1 - g * e) / (1 - g)))
        D = (b - d) / self.xi**2 * (1 - e) / (1 - g * e)
        return np.exp(C + D * self.v0)


@case(lambda rng: (np.array([1.5, 0.04, 0.3, -0.6, 0.05]), 0.1), wrt=(0, 1))
def heston_call(params, log_moneyness):
    model = Heston(*params)
    u = np.linspace(0.0, 16.0, 41)
    integrand = np.exp(-1j * u * log_moneyness) * model.characteristic(u - 0.5j, 1.0) / (u**2 + 0.25)
    integral = np.trapezoid(integrand.real, u)
    return 1.0 - np.exp(log_moneyness / 2) / np.pi * integral


@case(lambda rng: ([(1, 0.02), (2, 0.024), (3, 0.027), (5, 0.031), (7, 0.033)],))
def par_curve(quotes):
    """Discount factors from par swap rates, and the price of a bond on them."""
    tenors, zeros = [0.0], [quotes[0][1]]
    for tenor, rate in quotes:
        z = zeros[-1]
        for _ in range(6):  # the zero rate at this tenor, from those before
            years = np.arange(1, tenor + 1)
            df = np.exp(-years * np.interp(years, tenors + [tenor], zeros + [z]))
            mismatch = rate * df.sum() - (1 - df[-1])
            weight = np.interp(years, tenors + [tenor], [0.0] * len(zeros) + [1.0])
            slope = -np.sum(rate * years * df * weight) - years[-1] * df[-1]
            z -= mismatch / slope
        tenors.append(tenor)
        zeros.append(z)
    times = np.arange(0.5, 6.01, 0.5)
    flows = np.full(times.shape, 2.0)
    flows[-1] += 100.0
    return flows @ np.exp(-times * np.interp(times, tenors, zeros))


@case(lambda rng: ({"omega": 0.05, "alpha": 0.1, "beta": 0.85}, rng.standard_normal(40)))
def garch_likelihood(params, returns):
    omega, alpha, beta = (params[name] for name in ("omega", "alpha", "beta"))
    if alpha + beta >= 1:
        return np.inf
    r = returns - returns.mean()
    variance = np.empty_like(r)
    variance[0] = np.var(r)
    for t in range(1, len(r)):
        variance[t] = omega + alpha * r[t - 1] ** 2 + beta * variance[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * variance) + r**2 / variance)
