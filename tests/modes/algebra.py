"""Products, linear algebra, Fourier transforms, and functions of complex numbers."""

from __future__ import annotations

from .lines import Line

PRODUCTS = (
    "np.matmul(A, P)", "np.linalg.matmul(T, P)", "A @ v", "w @ A", "np.dot(A, P)", "np.dot(v, v)", "np.dot(T, v)",
    "A.dot(P)", "np.inner(A, B)", "np.vdot(A, B)", "np.vecdot(A, v)", "np.linalg.vecdot(A, B)", "np.matvec(A, v)",
    "np.vecmat(w, A)", "np.outer(v, w)", "np.linalg.outer(v, w)", "np.tensordot(A, P, 1)",
    "np.linalg.tensordot(A, B, axes=2)", "np.trace(A)", "np.trace(S, offset=1)", "np.linalg.trace(D)", "A.trace()",
    "np.kron(A, P)", "np.kron(v, w)", "np.cross(u, x)", "np.linalg.cross(u, x)", "np.linalg.multi_dot([A, P, P.T])",
    "np.einsum('ij,jk->ik', A, P)", "np.einsum('ij->ji', A)", "np.einsum('ii', S)", "np.einsum('ij,ij,j->', A, B, v)",
)  # fmt: skip

LINEAR = (
    "np.linalg.solve(M, w)", "np.linalg.solve(M, A)", "np.linalg.solve(D, D)", "np.linalg.inv(M)", "np.linalg.inv(D)",
    "np.linalg.cholesky(S @ np.conj(S.T))", "np.linalg.cholesky(S @ np.conj(S.T), upper=True)",
    "np.linalg.tensorinv(Q.reshape(2, 3, 6), 2)",
    "np.linalg.tensorsolve(Q.reshape(2, 3, 6), Y.reshape(2, 3))", "linalg.inv(M)",
    "linalg.cholesky(S @ np.conj(S.T), lower=True)",
    "linalg.solve_triangular(M, w)", "linalg.solve_triangular(M, A, lower=True)",
    "linalg.solve_triangular(M, w, trans=1)", "linalg.cho_solve(linalg.cho_factor(S @ np.conj(S.T)), w)",
    "np.linalg.norm(v)", "np.linalg.norm(v, 1)", "np.linalg.norm(v, np.inf)", "np.linalg.norm(v, 3)",
    "np.linalg.norm(A)", "np.linalg.norm(A, axis=1)", "np.linalg.norm(A, 1)", "np.linalg.vector_norm(T)",
    "np.linalg.vector_norm(T, axis=1, ord=1)", "np.linalg.matrix_norm(T)", "np.linalg.matrix_norm(D, ord=1)",
    "linalg.norm(v)", "np.linalg.matrix_power(M, 3)", "np.linalg.matrix_power(M, -1)", "np.linalg.det(M)",
    "np.linalg.eigh(S + np.conj(S.T))[0]", "np.linalg.eigvalsh(S + np.conj(S.T))", "np.linalg.svd(A, compute_uv=False)",
    "np.linalg.svdvals(A)", "np.linalg.qr(M)[1]", "np.linalg.qr(A)[0]", "np.linalg.pinv(M)", "np.linalg.cond(M)",
    "np.linalg.matrix_rank(M)", "np.linalg.lstsq(M, w)[0]", "linalg.eigh(S + np.conj(S.T))[0]",
    "linalg.eigvalsh(S + np.conj(S.T))", "linalg.svd(M)[1]", "linalg.svdvals(A)", "linalg.qr(M)[1]", "linalg.pinv(M)",
    "linalg.null_space(A) @ np.conj(linalg.null_space(A).T)", "linalg.orth(P) @ np.conj(linalg.orth(P).T)",
    "linalg.rq(M)[0]", "np.linalg.qr(P, mode='complete')[1]", "linalg.qr(M, pivoting=True)[0]",
    "np.linalg.svd(S, hermitian=True)[1]", "linalg.polar(M)[0]", "np.linalg.det(D)", "linalg.det(M)",
    "np.linalg.slogdet(M)[1]", "np.linalg.slogdet(M)[0]",
)  # fmt: skip

