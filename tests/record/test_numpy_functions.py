# ruff: noqa: SIM905 - names in a line
"""NumPy's functions on recorded arrays: each expression of a table against NumPy's value, shape, dtype and slope.

The expressions of one row become one program, because compiling costs more than running.
"""

import ast
import hashlib
import importlib.util
import math
import re

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from numpy_operands import INPUTS

import sdgrad

ONE = (
    "exp exp2 expm1 log log1p log2 log10 sqrt cbrt reciprocal square abs absolute fabs sign floor ceil rint "
    "trunc fix round around deg2rad rad2deg degrees radians sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arctanh conj conjugate real imag angle positive negative isnan isinf isfinite sinc nan_to_num "
    "logical_not signbit"
).split()
TWO = (
    "arctan2 hypot logaddexp logaddexp2 float_power maximum minimum fmax fmin fmod mod remainder copysign "
    "heaviside add subtract multiply divide true_divide floor_divide equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor"
).split()


def _calls(names, arguments):
    return [f"np.{name}({arguments})" for name in names]


TABLE = {
    "one operand float64": [
        *_calls(ONE, "B"),
        "np.arccosh(B + 1)", "np.round(A * 10, 1)", "np.rint(H)", "np.round(H)"],
    "one operand float32": [
        "np.exp(G)", "np.log(G)", "np.sqrt(G)", "np.abs(G)", "np.floor(G)", "np.tanh(G)", "np.round(G)",
        "np.angle(G)", "np.sinc(G)", "np.nan_to_num(G)", "np.arccosh(G + 1)", "A.round(1)", "np.round(A * 100, -1)",
        "np.fix(A)"],
    "one operand scalar": [
        "np.exp(s)", "np.log(s)", "np.sqrt(s)", "np.abs(s)", "np.floor(s)", "np.tanh(s)", "np.round(s)",
        "np.angle(s)", "np.sinc(s)", "np.nan_to_num(s)", "np.arccosh(t)", "np.exp(i)", "np.sqrt(f)"],
    "one operand integer": [
        "np.exp(I)", "np.sqrt(I)", "np.square(I)", "np.abs(I)", "np.sign(I)", "np.floor(I)", "np.ceil(I)",
        "np.rint(I)", "np.trunc(I)", "np.positive(I)", "np.negative(I)", "np.cbrt(I)"],
    "two operands float64": [
        *_calls(TWO, "A, B"),
        "np.power(B, A)"],
    "two operands float32": [
        "np.arctan2(F, G)", "np.hypot(F, G)", "np.logaddexp(F, G)", "np.maximum(F, G)", "np.mod(F, G)",
        "np.heaviside(F, G)", "np.floor_divide(F, G)", "np.less(F, G)", "np.power(G, F)", "np.floor_divide(2.5, G)"],
    "two operands mixed": [
        "np.arctan2(s, t)", "np.hypot(s, t)", "np.logaddexp(s, t)", "np.maximum(s, t)", "np.mod(s, t)",
        "np.heaviside(s, t)", "np.floor_divide(s, t)", "np.less(s, t)", "np.logaddexp(I, J)", "np.add(I, J)",
        "np.hypot(I, J)", "np.maximum(I, J)", "np.power(I, 2)", "np.bitwise_and(I, J)", "np.left_shift(J, 2)",
        "np.ldexp(A, J)"],
    "ufunc keywords": [
        "np.add(A, B, dtype=np.float32)", "np.divmod(A, B)", "np.modf(A)", "np.add.outer(v, w)",
        "np.maximum.outer(v, w)", "np.add.reduce(A, axis=None)", "np.multiply.reduce(A, axis=1)",
        "np.maximum.reduce(A, axis=0, keepdims=True)", "np.logical_and.reduce(K)", "np.add.accumulate(A, axis=-1)",
        "np.maximum.accumulate(v)"],
    "operators float64": [
        "A + B", "A - B", "A * B", "A / B", "A // B", "A % B", "A > B", "A <= B", "A == B", "A != B", "A + v",
        "c * r", "v + c", "B ** A", "A ** 2", "B ** -1", "B ** 0.5", "2 ** A", "1 - A", "5 // B", "-A", "+A",
        "A ** 0", "s ** 3", "s // t", "s > t", "-s", "2 - s"],
    "operators integer": [
        "I + J", "I - J", "I * J", "I / J", "I // J", "I % J", "I > J", "I <= J", "I == J", "I != J", "I ** 2",
        "I * 1.5", "J * 2", "J * F", "I // -2", "I % -3", "I & J", "I ^ J", "~I", "I << 1", "K & K", "~K", "K + K",
        "K * A", "i ** 2", "i / 2", "i % 2", "2 ** i", "J + f"],
    "math": [
        "math.sin(s)", "math.cos(s)", "math.tan(s)", "math.asin(s)", "math.acos(s)", "math.atan(s)", "math.sinh(s)",
        "math.cosh(s)", "math.tanh(s)", "math.asinh(s)", "math.atanh(s)", "math.exp(s)", "math.expm1(s)",
        "math.log(s)", "math.log2(s)", "math.log10(s)", "math.log1p(s)", "math.sqrt(s)", "math.fabs(s)",
        "math.floor(s)", "math.ceil(s)", "math.trunc(s)", "math.erf(s)", "math.erfc(s)", "math.gamma(s)",
        "math.lgamma(s)", "math.degrees(s)", "math.radians(s)", "math.cbrt(s)", "math.exp2(s)", "math.isnan(s)",
        "math.acosh(t)", "math.log(t, s)", "math.pow(s, t)", "math.atan2(s, t)", "math.hypot(s, t)",
        "math.copysign(s, -t)", "math.fmod(t, s)", "s * math.pi", "s * math.e", "math.sin(A[1, 2])",
        "math.sqrt(2.0) * s", "math.exp(i)", "math.sqrt(f)", "min(s, math.inf)", "math.trunc(-t)"],
    "scipy": [
        "scipy.special.erf(A)", "scipy.special.erfc(A)", "scipy.special.gammaln(B)", "scipy.special.gamma(B)",
        "scipy.special.expit(A)", "scipy.special.logit(B)", "scipy.special.xlogy(B, B)", "scipy.special.erf(F)",
        "scipy.special.erf(s)"],
    "selection": [
        "np.clip(A, -0.5, 0.5)", "A.clip(-0.5, 0.5)", "np.clip(A, None, 0.5)", "A.clip(min=0)",
        "np.clip(A, 0, None)", "np.where(A > 0, A, B)", "np.where(A > 0, A, 0)", "np.where(A > 0, 1.0, 0.0)",
        "np.select([A > 0, A > -1], [A, 2 * A], 1.5)", "np.select([K], [F], 0)", "np.nan_to_num(E, nan=3.0)",
        "np.interp(A, L, v)", "np.interp(s, L, v)"],
    "complex": [
        "np.real(Z)", "np.imag(Z)", "Z.real", "Z.imag", "Z.conj()", "np.angle(Z)", "np.abs(Z)", "A.real", "A.imag",
        "np.exp(Z)", "np.vdot(Z, Z)", "np.var(Z)", "np.linalg.norm(Z)", "Z * 2", "np.sum(Z, axis=0)"],
    "sums": [
        "np.sum(A)", "np.sum(A, axis=0)", "np.prod(A)", "np.prod(A, axis=1, keepdims=True)", "np.prod(J)", "A.sum()",
        "A.sum(0)", "A.sum(axis=(0, 1))", "A.prod(axis=0)", "(A * B).sum(axis=1)", "A[1:3].sum(axis=0)",
        "np.nansum(E)", "np.nanprod(A, axis=0)", "np.count_nonzero(I)", "np.count_nonzero(A > 0, axis=0)", "sum(v)"],
    "means": [
        "np.mean(A)", "np.mean(A, axis=0)", "np.mean(T, axis=(0, 2), keepdims=True)", "A.mean(1)",
        "A.mean(axis=1, keepdims=True)", "J.mean()", "np.std(A)", "np.std(A, axis=1, ddof=1)",
        "np.std(A, keepdims=True)", "np.var(T, axis=(0, 1))", "np.var(I)", "A.std(axis=0, ddof=1)",
        "A.var(axis=1, keepdims=True)", "np.average(A)", "np.average(A, weights=B)",
        "np.average(A, axis=1, weights=v)", "np.nanmean(A)"],
    "extrema": [
        "np.max(A)", "np.max(A, axis=-1)", "np.amax(A, axis=1, keepdims=True)", "np.min(J, axis=0)", "np.max(F)",
        "np.min(T, axis=(0, 2))", "A.max(axis=1, keepdims=True)", "A.min(0)", "np.ptp(A, axis=0)", "np.nanmax(E)",
        "np.nanmin(E)", "np.any(K, axis=0)", "np.all(A > -9, axis=0, keepdims=True)", "np.any(A)", "K.all(axis=0)",
        "np.argmax(A)", "np.argmin(A, axis=-1)", "np.argmax(np.round(A), axis=0)", "A.argmin(axis=1)",
        "np.argmax(I, axis=1)"],
    "norms": [
        "np.linalg.norm(v)", "np.linalg.norm(v, 1)"],
    "scans": [
        "np.cumsum(v)", "np.cumsum(A)", "np.cumsum(A, axis=0)", "np.cumprod(A, axis=1)", "A.cumsum(axis=0)",
        "A.cumprod(axis=-1)", "np.diff(v)", "np.diff(A, axis=0)", "np.diff(A, n=2)", "np.trace(S)", "np.trace(A)",
        "np.trace(S, offset=1)", "S.trace()", "np.trapezoid(v)", "np.trapezoid(A, dx=0.1)", "np.trapezoid(v, L)"],
    "reshape": [
        "A.reshape(20)", "A.reshape(-1, 2)", "A.reshape((2, 10))", "np.reshape(A, 20)", "np.reshape(A, (10, -1))",
        "A.T.reshape(20)", "A[:, 1:3].reshape(8)", "np.reshape(A, (5, 4), order='F')", "A.ravel()", "A.ravel('F')",
        "A.T.ravel()", "np.ravel(A)", "A.flatten()", "np.squeeze(c)", "np.squeeze(r, 0)",
        "np.expand_dims(A, (0, 2))", "np.atleast_1d(s)", "np.atleast_2d(v)", "v[:, None] * w[None, :]",
        "A[:, :, None] * u", "A[None]", "A[..., None]", "A.reshape(2, 2, 5).sum(axis=1)",
        "np.broadcast_to(v, (2, 4, 5))", "np.broadcast_to(s, (3,))", "np.zeros(np.shape(A))"],
    "axes": [
        "A.T", "T.T", "np.transpose(T, (1, 0, 2))", "T.transpose(2, 0, 1)", "T.transpose((0, 2, 1))",
        "np.transpose(T, (-1, 0, 1))", "T.swapaxes(0, 2)", "np.moveaxis(T, 0, -1)", "np.moveaxis(T, (0, 1), (1, 2))",
        "np.tile(v, 3)", "np.tile(A, (2, 1, 2))", "np.repeat(A, 2)", "np.repeat(A, 2, axis=-1)",
        "A.repeat(2, axis=0)", "np.flip(A)", "np.flip(T, (0, 2))", "np.fliplr(A)", "np.roll(v, 2)",
        "np.roll(A, -1, axis=1)", "np.roll(A, 1)", "np.rot90(A)", "np.rot90(A, 2)", "np.rot90(A, -1)",
        "np.triu(S, 1)", "np.tril(A, -1)", "np.tril(T)", "np.diag(v, 1)", "np.diag(A, -1)", "np.diagonal(S, 1)",
        "np.diagonal(T, axis1=0, axis2=1)", "np.take(A, [0, 2], axis=1)"],
    "joining": [
        "np.concatenate((A, B), axis=-1)", "np.concatenate((A, B), axis=None)", "np.concatenate((F, A))",
        "np.stack((A, B), axis=-1)", "np.vstack((A, v))", "np.hstack((v, w))", "np.column_stack((A, w))",
        "np.dstack((A, B))", "np.append(v, s)", "np.split(A, 2)", "np.pad(A, ((1, 2), (0, 1)))",
        "np.pad(A, 1, mode='edge')", "np.pad(A, 1, mode='reflect')", "np.array([s, 2.0, t])",
        "np.array([[s, t], [t, s]])", "np.array([v, v])", "np.meshgrid(v, w)"],
    "negative steps": [
        "v[::-1]", "v[5:1:-2]", "A[::-1]", "A[:, ::-1]", "A[::-1, ::-1]", "v[3::-1]", "v[-1:-4:-1]", "v[::-2]",
        "A[1, ::-1]", "A[::-1, 2]", "v[::-1] + v", "A[::-1].sum(axis=0)", "T[:, ::-1, 1]", "v[1:4][::-1]",
        "(A * B)[::-1]", "A[None, ::-1]", "A[..., ::-1]", "v[:, None][:, ::-1]", "A[::-1, :1]"],
    "slices of one element": [
        "A[:, :1]", "A[1:2, 1:2]", "A[1:2, 1]", "A[1:2]", "A[:, 1:2, None]", "c[1:3]", "c[2]", "A[:, :1] + A",
        "A[:, :1] @ r", "A[2:3].T", "T[:1, :, 1:2]", "v[2:3]", "A[-1]", "A[1:-1, 1:-1]"],
    "slices of no element": [
        "A[:0].sum(axis=0)", "A[:, :0].sum(axis=1)", "A[:, :0] @ B[:0]", "A[2:3, :0] @ B[:0]"],
    "products": [
        "np.outer(v, w)", "np.inner(A, B)", "np.vdot(A, B)", "np.kron(A, S)", "np.kron(v, A)", "np.dot(v, v)",
        "np.dot(A, 2.0)", "np.dot(T, v)", "A.dot(P)", "v @ v", "A @ v", "w @ A", "A @ P", "T @ v", "T @ U", "T @ P",
        "A @ U", "w @ T", "F @ F.T", "I @ v", "A[:, :3] @ u", "np.cross(u, x)", "np.cross(A[:, :3], u)",
        "np.linalg.matrix_power(S, 3)", "np.linalg.multi_dot([A, P, u])", "r @ A.T", "A @ r.T", "c @ r",
        "np.linalg.solve(S, w)"],
    "tensors": [
        "np.tensordot(A, P, 1)", "np.tensordot(A, B)", "np.tensordot(v, w, 0)", 'np.einsum("ij,jk->ik", A, P)',
        'np.einsum("ij->ji", A)', 'np.einsum("ii->i", S)', 'np.einsum("ii", S)', 'np.einsum("ij,ij->", A, B)'],
    "creation": [
        "np.zeros_like(A)", "np.ones_like(F)", "np.full_like(I, 2)", "np.zeros((2, 3))", "np.full((2, 3), 1.5)",
        "np.full(3, s)", "np.eye(3, 4, 1)", "np.identity(3)", "np.arange(5) * s", "np.arange(1.0, 3.0, 0.5)",
        "np.arange(9, 2, -2)", "np.linspace(s, t, 4)", "np.linspace(0, 1, 5, endpoint=False)", "np.copy(A)",
        "A.copy()", "np.zeros(A.shape[0])", "np.tri(3)", "np.zeros_like(A, dtype=np.float32)",
        "np.linspace(0, 1, 5, dtype=np.float32)", "np.ones_like(A) * s"],
    "splits": [
        "np.split(A, [1, 3], axis=1)", "np.array_split(Y, 4)", "np.array_split(A, 3, axis=1)", "np.hsplit(X, 3)",
        "np.vsplit(A, 2)", "np.dsplit(X, 2)", "np.hsplit(Y, [2, 4])", "np.unstack(A, axis=1)"],
    "more joins": [
        "np.stack([v, v * 2], axis=1)", "np.dstack([v, v])", "np.block([[M, M], [M[:1], M[1:2]]])",
        "np.append(A, A, axis=1)", "np.append(A, v)", "np.concat([v, w])", "np.vstack([s, t])",
        "np.hstack([s, v, 2.0])", "np.column_stack([v, v * v])", "np.meshgrid(v, w, indexing='ij')",
        "np.meshgrid(v, w, u)", "np.insert(v, 2, s)", "np.insert(v, [1, 3], w[:2])", "np.insert(A, 1, w, axis=1)",
        "np.delete(v, 2)", "np.delete(A, [0, 2], axis=1)", "np.delete(A, slice(0, 2), axis=0)",
        "np.resize(v, (2, 4))", "np.tile(X, (2, 1, 1))", "np.repeat(v, [1, 0, 2, 1, 3])"],
    "more views": [
        "np.flipud(A)", "np.fliplr(A)", "np.rollaxis(X, 2)", "np.rollaxis(X, 0, 3)", "np.atleast_3d(v)",
        "np.atleast_3d(A)", "np.atleast_1d(v, A)", "np.broadcast_arrays(c, r)", "np.matrix_transpose(X)",
        "np.linalg.matrix_transpose(D)", "np.linalg.diagonal(D, offset=1)", "np.diagonal(X, 0, 1, 2)",
        "np.expand_dims(v, 0)", "np.squeeze(X[:, :1])", "np.moveaxis(X, [0, 2], [2, 0])",
        "np.permute_dims(X, (2, 0, 1))", "X.flatten('F')", "X.squeeze()", "X.swapaxes(0, 1)", "X.diagonal(0, 1, 2)",
        "np.ravel(A, order='F')", "X.reshape(2, -1)", "np.size(X)*s", "np.size(X, 1)*s", "np.ndim(X)*s",
        "np.transpose(A)[1]", "np.asarray(v)", "np.float32(v)", "np.float64(F)", "A.astype(np.float32)",
        "A.astype(int)", "Z.astype(float)"],
    "differences": [
        "np.ediff1d(v)", "np.ediff1d(v, to_begin=s, to_end=w)", "np.gradient(Y, 0.5)", "np.gradient(Y, O)",
        "np.gradient(X, axis=2)", "np.unwrap(Y * 4)", "np.unwrap(A * 5, axis=0)", "np.cumulative_sum(v)",
        "np.cumulative_sum(A, axis=1, include_initial=True)", "np.cumulative_prod(v)",
        "np.maximum.accumulate(A, axis=1)", "np.minimum.accumulate(v)", "np.add.accumulate(A)",
        "np.multiply.accumulate(A, axis=1)", "np.nancumsum(v)"],
    "takes": [
        "np.take(A, o, axis=0)", "np.take(v, b)", "A.take([1, 7])",
        "np.take_along_axis(A, np.argsort(A, axis=1), axis=1)",
        "np.take_along_axis(A, np.array([[0], [1], [2], [3]]), 1)",
        "np.compress([True, False, True, True], A, axis=0)", "np.extract([True, False, True, True, False], v)",
        "np.choose(o, [w, 2 * w, w * w])", "np.choose(o, [w, s, 1.0])", "np.select([w > 1, w > 0], [w, w * w], 3.0)",
        "np.piecewise(w, [w < 0, w >= 0], [lambda t: -t, lambda t: t * t])",
        "np.piecewise(w, [w < 0], [1.0, lambda t: t])", "np.diagflat(M)", "np.diag(M)", "np.tril(v)",
        "np.triu(X, 1)", "A.item(3)", "s.item()", "A.item(1, 2)", "o.choose([w, w, 2 * w])",
        "A.compress([True, False, True, False], axis=0)"],
    "linear algebra": [
        "np.linalg.det(M)", "np.linalg.det(D)", "np.linalg.det(Q)", "np.linalg.slogdet(Q)", "np.linalg.inv(D)",
        "np.linalg.solve(D, X[:, :, :2])", "np.linalg.solve(D, X[:, :, :1])", "np.linalg.cholesky(S)",
        "np.linalg.cholesky(D @ np.swapaxes(D, 1, 2))", "np.linalg.cholesky(S, upper=True)",
        "np.linalg.matrix_power(M, 3)", "np.linalg.matrix_power(M, 0)", "np.linalg.multi_dot([A, P, M])",
        "np.linalg.tensorsolve(Q.reshape(2, 3, 6), Y.reshape(2, 3))", "np.linalg.tensorinv(Q.reshape(2, 3, 6), 2)"],
    "scipy linalg": [
        "scipy.linalg.inv(Q)", "scipy.linalg.det(M)", "scipy.linalg.cholesky(S)",
        "scipy.linalg.cholesky(S, lower=True)", "scipy.linalg.solve_triangular(Q, Y)",
        "scipy.linalg.solve_triangular(Q, Y, lower=True)", "scipy.linalg.solve_triangular(Q, Y, trans=1)",
        "scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), w)", "scipy.linalg.norm(v)"],
    "more norms": [
        "np.linalg.vector_norm(X)", "np.linalg.vector_norm(X, axis=1, ord=1)", "np.linalg.matrix_norm(X)",
        "np.linalg.matrix_norm(D, ord=1)"],
    "more products": [
        "np.vecdot(A, v)", "np.vecdot(X, X, axis=1)", "np.linalg.vecdot(A, A)", "np.matvec(A, v)", "np.vecmat(w, A)",
        "np.linalg.outer(v, w)", "np.linalg.cross(u, x)", "np.cross(u, M)", "np.linalg.tensordot(A, B, axes=2)",
        "np.linalg.trace(D)", "np.vdot(C, C)", "np.multiply.outer(v, A)", "np.subtract.outer(v, w)",
        "np.inner(X, A[:, :4])", "np.kron(u, A)", "u.dot(x)"],
    "statistics": [
        "np.min(A, initial=0.0)", "np.ptp(A)", "np.ptp(A, axis=1, keepdims=True)", "np.cov(v, v * v)",
        "np.cov(A, rowvar=False, bias=True)", "np.cov(v)", "np.corrcoef(A)", "np.corrcoef(v, v * v)", "np.nanvar(A)",
        "np.nanstd(A, axis=0, ddof=1)", "np.median(A, axis=0)", "np.median(X, axis=(0, 2), keepdims=True)",
        "np.percentile(A, [10, 50, 75], axis=1)", "np.quantile(X, 0.3, axis=(0, 1), keepdims=True)",
        "np.quantile(v, 0.4, method='lower')", "np.quantile(v, 0.4, method='higher')"],
    "sorting": [
        "np.sort(v)", "np.sort(X)", "np.argsort(A)", "np.argsort(o)",
        "np.argsort(np.round(A), axis=0, kind='stable')", "np.sort(N)", "np.partition(v, 4)[4]", "A.argsort(axis=0)",
        "np.searchsorted(O, B)", "np.searchsorted(O, 0.7, side='right')", "np.searchsorted(O, O, side='right')",
        "np.digitize(B, [0.2, 0.5, 0.7])", "np.digitize(B, [0.7, 0.5, 0.2], right=True)",
        "np.bincount([0, 2, 2, 1, 4], weights=v)", "np.bincount([0, 2, 2, 1, 0], weights=v, minlength=7)",
        "O.searchsorted(s)"],
    "nan": [
        "np.nansum(N)", "np.nanprod(N)", "np.nanmax(N)", "np.nanmin(N)", "np.nanmean(N)", "np.nanvar(N)",
        "np.nanstd(N)", "np.nan_to_num(N)", "np.isnan(N)", "np.nancumsum(N)", "np.nancumprod(N)",
        "np.nanmax(N * np.nan)", "np.isclose(N, N)", "np.isclose(N, N, equal_nan=True)", "np.allclose(A, A + 1e-12)",
        "np.array_equal(N, N)", "np.array_equal(N, N, equal_nan=True)", "np.array_equal(A, v)",
        "np.array_equiv(A, A)", "np.isposinf(E)", "np.isneginf(E)", "np.nan_to_num(E, posinf=1.0, neginf=-1.0)",
        "np.isreal(Z)", "np.iscomplex(Z)", "np.signbit(E)", "np.signbit(A)"],
    "tests": [
        "np.any(A > 1, axis=(0, 1))", "np.all(A > -1, axis=1, where=K)", "np.logical_and.reduce(K, axis=1)",
        "np.logical_or.reduce(K, axis=None)", "np.count_nonzero(K, axis=1, keepdims=True)", "A.any()",
        "np.argmin(X, axis=2)", "np.add.reduce(A, axis=1, keepdims=True)", "np.maximum.reduce(A, axis=None)",
        "np.multiply.reduce(A, initial=2.0)", "np.logaddexp.reduce(A, axis=1)", "np.add.reduce(K, axis=0)"],
    "polynomials": [
        "np.polyval(v, s)", "np.polyval(v, A)", "np.polyval([1.0, 2.0, 3.0], A)",
        "np.polynomial.polynomial.polyval(A, v)", "np.polyder(v)", "np.polyder(v, 2)", "np.polyint(v)",
        "np.polymul(u, x)", "np.polyadd(u, v)", "np.polysub(v, u)", "np.convolve(v, u)", "np.convolve(u, v, 'same')",
        "np.convolve(v, w, 'same')", "np.correlate(v, u)", "np.correlate(v, w, 'same')",
        "np.correlate(w, v, 'same')", "np.vander(u)", "np.vander(u, 4, increasing=True)"],
    "interpolation": [
        "np.interp(B, O, Y)"],
    "special": [
        "scipy.special.logsumexp(A)", "scipy.special.logsumexp(A, axis=1)",
        "scipy.special.logsumexp(A, axis=0, b=B, keepdims=True)", "scipy.special.softmax(A)",
        "scipy.special.softmax(A, axis=1)", "scipy.special.log_softmax(A, axis=0)", "scipy.special.expit(A * 500)",
        "scipy.special.logit(B)", "scipy.special.ndtr(A)", "scipy.special.log_expit(A * 300)",
        "scipy.special.entr(B)", "scipy.special.rel_entr(B, p)", "scipy.special.kl_div(B, p)",
        "scipy.special.huber(0.5, A)", "scipy.special.betaln(B, p)", "scipy.special.beta(B, p)",
        "scipy.special.psi(B)", "scipy.special.digamma(p)", "scipy.special.polygamma(1, p)",
        "scipy.special.xlog1py(B, p)", "scipy.special.exp10(A)", "scipy.special.cbrt(B)", "scipy.special.exp2(A)",
        "scipy.special.erfc(s)", "np.logaddexp(A, B)", "np.logaddexp2(A * 1000, 0.5)", "np.sinc(A)", "np.angle(A)",
        "np.angle(Z, deg=True)", "np.round(A, 2)", "np.round(s)", "np.fix(A)", "s.round(1)", "np.real_if_close(A)",
        "np.heaviside(A, 0.5)", "np.logaddexp(A * 1000, 0.0)"],
    "numbers at distances": [
        "np.logspace(s, t, 4)", "np.logspace(s, 1.0, 3, base=2.0)", "np.geomspace(s, t, 4)",
        "np.geomspace(p, 2.0, 3)", "np.full((2, 2), s)", "np.full_like(A, s)", "np.tri(3) * s", "np.eye(3) * s",
        "np.ones_like(A) * s", "np.zeros_like(v, shape=(2, 3))"],
    "fourier": [
        "np.fft.fft(Y)", "np.fft.fft(X, axis=1)", "np.fft.ifft(C)", "np.fft.fft(v, n=3)", "np.fft.rfft(Y)",
        "np.fft.rfft(v)", "np.fft.irfft(C)", "np.fft.irfft(C, 7)", "np.fft.fft2(A)", "np.fft.fftshift(Y)",
        "np.fft.ifftshift(v)", "np.fft.fftshift(A, axes=1)", "np.fft.ifft(Y, norm='forward')",
        "np.fft.hfft(C)", "np.fft.ihfft(v)", "np.fft.rfft2(A)", "np.fft.irfftn(np.fft.rfftn(A), A.shape, (0, 1))"],
}  # fmt: skip

