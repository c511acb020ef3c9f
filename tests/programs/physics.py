"""Stencils, particles, finance, dynamical systems and statistics."""

import numpy as np

from ._base import arrays, between, positive, program, signed, within

# Stencils ------------------------------------------------------------------------------------------


@program(arrays((5, 7)), "stencil", scalar=False)
def laplace(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


@program(arrays((5, 7)), "stencil inplace", scalar=False, mutates="u")
def heat_step(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


@program(arrays((7, 8, 3), (7, 8, 3)), "stencil where chain", scalar=False, wrt=("field",))
def horizontal_diffusion(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    fx = lap[1:, 1:-1] - lap[:-1, 1:-1]
    dx = field[2:-1, 2:-2] - field[1:-2, 2:-2]
    fx = np.where(fx * dx > 0.0, 0.0, fx)
    fy = lap[1:-1, 1:] - lap[1:-1, :-1]
    dy = field[2:-2, 2:-1] - field[2:-2, 1:-2]
    fy = np.where(fy * dy > 0.0, 0.0, fy)
    return field[2:-2, 2:-2] - coefficient[2:-2, 2:-2] * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


@program(arrays(9, 9), "stencil where", scalar=False)
def upwind_advection(u, c):
    left = c[1:-1] - c[:-2]
    right = c[2:] - c[1:-1]
    return c[1:-1] - 0.1 * u[1:-1] * np.where(u[1:-1] > 0.0, left, right)


@program(arrays(9), "stencil inplace", scalar=False, mutates="u")
def burgers_step(u):
    flux = 0.5 * u * u
    u[1:-1] = u[1:-1] - 0.1 * (flux[2:] - flux[:-2]) + 0.05 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    u[0] = 0.0
    u[-1] = u[-2]


@program(arrays((6, 5), (6, 5)), "stencil inplace several", scalar=False, mutates="a b")
def jacobi_two_steps(a, b):
    b[1:-1, 1:-1] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    a[1:-1, 1:-1] = 0.25 * (b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@program(arrays((5, 6), (5, 6), (5, 6)), "stencil inplace several", scalar=False, mutates="ex ey hz")
def maxwell_step(ex, ey, hz):
    ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
    ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@program(positive((4, 5), (4, 5), (4, 5)), "stencil", scalar=False)
def shallow_water_fluxes(h, hu, hv):
    u = hu / h
    v = hv / h
    return hu * u + 4.9 * h * h, hu * v


@program(positive((5, 6)), "stencil")
def total_variation(u):
    dx = u[1:, :-1] - u[:-1, :-1]
    dy = u[:-1, 1:] - u[:-1, :-1]
    return np.sum(np.sqrt(dx * dx + dy * dy + 0.01))


# Particles and systems ----------------------------------------------------------------------------------


@program(lambda rng: (np.arange(15.0).reshape(5, 3) * 0.6 + 0.1 * signed(rng, (5, 3)),), "particles broadcast")
def lennard_jones(x):
    d = x[:, np.newaxis, :] - x[np.newaxis, :, :]
    r2 = np.sum(d * d, axis=2) + np.eye(5)
    inverse6 = 1.0 / (r2 * r2 * r2)
    return 2.0 * np.sum((inverse6 * inverse6 - inverse6) * (1.0 - np.eye(5)))


@program(arrays((4, 3), (4, 3)), "particles inplace several", scalar=False, mutates="x v")
def leapfrog_step(x, v):
    v += 0.05 * (-x - 0.1 * x * x * x)
    x += 0.1 * v
    v += 0.05 * (-x - 0.1 * x * x * x)


@program(lambda rng: (between(rng, 0.5, 1.5, 4), signed(rng, (4, 2))), "particles broadcast", scalar=False)
def gravity_forces(mass, x):
    d = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    r2 = np.sum(d * d, axis=2) + 0.3
    weight = mass[np.newaxis, :] / (r2 * np.sqrt(r2))
    return np.sum(d * weight[:, :, np.newaxis], axis=1)


@program(positive(2, 4), "system", scalar=False)
def lotka_volterra_step(state, parameters):
    new = np.zeros(2)
    new[0] = state[0] + 0.01 * (parameters[0] * state[0] - parameters[1] * state[0] * state[1])
    new[1] = state[1] + 0.01 * (parameters[2] * state[0] * state[1] - parameters[3] * state[1])
    return new


@program(arrays(3), "system inplace repeated", scalar=False, mutates="s")
def lorenz_two_steps(s):
    x = s[0]
    y = s[1]
    z = s[2]
    s[0] = x + 0.01 * 10.0 * (y - x)
    s[1] = y + 0.01 * (x * (28.0 - z) - y)
    s[2] = z + 0.01 * (x * y - 8.0 / 3.0 * z)


@program(arrays((3, 4), (3, 4)), "system complex-by-hand inplace several", scalar=False, mutates="zr zi")
def mandelbrot_step(zr, zi):
    cr = np.copy(zr)
    ci = np.copy(zi)
    t = zr * zr - zi * zi + cr
    zi[:] = 2.0 * zr * zi + ci
    zr[:] = t


@program(arrays(2), "system")
def rosenbrock(x):
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] * x[0]) ** 2


@program(arrays(7), "system slice")
def rosenbrock_many(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@program(arrays(6), "system")
def ackley(x):
    a = -0.2 * np.sqrt(np.mean(x * x))
    b = np.mean(np.cos(2.0 * np.pi * x))
    return -20.0 * np.exp(a) - np.exp(b) + 20.0


@program(within(0.6, 1.4, 5, 5, 5, 5), "finance", scalar=False)
def black_scholes(spot, strike, time, volatility):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (0.03 + 0.5 * volatility * volatility) * time) / root
    d2 = d1 - root
    c1 = 1.0 / (1.0 + np.exp(-1.5976 * d1 - 0.07056 * d1 * d1 * d1))
    c2 = 1.0 / (1.0 + np.exp(-1.5976 * d2 - 0.07056 * d2 * d2 * d2))
    return spot * c1 - strike * np.exp(-0.03 * time) * c2


@program(arrays(3, 4), "geometry", scalar=False)
def rotate_by_quaternion(v, q):
    n = q / np.sqrt(q @ q)
    t = np.zeros(3)
    t[0] = 2.0 * (n[2] * v[2] - n[3] * v[1])
    t[1] = 2.0 * (n[3] * v[0] - n[1] * v[2])
    t[2] = 2.0 * (n[1] * v[1] - n[2] * v[0])
    r = v + n[0] * t
    r[0] += n[2] * t[2] - n[3] * t[1]
    r[1] += n[3] * t[0] - n[1] * t[2]
    r[2] += n[1] * t[1] - n[2] * t[0]
    return r


@program(positive(7, 7), "geometry", scalar=False)
def great_circle(a, b):
    h = np.sin((b - a) / 2.0) ** 2 + np.cos(a) * np.cos(b) * np.sin((b + a) / 4.0) ** 2
    return 2.0 * np.arctan2(np.sqrt(h), np.sqrt(1.0 - h * 0.3))


# Statistics ------------------------------------------------------------------------------------------------


@program(arrays((6, 3)), "statistics matmul", scalar=False)
def covariance(x):
    c = x - np.mean(x, axis=0)
    return c.T @ c / 5.0


# DaCe, `c /= row`: C++ error: cannot convert double to double* in assignment.
@program(arrays((6, 3)), "statistics matmul inplace dace-frontend-fails", scalar=False)
def correlation(x):
    c = x - np.mean(x, axis=0)
    c /= np.sqrt(np.mean(c * c, axis=0))
    return c.T @ c / 6.0


@program(arrays(7, 7), "statistics")
def pearson(x, y):
    a = x - np.mean(x)
    b = y - np.mean(y)
    return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))


@program(arrays(8), "statistics")
def skewness(x):
    c = x - np.mean(x)
    v = np.mean(c * c)
    return np.mean(c * c * c) / v**1.5


@program(positive(6, 6, 6), "statistics")
def gaussian_log_likelihood(x, mu, sigma):
    z = (x - mu) / sigma
    return -0.5 * np.sum(z * z) - np.sum(np.log(sigma)) - 3.0 * np.log(2.0 * np.pi)


@program(positive(6), "statistics")
def entropy_of_normalized(x):
    p = x / np.sum(x)
    return -np.sum(p * np.log(p))


# DaCe, `x /= row`: Dimensionality mismatch between src/dst subsets, edge [0:3] -> x[0:5, 0:3].
@program(arrays((5, 3)), "statistics inplace dace-frontend-fails", scalar=False, mutates="x")
def standardized_in_place(x):
    x -= np.mean(x, axis=0)
    x /= np.sqrt(np.mean(x * x, axis=0) + 1e-3)
