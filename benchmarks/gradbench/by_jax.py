"""What a user of JAX writes otherwise: no writes into arrays, loops as ``scan`` or ``while_loop``, mapped Jacobians."""

import jax
import jax.numpy as jnp

NUMPY = jnp


def ba(m):
    """Two rows for each observation, by reverse mode."""
    of_one = jax.vmap(jax.jacrev(m.reprojection, (0, 1, 2)))
    return {"ba": lambda cameras, points, w, by, of, features: of_one(cameras[by], points[of], w, features)}


def gmm(m):
    def lower_triangles(entries, d):
        columns, rows = jnp.triu_indices(d, 1)
        return jnp.zeros((entries.shape[0], d, d)).at[:, rows, columns].set(entries)

    m.lower_triangles = lower_triangles
    return {}


def ht(m):
    def angles_of(pose):
        fingers = jnp.reshape(pose[6:], (5, 4))
        bends = jnp.stack([fingers[:, 0], fingers[:, 2], fingers[:, 3], jnp.zeros(5)], axis=1)
        angles = jnp.zeros((m.BONES, 3)).at[2:, 0].set(jnp.reshape(bends, -1))
        return angles.at[2::4, 1].set(fingers[:, 1])

    m.angles_of = angles_of
    return {}


def kmeans(m):
    def derivative(points, centroids):
        gradient = jax.grad(m.kmeans, 1)
        return jax.jvp(lambda c: gradient(points, c), (centroids,), (jnp.ones_like(centroids),))

    return {"kmeans": derivative}


def lstm(m):
    def predict(weights, extra, state, x):
        def layer(x, own):
            weights, biases, output, memory = own
            output, memory = m.cell(weights, biases, output, memory, x)
            return output, (output, memory)

        x, (outputs, memories) = jax.lax.scan(layer, x * extra[0], (weights[::2], weights[1::2], *state))
        return x * extra[1] + extra[2], (outputs, memories)

    def lstm(weights, extra, state, sequence):
        def step(state, both):
            bits, state = predict(weights, extra, state, both[0])
            return state, m.likelihood(bits, both[1])

        _, found = jax.lax.scan(step, (state[::2], state[1::2]), (sequence[:-1], sequence[1:]))
        return -jnp.sum(found) / sequence[1:].size

    m.lstm = lstm
    return {}


def ode(m):
    def ode(x, steps):
        h = 2.0 / steps

        def step(y, _):
            k1 = m.slope(x, y)
            k2 = m.slope(x, y + h * k1 / 2)
            k3 = m.slope(x, y + h * k2 / 2)
            k4 = m.slope(x, y + h * k3)
            return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6, None

        return jnp.sum(jax.lax.scan(step, jnp.zeros(x.shape[0]), length=steps)[0])

    m.ode = ode
    return {}


def particle(m):
    """Forward mode: ``while_loop`` has no reverse mode."""
    slope = jax.grad(m.potential)

    def particle(w, dt):
        def step(state):
            x, v = state
            return x + dt * v, v - dt * slope(x, w)

        start = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0])
        x, v = jax.lax.while_loop(lambda state: state[0][1] + dt * state[1][1] > 0, step, start)
        end = x - x[1] / v[1] * v
        return end[0] ** 2

    m.particle = particle
    return {"particle": lambda w, dt: (jax.jacfwd(particle)(w, dt),)}


def saddle(m):
    """Forward mode: ``while_loop`` has no reverse mode."""
    slope = jax.grad(m.function, 1)

    def ascend(x, y):
        def going(state):
            _, _, g, rate, _ = state
            return (jnp.sqrt(jnp.sum(g**2)) > 1e-5) & (rate * jnp.sqrt(jnp.sum(g**2)) > 1e-5)

        def step(state):
            y, value, g, rate, good = state
            there = y + rate * g
            better = m.function(x, there) > value
            moved = (there, m.function(x, there), slope(x, there), rate, good + 1)
            shorter = (y, value, g, rate / 2, 0 * good)
            longer = (y, value, g, 2 * rate, 0 * good)
            tried = jax.tree.map(lambda a, b: jnp.where(better, a, b), moved, shorter)
            return jax.tree.map(lambda a, b: jnp.where(good == 10, a, b), longer, tried)

        return jax.lax.while_loop(going, step, (y, m.function(x, y), slope(x, y), 1e-5, 0))[0]

    m.ascend = ascend
    return {"saddle": lambda x, start: (jax.jacfwd(m.saddle)(x, start),)}