# Rows and functions whose slopes are those of others
SLICES = ("negative steps", "slices of one element", "slices of no element", "operators integer", "two operands mixed")
WITHOUT_SLOPES = {"one operand float32", "one operand integer", "two operands float32", "tests", *SLICES}
COMPOSED = ("np.fft.fft2", "np.fft.ifft", "np.fft.fftn", "scipy.linalg.cho", "scipy.linalg.inv", "np.linalg.tensor")


def _evaluated(expression, values):
    with np.errstate(all="ignore"):
        return eval(expression, {"np": np, "math": math, "scipy": scipy}, dict(values))  # noqa: S307


def _parts(expression):
    """The results of an expression, one by one: an expression for each, and its value."""
    value = _evaluated(expression, INPUTS)
    if not isinstance(value, (tuple, list)):
        return [(expression, value)]
    return [(f"{expression}[{k}]", v) for k, v in enumerate(value)]


def _program(folder, parameters, body):
    """A function from its text, in a file: what is recorded is converted from its source."""
    name = f"called_{hashlib.sha1((parameters + body).encode()).hexdigest()[:12]}"
    path = folder / f"{name}.py"
    imports = "import math\nimport numpy as np\nimport scipy.special\nimport scipy.linalg\n"
    path.write_text(f"{imports}\n\ndef {name}({parameters}):\n    {body}\n")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)


