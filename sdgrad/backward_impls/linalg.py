"""Linear algebra nodes (M. Giles, Collected matrix derivative results, 2008).

``X = A^-1 B``: ``B' = A^-H X'``, ``A' = -B' X^H``. ``Y = A^-1``: ``A' = -Y^H Y' Y^H``. ``A = L L^H``:
``S = L^-H phi(L^H L') L^-1``, with ``phi`` the lower triangle with half the diagonal. The factorization reads the lower
triangle of ``A`` only, as NumPy's does, so the gradient is ``S + S^H`` below the diagonal, ``S`` on it and zero above.
Real matrices have that from a node of its own (:mod:`sdgrad.runtime.libraries.cholesky`), which has derivatives too.
Triangular systems are those of ``Solve``, with the lower triangle of ``A'``. Where systems are differentiated, they are
solved in two steps (:mod:`sdgrad.rewrite.solve_factorization`): the factors serve the adjoint as well.
Forward: ``dX = A^-1 (dB - dA X)``, ``dY = -Y dA Y``, ``dL = L phi(L^-1 dA L^-H)``.
"""

from __future__ import annotations

import dace
from dace.libraries.linalg import Solve

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent, extents
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Node, NodeCall, Program, Region
from sdgrad.runtime.libraries.cholesky import CholeskyAdjoint
from sdgrad.runtime.libraries.lu import FactoredSolve
from sdgrad.runtime.libraries.triangular_solve import TriangularSolve
from sdgrad.symbolic.expr import sym

COMPLEX = (dace.complex64, dace.complex128)


def _is_complex(build: Builder, region) -> bool:
    return build.dtype(region) in COMPLEX


def _solve_needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return ("_ain", "_bout") if "_ain" in wanted else ("_ain",)


def _solve(context: CallContext) -> list[Node]:
    """Add ``B' = A^-H X'``, then ``A' = -B' X^H``."""
    build = Builder(context)
    a, seed = context.primal("_ain"), context.cotangent("_bout")
    conj = _is_complex(build, a)
    b_bar = build.temporary("solve_adjoint", extents(seed), build.dtype(seed))
    build.call(Solve("solve_adjoint"), {"_ain": build.transposed(a, conj), "_bin": seed}, {"_bout": b_bar})
    if "_bin" in context.wanted:
        build.elementwise(build.target("_bin"), "a", "sum", a=b_bar)
    if "_ain" in context.wanted:
        text = "-(a * conj(b))" if conj else "-(a * b)"
        build.product(b_bar, context.primal("_bout"), build.target("_ain"), text, fresh=False, transpose_b=True)
    clear_cotangent(build, context, "_bout")
    return build.nodes


def _factorization(context: CallContext) -> list[Node]:
    """Take the cotangent of the factors as that of the matrix."""
    build = Builder(context)
    build.elementwise(build.target("_a"), "a", "sum", a=context.cotangent("_f"))
    clear_cotangent(build, context, "_f")
    return build.nodes


def _factored_needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return ("_f", "_p", "_x") if "_f" in wanted else ("_f", "_p")


def _factored_solve(context: CallContext) -> list[Node]:
    """Add ``B' = A^-H X'`` and ``A' = -B' X^H``; for ``A^H X = B``, ``B' = A^-1 X'`` and ``A' = -X B'^H``."""
    build = Builder(context)
    factors, seed = context.primal("_f"), context.cotangent("_x")
    adjoint, conj = context.call.node.adjoint, _is_complex(build, factors)
    b_bar = build.temporary("solve_adjoint", extents(seed), build.dtype(seed))
    given = {"_f": factors, "_p": context.primal("_p"), "_b": seed}
    build.call(FactoredSolve("solve_adjoint", adjoint=not adjoint), given, {"_x": b_bar})
    if "_b" in context.wanted:
        build.elementwise(build.target("_b"), "a", "sum", a=b_bar)
    if "_f" in context.wanted:
        left, right = (context.primal("_x"), b_bar) if adjoint else (b_bar, context.primal("_x"))
        text = "-(a * conj(b))" if conj else "-(a * b)"
        build.product(left, right, build.target("_f"), text, fresh=False, transpose_b=True)
    clear_cotangent(build, context, "_x")
    return build.nodes


def _inverse(context: CallContext) -> list[Node]:
    """Add ``A' = -Y^H Y' Y^H``."""
    build = Builder(context)
    y, seed = context.primal("_aout"), context.cotangent("_aout")
    left, right = ("conj(a) * b", "-(a * conj(b))") if _is_complex(build, y) else ("a * b", "-(a * b)")
    half = build.temporary("inverse_adjoint", extents(seed), build.dtype(seed))
    build.product(y, seed, half, left, transpose_a=True)
    build.product(half, y, build.target("_ain"), right, fresh=False, transpose_b=True)
    clear_cotangent(build, context, "_aout")
    return build.nodes


