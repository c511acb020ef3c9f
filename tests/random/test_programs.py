"""Programs that people write with random numbers, in NumPy's style: against closed forms and differences."""

import numpy as np
import scipy.special
import scipy.stats as st

import sdgrad
from sdgrad import random
from sdgrad.testing import check_grads

KEY = random.key(31)


def dense(layer, x):
    W, b = layer
    return x @ W + b


def vae_loss(params, x, key):
    """The negative evidence bound of a variational autoencoder, with dropout in the decoder (Kingma and Welling)."""
    noise, mask = random.split(key)
    h = np.tanh(dense(params["encoder"], x))
    mu, log_var = dense(params["mean"], h), dense(params["spread"], h)
    z = mu + np.exp(0.5 * log_var) * random.normal(noise, mu.shape)
    g = np.tanh(dense(params["decoder"], z))
    g = np.where(random.bernoulli(mask, 0.8, g.shape), g / 0.8, 0.0)
    residual = x - dense(params["out"], g)
    return np.mean(0.5 * np.sum(residual**2, 1) - 0.5 * np.sum(1 + log_var - mu**2 - np.exp(log_var), 1))


def test_variational_autoencoder():
    rng = np.random.default_rng(0)
    sizes = {"encoder": (6, 5), "mean": (5, 2), "spread": (5, 2), "decoder": (2, 5), "out": (5, 6)}
    params = {k: (0.5 * rng.standard_normal(s), np.zeros(s[1])) for k, s in sizes.items()}
    x = rng.standard_normal((4, 6))

    def of_some(encoder, spread):
        own = {**params, "encoder": (encoder, params["encoder"][1]), "spread": (spread, params["spread"][1])}
        return vae_loss(own, x, KEY)

    check_grads(of_some, (params["encoder"][0], params["spread"][0]), order=1)
    step, key, losses = sdgrad.value_and_grad(vae_loss, wrt="params"), KEY, []
    for _ in range(60):
        key, sub, batch = random.split(key, 3)
        loss, slopes = step(params, x[random.choice(batch, 4, (3,), replace=False)], sub)
        losses.append(loss)
        params = {k: tuple(p - 0.05 * s for p, s in zip(params[k], slopes[k], strict=True)) for k in params}
    assert np.mean(losses[-20:]) < 0.8 * np.mean(losses[:5])


def evidence(q, counts, key):
    """The evidence bound of a rate with a Gamma(2, 1) prior, by draws of a gamma distribution."""
    a, b = np.exp(q)
    rate = random.gamma(key, a, (256,)) / b
    log_joint = np.log(rate) - rate + np.sum(counts) * np.log(rate) - len(counts) * rate
    log_q = a * np.log(b) - scipy.special.gammaln(a) + (a - 1) * np.log(rate) - b * rate
    return np.mean(log_joint - log_q)


def test_variational_inference_of_a_gamma_posterior():
    counts = np.array([3.0, 5.0, 2.0, 4.0])
    slope, q, key = sdgrad.grad(evidence), np.zeros(2), KEY
    for k in range(400):
        key, sub = random.split(key)
        q = q + 0.3 / (1 + 0.05 * k) * np.clip(slope(q, counts, sub), -2, 2)
    posterior = np.array([2 + counts.sum(), 1 + len(counts)])
    assert np.allclose(np.exp(q), posterior, rtol=0.1) and abs(np.divide(*np.exp(q)) / np.divide(*posterior) - 1) < 0.01


def call_price(sigma, spot, key, steps, paths):
    """A European call by Monte Carlo in steps of time."""
    dt, s = 1.0 / steps, np.full(paths, 1.0) * spot
    for k in range(steps):
        z = random.normal(random.fold_in(key, k), paths)
        s = s * np.exp((0.02 - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
    return np.exp(-0.02) * np.mean(np.maximum(s - 100.0, 0.0))


def test_price_of_an_option():
    sigma, spot = 0.3, 105.0
    d = (np.log(spot / 100) + 0.02 + 0.5 * sigma**2) / sigma
    price = spot * st.norm.cdf(d) - 100 * np.exp(-0.02) * st.norm.cdf(d - sigma)
    found, (vega, delta) = sdgrad.value_and_grad(call_price, wrt=("sigma", "spot"))(sigma, spot, KEY, 12, 50_000)
    assert np.isclose(found, call_price(sigma, spot, KEY, 12, 50_000), rtol=1e-12)
    assert np.allclose([found, vega, delta], [price, spot * st.norm.pdf(d), st.norm.cdf(d)], rtol=0.02)
    check_grads(call_price, (sigma, spot, KEY, 12, 50), wrt=("sigma", "spot"), order=1)


def langevin(x, width, key, steps, size):
    """Langevin dynamics in a quartic well, with a key that the loop carries."""
    for _ in range(steps):
        key, sub = random.split(key)
        x = x - size * (x**3 / width) + np.sqrt(2 * size) * random.normal(sub, x.shape)
    return np.mean(x**2)


def test_langevin_steps():
    x = np.linspace(-1, 1, 2000)
    found, slope = sdgrad.value_and_grad(langevin, wrt="width")(x, 1.5, KEY, 150, 0.02)
    variance = 2 * np.sqrt(1.5) * scipy.special.gamma(0.75) / scipy.special.gamma(0.25)  # of exp(-x^4 / (4 width))
    assert np.isclose(found, langevin(x, 1.5, KEY, 150, 0.02), rtol=1e-12)
    assert np.isclose(found, variance, rtol=0.06) and np.isclose(slope, variance / 3, rtol=0.1)
    check_grads(langevin, (x[::500], 1.5, KEY, 20, 0.02), wrt=("x", "width"), order=1)


def until(x, key):
    """Random steps until a bound, of a number that the key decides."""
    count = 0
    while x < 3.0:
        key, sub = random.split(key)
        x = x + x**2 * random.exponential(sub) / 2
        count += 1
    return x * count


def test_while():
    check_grads(until, (0.7, KEY), wrt=("x",), order=1)


def bootstrap(data, key):
    """The spread of means of samples, each of a row of keys."""
    means = np.zeros(20)
    keys = random.split(key, 20)
    for i in range(20):
        means[i] = np.mean(data[random.randint(keys[i], len(data), 0, len(data))])
    return np.std(means)


def test_samples_of_rows():
    data = np.random.default_rng(1).standard_normal(30)
    check_grads(bootstrap, (data, KEY), wrt=("data",), order=1)