def _inputs_of(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id in INPUTS})


def _copies(names):
    return [INPUTS[n].copy() for n in names]


def _slopes():
    """For each row, the first expression with each function, and some of the others."""
    met, rows = set(), {}
    for row, expressions in TABLE.items():
        others = 0
        for expression in expressions if row not in WITHOUT_SLOPES else ():
            called = re.match(r"(?:np|scipy|math)\.[\w.]+", expression)
            others += called is None
            if others <= 2 if called is None else called.group() not in met and not expression.startswith(COMPOSED):
                met.add(called and called.group())
                rows.setdefault(row, []).extend(p for p in _parts(expression) if _has_slope(p[1]))
    return {row: parts for row, parts in rows.items() if parts}


def _has_slope(value):
    value = np.asarray(value)
    return value.dtype in (np.float64, np.complex128) and value.size > 0 and bool(np.all(np.isfinite(value)))


def _together(rows, count):
    """Rows as fewer programs, of several rows each."""
    names = list(rows)
    groups = [names[k : k + count] for k in range(0, len(names), count)]
    return {", ".join(g): [part for name in g for part in rows[name]] for g in groups}


SLOPES = _slopes()
COMPARED = {e for parts in SLOPES.values() for e, _ in parts}
OTHERS = {row: [p for e in TABLE[row] for p in _parts(e) if p[0] not in COMPARED] for row in TABLE}
VALUES = _together({row: parts for row, parts in OTHERS.items() if parts}, 3)
SLOPES = _together(SLOPES, 2)