def _cholesky(context: CallContext) -> list[Node]:
    """Add the gradient of the lower triangle of ``A``, from ``S = L^-H phi(L^H L') L^-1``."""
    build = Builder(context)
    lower, seed = context.primal("_b"), context.cotangent("_b")
    n, dtype = extents(seed)[0], build.dtype(seed)
    if _is_complex(build, lower):
        _, s = _unfolded(build, lower, seed)
        i, j = build.params([n, n])
        x, y = sym(i.name), sym(j.name)
        text = f"(a + conj(b) if {i.name} > {j.name} else ((a + conj(a)) / 2 if {i.name} == {j.name} else 0))"
        build.leaf((i, j), {"a": (s, [x, y]), "b": (s, [y, x])}, text, build.target("_a"), [x, y], "sum")
    else:
        gradient = build.temporary("cholesky_adjoint", [n, n], dtype)
        build.call(CholeskyAdjoint(), {"_l": lower, "_s": seed}, {"_g": gradient})
        build.elementwise(build.target("_a"), "a", "sum", a=gradient)
    clear_cotangent(build, context, "_b")
    return build.nodes


def _unfolded(build: Builder, lower: Region, seed: Region) -> tuple[Region, Region]:
    """Return the lower triangle of ``L'``, and ``S``: its two triangles make the gradient."""
    conj = _is_complex(build, lower)
    n, dtype = extents(seed)[0], build.dtype(seed)
    p, half, s = (build.temporary(name, [n, n], dtype) for name in ("phi", "half", "s"))
    # L' above the diagonal belongs to entries that are zero whatever A is
    moved = _triangle(build, seed, n, dtype, "a")
    build.product(lower, moved, p, "conj(a) * b" if conj else "a * b", transpose_a=True)
    masked = _triangle(build, p, n, dtype, "a / 2")
    build.call(TriangularSolve("solve_left", adjoint=True), {"_a": lower, "_b": masked}, {"_x": half})
    build.call(TriangularSolve("solve_right", side="right"), {"_a": lower, "_b": half}, {"_x": s})
    return moved, s


def _cholesky_adjoint(context: CallContext) -> list[Node]:
    """Reverse the adjoint of a Cholesky factorization, for second derivatives.

    With ``S^`` symmetric from ``G'``, ``H = S^ L^-T`` and ``Q = phi(L^-1 H)``: ``M' = L Q``, and for the factor
    ``L' = M Q^T - (S + S^T) H``; of both the lower triangle.
    """
    build = Builder(context)
    lower, seed = context.primal("_l"), context.cotangent("_g")
    n, dtype = extents(seed)[0], build.dtype(seed)
    moved, s = _unfolded(build, lower, context.primal("_s"))
    both, h, inner = (build.temporary(name, [n, n], dtype) for name in ("both", "h", "inner"))
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    operands = {"a": (seed, [x, y]), "b": (seed, [y, x])}
    build.leaf((i, j), operands, f"(a if {i.name} >= {j.name} else b)", both, [x, y])
    build.call(TriangularSolve("solve_right", side="right", adjoint=True), {"_a": lower, "_b": both}, {"_x": h})
    build.call(TriangularSolve("solve_left"), {"_a": lower, "_b": h}, {"_x": inner})
    q = _triangle(build, inner, n, dtype, "a / 2")
    if "_s" in context.wanted:
        of_seed = build.temporary("seed_adjoint", [n, n], dtype)
        build.product(_triangle(build, lower, n, dtype, "a"), q, of_seed)
        build.elementwise(build.target("_s"), "a", "sum", a=_triangle(build, of_seed, n, dtype, "a"))
    if "_l" in context.wanted:
        of_factor = build.temporary("factor_adjoint", [n, n], dtype)
        build.product(moved, q, of_factor, transpose_b=True)
        build.product(s, h, of_factor, "-(a * b)", fresh=False)
        build.product(s, h, of_factor, "-(a * b)", fresh=False, transpose_a=True)
        build.elementwise(build.target("_l"), "a", "sum", a=_triangle(build, of_factor, n, dtype, "a"))
    clear_cotangent(build, context, "_g")
    return build.nodes


def _triangular_needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return ("_a", "_x") if "_a" in wanted else ("_a",)