SOLVERS = (
    "linalg.solve(M, w)", "linalg.solve(S @ np.conj(S.T), A, assume_a='pos')", "linalg.lstsq(M, w)[0]",
    "linalg.lu_factor(M)[0]", "linalg.lu(A)[2]", "linalg.lu(D, permute_l=True)[0]",
    "linalg.lu_solve(linalg.lu_factor(M), w)", "linalg.solve_sylvester(M, S, M @ S)",
    "linalg.solve_continuous_lyapunov(M, S)", "linalg.solve_discrete_lyapunov(0.1 * M, S)",
    "linalg.solve_continuous_are(M, M, S @ np.conj(S.T), S @ np.conj(S.T))",
    "linalg.solve_discrete_are(M, M, S @ np.conj(S.T), S @ np.conj(S.T))", "linalg.solve_banded((1, 1), M, w)",
    "linalg.cholesky_banded(np.stack([w * np.conj(w) + 3.0, 0.1 * w]), lower=True)",
    "linalg.cho_solve_banded((np.stack([0.1 * w, w * np.conj(w) + 3.0]), False), w)",
    "linalg.solveh_banded(np.stack([w * np.conj(w) + 3.0, 0.1 * w]), w, lower=True)",
    "linalg.solve_toeplitz((w, c[:, 0]), w)", "linalg.matmul_toeplitz((v, v), v)", "linalg.solve_circulant(v, v)",
    "linalg.pinvh(S)", "linalg.orthogonal_procrustes(M, S)[0]", "linalg.orthogonal_procrustes(M, S)[1]",
)  # fmt: skip

FUNCTIONS = (
    "linalg.expm(M)", "linalg.expm(D)", "linalg.expm_frechet(M, S, compute_expm=False)", "linalg.cosm(0.3 * M)",
    "linalg.sinm(0.3 * M)", "linalg.tanm(0.1 * M)", "linalg.coshm(0.3 * M)", "linalg.sinhm(0.3 * M)",
    "linalg.tanhm(0.3 * M)", "linalg.sqrtm(S @ np.conj(S.T))", "linalg.logm(S @ np.conj(S.T))",
    "linalg.fractional_matrix_power(S @ np.conj(S.T), 0.5)", "np.real(np.linalg.eigvals(M))",
    "np.abs(np.linalg.eig(M)[1])", "np.imag(np.linalg.eigvals(D))", "np.real(linalg.eigvals(M))",
    "np.abs(linalg.eig(M)[1])", "linalg.eigh_tridiagonal(v, w)[0]", "linalg.eigvalsh_tridiagonal(v, w)",
    "linalg.eig_banded(A)[0]", "linalg.eigvals_banded(A, lower=True)", "linalg.subspace_angles(P[:, :1], P[:, 1:])",
    "linalg.qr_multiply(M, A, 'left')[0]",
)  # fmt: skip

STRUCTURED = (
    "linalg.toeplitz(v, w)", "linalg.toeplitz(v)", "linalg.hankel(v, w)", "linalg.circulant(v)",
    "linalg.block_diag(A, w)", "linalg.companion(p)", "linalg.convolution_matrix(v, 3)", "linalg.khatri_rao(A, B)",
    "linalg.leslie(p, w)", "linalg.fiedler_companion(p)", "linalg.diagsvd(w, 3, 5)", "linalg.fiedler(v)",
)  # fmt: skip


def _fourier() -> tuple[str, ...]:
    found = []
    for module in ("np.fft", "fft"):
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            found += [f"{module}.{name}(v)", f"{module}.{name}(A, axis=0)", f"{module}.{name}(Y, 5, norm='ortho')"]
        for name in ("fftn", "ifftn", "rfftn", "irfftn"):
            found += [f"{module}.{name}(T)", f"{module}.{name}(A)"]
        for name in ("fft2", "ifft2", "rfft2", "irfft2"):
            found.append(f"{module}.{name}(A)")
        found += [f"{module}.fftshift(A)", f"{module}.ifftshift(v)"]
    return tuple(found)


COMPLEX = (
    *(f"cmath.{name}(s)" for name in ("exp", "sqrt", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "acos",
                                      "asin", "atan", "acosh", "asinh", "atanh", "log", "phase")),
    "cmath.polar(s)[0]", "cmath.polar(s)[1]", "cmath.rect(s, t)", "np.real(A)", "np.imag(A)", "np.conj(A)",
    "np.angle(B)", "np.angle(B, deg=True)", "np.abs(A)", "A * np.conj(A)",
)  # fmt: skip

LINES = tuple(map(Line, (*PRODUCTS, *LINEAR, *SOLVERS, *FUNCTIONS, *STRUCTURED, *_fourier(), *COMPLEX)))