@pytest.mark.parametrize("row", VALUES)
def test_values(row, tmp_path):
    text = ", ".join(e for e, _ in VALUES[row]) + ","
    names = _inputs_of(f"({text})")
    results = sdgrad.compile_forward(_program(tmp_path, ", ".join(names), f"return ({text})"))(*_copies(names))
    for (expression, want), got in zip(VALUES[row], results if isinstance(results, tuple) else (results,), strict=True):
        want = np.asarray(want)
        assert np.shape(got) == want.shape, expression
        assert np.asarray(got).dtype == want.dtype, expression
        tolerance = 1e-5 if want.dtype in (np.float32, np.complex64) else 1e-10
        np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=expression)


def _weighted(parts):
    """The body that returns a weighted sum of all results, and how many weights it takes."""
    lines, count = ["total = 0.0"], 0
    for expression, value in parts:
        shape, size = np.shape(value), np.size(value)
        weights = f"np.reshape(_w[{count}:{count + size}], {shape})"
        lines.append(f"e = {expression}")
        lines.append(f"assert np.shape(e) == {shape} and np.result_type(e) == '{np.asarray(value).dtype}'")
        sides = ("np.real(e)", "np.imag(e)") if np.iscomplexobj(value) else ("e",)
        lines += [f"total = total + np.sum({side} * {weights})" for side in sides]
        count += size
    return "\n    ".join([*lines, "return total"]), count


@pytest.mark.parametrize("row", SLOPES)
def test_values_and_slopes(row, tmp_path):
    """A weighted sum, and its gradient in two directions for each argument against differences."""
    names = _inputs_of(f"({', '.join(e for e, _ in SLOPES[row])},)")
    by = tuple(n for n in names if INPUTS[n].dtype == np.float64)
    body, count = _weighted(SLOPES[row])
    f = _program(tmp_path, ", ".join([*names, "_w"]), body)
    random = np.random.default_rng(3)
    given = dict(zip([*names, "_w"], [*_copies(names), random.uniform(0.5, 1.5, count)], strict=True))
    value, gradients = sdgrad.value_and_grad(f, wrt=by or "_w")(*given.values())
    assert value == pytest.approx(f(**given), rel=1e-9)
    for name, gradient in zip(by, gradients if by else (), strict=True):
        for _ in range(2):
            way = random.standard_normal(np.shape(given[name]))
            high, low = (f(**{**given, name: given[name] + h * way}) for h in (1e-6, -1e-6))
            assert np.sum(gradient * way) == pytest.approx((high - low) / 2e-6, rel=2e-5, abs=1e-5), name