def _triangular(context: CallContext) -> list[Node]:
    """Add ``B' = op(L)^-H X'``, and ``op(L)' = -B' X^H`` (from the left) or ``-X^H B'``."""
    build = Builder(context)
    node = context.call.node
    a, seed, conj = context.primal("_a"), context.cotangent("_x"), _is_complex(build, context.primal("_a"))
    b_bar = build.temporary("triangular_adjoint", extents(seed), build.dtype(seed))
    opposite = TriangularSolve("triangular_adjoint", side=node.side, adjoint=not node.adjoint)
    build.call(opposite, {"_a": a, "_b": seed}, {"_x": b_bar})
    if "_b" in context.wanted:
        build.elementwise(build.target("_b"), "a", "sum", a=b_bar)
    if "_a" in context.wanted:
        left, n = node.side == "left", extents(a)[0]
        pair = (b_bar, context.primal("_x")) if left != node.adjoint else (context.primal("_x"), b_bar)
        text = ("-(a * conj(b))" if left else "-(conj(a) * b)") if conj else "-(a * b)"
        whole = build.temporary("triangular_matrix_adjoint", [n, n], build.dtype(seed))
        build.product(*pair, whole, text, transpose_a=not left, transpose_b=left)
        build.elementwise(build.target("_a"), "a", "sum", a=_triangle(build, whole, n, build.dtype(seed), "a"))
    clear_cotangent(build, context, "_x")
    return build.nodes


def _triangle(build: Builder, region, n, dtype, diagonal: str) -> Region:
    """Return the lower triangle of a matrix, with something else on the diagonal."""
    result = build.temporary("lower", [n, n], dtype)
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    text = f"(a if {i.name} > {j.name} else ({diagonal} if {i.name} == {j.name} else 0))"
    build.leaf((i, j), {"a": (region, [x, y])}, text, result, [x, y])
    return result


# --- forward
def _solve_forward(context: TangentContext) -> list[Node]:
    """Return ``dX = A^-1 (dB - dA X)``."""
    build = Builder(context)
    a, x, result = context.primal("_ain"), context.primal("_bout"), context.tangent("_bout")
    right = build.temporary("moved_right_side", extents(x), build.dtype(x))
    if "_bin" in context.given:
        build.elementwise(right, "a", a=context.tangent("_bin"))
    else:
        build.elementwise(right, "0")
    if "_ain" in context.given:
        build.product(context.tangent("_ain"), x, right, "-(a * b)", fresh=False)
    build.call(Solve("solve_tangent"), {"_ain": a, "_bin": right}, {"_bout": result})
    return [context.call, *build.nodes]


def _factorization_forward(context: TangentContext) -> list[Node]:
    build = Builder(context)
    build.elementwise(context.tangent("_f"), "a", a=context.tangent("_a"))
    return [context.call, *build.nodes]


def _factored_solve_forward(context: TangentContext) -> list[Node]:
    """Return ``dX = A^-1 (dB - dA X)`` by the factors of ``A``."""
    build = Builder(context)
    x, result, adjoint = context.primal("_x"), context.tangent("_x"), context.call.node.adjoint
    right = build.temporary("moved_right_side", extents(x), build.dtype(x))
    if "_b" in context.given:
        build.elementwise(right, "a", a=context.tangent("_b"))
    else:
        build.elementwise(right, "0")
    if "_f" in context.given:
        text = "-(conj(a) * b)" if adjoint and _is_complex(build, x) else "-(a * b)"
        build.product(context.tangent("_f"), x, right, text, fresh=False, transpose_a=adjoint)
    given = {"_f": context.primal("_f"), "_p": context.primal("_p"), "_b": right}
    build.call(FactoredSolve("solve_tangent", adjoint=adjoint), given, {"_x": result})
    return [context.call, *build.nodes]


def _inverse_forward(context: TangentContext) -> list[Node]:
    """Return ``dY = -Y dA Y``."""
    build = Builder(context)
    y, result = context.primal("_aout"), context.tangent("_aout")
    half = build.temporary("inverse_tangent", extents(y), build.dtype(y))
    build.product(y, context.tangent("_ain"), half)
    build.product(half, y, result, "-(a * b)")
    return [context.call, *build.nodes]


def _cholesky_forward(context: TangentContext) -> list[Node]:
    """Return ``dL = L phi(L^-1 dA L^-H)``."""
    build = Builder(context)
    lower, moved, result = context.primal("_b"), context.tangent("_a"), context.tangent("_b")
    conj = _is_complex(build, lower)
    n, dtype = extents(lower)[0], build.dtype(lower)
    whole, half, p = (build.temporary(name, [n, n], dtype) for name in ("moved", "half", "phi"))
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    mirrored, pivot = ("conj(b)", "(a + conj(a)) / 2") if conj else ("b", "a")  # the diagonal is read as real numbers
    operands = {"a": (moved, [x, y]), "b": (moved, [y, x])}
    text = f"(a if {i.name} > {j.name} else ({pivot} if {i.name} == {j.name} else {mirrored}))"
    build.leaf((i, j), operands, text, whole, [x, y])
    build.call(TriangularSolve("solve_left"), {"_a": lower, "_b": whole}, {"_x": half})
    build.call(TriangularSolve("solve_right", side="right", adjoint=True), {"_a": lower, "_b": half}, {"_x": p})
    build.product(lower, _triangle(build, p, n, dtype, "a / 2"), result)
    return [context.call, *build.nodes]


