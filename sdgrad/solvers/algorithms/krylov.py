"""Solve linear systems by products with the matrix alone (Saad, Iterative Methods for Sparse Linear Systems, 2003).

Each method takes the product ``matvec``, the right side ``b``, a first guess ``x``, the size of the residual to reach
relative to that of ``b``, and the most products; it returns the solution and the relative residual that it reached.
"""

from __future__ import annotations

import numpy as np


def cg(matvec, b, x, tol, most):
    """Solve with a symmetric positive definite matrix, by conjugate gradients (Hestenes and Stiefel 1952)."""
    r = b - matvec(x)
    p = r.copy()
    rest = r @ r
    limit = (b @ b) * tol * tol
    count = 0
    while rest > limit and count < most:
        q = matvec(p)
        step = rest / (p @ q)
        x = x + step * p
        r = r - step * q
        before = rest
        rest = r @ r
        p = r + (rest / before) * p
        count += 1
    return x, reached(b - matvec(x), b)


def bicgstab(matvec, b, x, tol, most):
    """Solve with any matrix in little memory, by stabilised biconjugate gradients (van der Vorst 1992)."""
    r = b - matvec(x)
    shadow = r.copy()
    p = r.copy()
    v = np.zeros_like(b)
    product = shadow @ r
    limit = (b @ b) * tol * tol
    count = 0
    while r @ r > limit and count < most and product != 0.0:
        v = matvec(p)
        step = product / (shadow @ v)
        s = r - step * v
        t = matvec(s)
        size = t @ t
        turn = np.where(size > 0.0, (t @ s) / np.where(size > 0.0, size, 1.0), 0.0)
        x = x + step * p + turn * s
        r = s - turn * t
        before = product
        product = shadow @ r
        p = r + (product / before) * (step / np.where(turn != 0.0, turn, 1.0)) * (p - turn * v)
        count += 2
    return x, reached(b - matvec(x), b)


def minres(matvec, b, x, tol, most):
    """Solve with a symmetric matrix, which may be indefinite (Paige and Saunders 1975)."""
    r = b - matvec(x)
    beta = np.sqrt(r @ r)
    limit = np.sqrt(b @ b) * tol
    old, v = np.zeros_like(b), r / np.where(beta > 0.0, beta, 1.0)
    w_old, w = np.zeros_like(b), np.zeros_like(b)
    c_old, c, s_old, s = 1.0, 1.0, 0.0, 0.0
    eta, size, count = beta, beta, 0
    link = 0.0 * beta
    while size > limit and count < most:
        q = matvec(v)
        alpha = v @ q
        q = q - alpha * v - link * old
        after = np.sqrt(q @ q)
        first, second, third = c * alpha - c_old * s * link, s * alpha + c_old * c * link, s_old * link
        length = np.sqrt(first * first + after * after)
        c_old, s_old = c, s
        c, s = first / length, after / length
        direction = (v - third * w_old - second * w) / length
        x = x + (c * eta) * direction
        eta = -s * eta
        size = np.abs(eta)
        w_old, w = w, direction
        old, v = v, q / np.where(after > 0.0, after, 1.0)
        link = after
        count += 1
    return x, reached(b - matvec(x), b)


def gmres(matvec, b, x, tol, most, restart):
    """Solve with any matrix: least residuals over spaces of up to ``restart`` products (Saad and Schultz 1986)."""
    limit = np.sqrt(b @ b) * tol
    r = b - matvec(x)
    size = np.sqrt(r @ r)
    count = 0
    while size > limit and count < most:
        basis, upper, rest, made = cycle(matvec, r, size, limit, restart)
        y = np.zeros(restart, b.dtype)
        for j in range(restart):
            i = restart - 1 - j
            pivot = upper[i, i]  # zero where no product was made
            y[i] = np.where(pivot != 0.0, (rest[i] - upper[i] @ y) / np.where(pivot != 0.0, pivot, 1.0), 0.0)
        x = x + y @ basis[:restart]
        r = b - matvec(x)
        size = np.sqrt(r @ r)
        count += made
    return x, reached(r, b)


def cycle(matvec, r, size, limit, restart):
    """Make an orthogonal basis of products, and eliminate what is below the diagonal of the projected matrix.

    :returns: the basis, the triangular matrix, its right side, and how many products were made.
    """
    basis = np.zeros((restart + 1, r.shape[0]), r.dtype)
    upper = np.zeros((restart, restart), r.dtype)
    cosines, sines = np.zeros(restart, r.dtype), np.zeros(restart, r.dtype)
    rest = np.zeros(restart + 1, r.dtype)
    basis[0] = r / size
    rest[0] = size
    made = 0
    for k in range(restart):
        w = matvec(basis[k])
        column = basis @ w
        w = w - column @ basis
        again = basis @ w  # the second time for what rounding leaves
        w = w - again @ basis
        column = column + again
        length = np.sqrt(w @ w)
        basis[k + 1] = w / np.where(length > 0.0, length, 1.0)
        for i in range(k):
            first = cosines[i] * column[i] + sines[i] * column[i + 1]
            column[i + 1] = cosines[i] * column[i + 1] - sines[i] * column[i]
            column[i] = first
        diagonal = np.sqrt(column[k] * column[k] + length * length)
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        cosines[k] = column[k] / diagonal
        sines[k] = length / diagonal
        column[k] = diagonal
        upper[:, k] = column[:restart]
        rest[k + 1] = -sines[k] * rest[k]
        rest[k] = cosines[k] * rest[k]
        made += 1
        if np.abs(rest[k + 1]) <= limit:
            break
    return basis, upper, rest, made


def reached(r, b):
    """Return the size of a residual relative to that of the right side."""
    size = np.sqrt(b @ b)
    return np.sqrt(r @ r) / np.where(size > 0.0, size, 1.0)