def _cholesky_adjoint_forward(context: TangentContext) -> list[Node]:
    """Return ``dS = L^-T (phi(dL^T M + L^T dM) - dL^T S L - L^T S dL) L^-1``, made a gradient."""
    build = Builder(context)
    lower, result = context.primal("_l"), context.tangent("_g")
    n, dtype = extents(result)[0], build.dtype(result)
    moved, s = _unfolded(build, lower, context.primal("_s"))
    factor = _triangle(build, lower, n, dtype, "a")
    p, right, half, found = (build.temporary(name, [n, n], dtype) for name in ("phi", "moved_right", "half", "moved"))
    build.elementwise(p, "0")
    if "_s" in context.given:
        own = _triangle(build, context.tangent("_s"), n, dtype, "a")
        build.product(factor, own, p, fresh=False, transpose_a=True)
    if "_l" in context.given:
        of_factor = _triangle(build, context.tangent("_l"), n, dtype, "a")
        build.product(of_factor, moved, p, fresh=False, transpose_a=True)
    build.elementwise(right, "a", a=_triangle(build, p, n, dtype, "a / 2"))
    if "_l" in context.given:
        behind, before = (build.temporary(name, [n, n], dtype) for name in ("behind", "before"))
        build.product(s, factor, behind)
        build.product(of_factor, behind, right, "-(a * b)", fresh=False, transpose_a=True)
        build.product(factor, s, before, transpose_a=True)
        build.product(before, of_factor, right, "-(a * b)", fresh=False)
    build.call(TriangularSolve("solve_left", adjoint=True), {"_a": lower, "_b": right}, {"_x": half})
    build.call(TriangularSolve("solve_right", side="right"), {"_a": lower, "_b": half}, {"_x": found})
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    text = f"(a + b if {i.name} > {j.name} else (a if {i.name} == {j.name} else 0))"
    build.leaf((i, j), {"a": (found, [x, y]), "b": (found, [y, x])}, text, result, [x, y])
    return [context.call, *build.nodes]


def _triangular_forward(context: TangentContext) -> list[Node]:
    """Return the tangent of a triangular system: one more solution by the same triangle."""
    build = Builder(context)
    node, a, x, result = context.call.node, context.primal("_a"), context.primal("_x"), context.tangent("_x")
    dtype, conj = build.dtype(x), _is_complex(build, x)
    right = build.temporary("moved_right_side", extents(x), dtype)
    if "_b" in context.given:
        build.elementwise(right, "a", a=context.tangent("_b"))
    else:
        build.elementwise(right, "0")
    if "_a" in context.given:
        moved = _triangle(build, context.tangent("_a"), extents(a)[0], dtype, "a")
        if node.side == "left":
            text = "-(conj(a) * b)" if conj and node.adjoint else "-(a * b)"
            build.product(moved, x, right, text, fresh=False, transpose_a=node.adjoint)
        else:
            text = "-(a * conj(b))" if conj and node.adjoint else "-(a * b)"
            build.product(x, moved, right, text, fresh=False, transpose_b=node.adjoint)
    again = TriangularSolve("triangular_tangent", side=node.side, adjoint=node.adjoint)
    build.call(again, {"_a": a, "_b": right}, {"_x": result})
    return [context.call, *build.nodes]


def _only_lower(call: NodeCall, program: Program) -> str | None:
    return None if call.node.lower else "factors U with A = U^H U are not covered; use the lower factor"


register_rule(
    "CholeskyAdjoint",
    Rule(
        "cholesky_adjoint",
        lambda call, program, wanted: ("_l", "_s"),
        _cholesky_adjoint,
        forward=_cholesky_adjoint_forward,
    ),
)
register_rule("TriangularSolve", Rule("triangular", _triangular_needs, _triangular, forward=_triangular_forward))
register_rule("Solve", Rule("solve", _solve_needs, _solve, forward=_solve_forward))
register_rule(
    "Factorization",
    Rule("factorization", lambda call, program, wanted: (), _factorization, forward=_factorization_forward),
)
register_rule(
    "FactoredSolve", Rule("factored_solve", _factored_needs, _factored_solve, forward=_factored_solve_forward)
)
register_rule("Inv", Rule("inverse", lambda call, program, wanted: ("_aout",), _inverse, forward=_inverse_forward))
register_rule(
    "Cholesky", Rule("cholesky", lambda call, program, wanted: ("_b",), _cholesky, _only_lower, _cholesky_forward)
)
