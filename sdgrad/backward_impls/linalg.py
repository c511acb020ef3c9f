"""Linear algebra nodes (M. Giles, Collected matrix derivative results, 2008).

``X = A^-1 B``: ``B' = A^-H X'``, ``A' = -B' X^H``. ``Y = A^-1``: ``A' = -Y^H Y' Y^H``. ``A = L L^H``:
``S = L^-H phi(L^H L') L^-1``, with ``phi`` the lower triangle with half the diagonal. The factorization reads the lower
triangle of ``A`` only, as NumPy's does, so the gradient is ``S + S^H`` below the diagonal, ``S`` on it and zero above.
"""

from __future__ import annotations

import dace
from dace.libraries.linalg import Inv, Solve

from sdgrad.backward_impls.building import Builder, extents, spent
from sdgrad.program.tree import Node, NodeCall, Program
from sdgrad.rules import CallContext, Rule, register_rule
from sdgrad.symbolic.expr import sym

COMPLEX = (dace.complex64, dace.complex128)


def _is_complex(build: Builder, region) -> bool:
    return build.dtype(region) in COMPLEX


def _solve_needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return ("_ain", "_bout") if "_ain" in wanted else ("_ain",)


def _solve(context: CallContext) -> list[Node]:
    build = Builder(context)
    a, seed = context.primal("_ain"), context.cotangent("_bout")
    conj = _is_complex(build, a)
    b_bar = build.temporary("solve_adjoint", extents(seed), build.dtype(seed))
    build.call(Solve("solve_adjoint"), {"_ain": build.transposed(a, conj), "_bin": seed}, {"_bout": b_bar})
    if "_bin" in context.wanted:
        _add(build, b_bar, build.target("_bin"))
    if "_ain" in context.wanted:
        text = "-(a * conj(b))" if conj else "-(a * b)"
        build.product(b_bar, context.primal("_bout"), build.target("_ain"), text, fresh=False, transpose_b=True)
    spent(build, context, "_bout")
    return build.nodes


def _add(build: Builder, source, target) -> None:
    params = build.params(extents(target))
    index = [sym(p.name) for p in params]
    build.leaf(params, {"a": (source, index)}, "a", target, index, "sum")


def _inverse(context: CallContext) -> list[Node]:
    build = Builder(context)
    y, seed = context.primal("_aout"), context.cotangent("_aout")
    left, right = ("conj(a) * b", "-(a * conj(b))") if _is_complex(build, y) else ("a * b", "-(a * b)")
    half = build.temporary("inverse_adjoint", extents(seed), build.dtype(seed))
    build.product(y, seed, half, left, transpose_a=True)
    build.product(half, y, build.target("_ain"), right, fresh=False, transpose_b=True)
    spent(build, context, "_aout")
    return build.nodes


def _cholesky(context: CallContext) -> list[Node]:
    build = Builder(context)
    lower, seed = context.primal("_b"), context.cotangent("_b")
    conj = _is_complex(build, lower)
    n, dtype = extents(seed)[0], build.dtype(seed)
    p, half, inverse, s = (build.temporary(name, [n, n], dtype) for name in ("phi", "half", "l_inverse", "s"))
    # L' above the diagonal belongs to entries that are zero whatever A is
    build.product(lower, _triangle(build, seed, n, dtype), p, "conj(a) * b" if conj else "a * b", transpose_a=True)
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    masked = build.temporary("phi_lower", [n, n], dtype)
    build.leaf(
        (i, j),
        {"a": (p, [x, y])},
        f"(a if {i.name} > {j.name} else (a / 2 if {i.name} == {j.name} else 0))",
        masked,
        [x, y],
    )
    build.call(Inv("l_inverse"), {"_ain": lower}, {"_aout": inverse})
    build.product(inverse, masked, half, "conj(a) * b" if conj else "a * b", transpose_a=True)
    build.product(half, inverse, s)
    both = "a + conj(b)" if conj else "a + b"
    text = f"({both} if {i.name} > {j.name} else (a if {i.name} == {j.name} else 0))"
    build.leaf((i, j), {"a": (s, [x, y]), "b": (s, [y, x])}, text, build.target("_a"), [x, y], "sum")
    spent(build, context, "_b")
    return build.nodes


def _triangle(build: Builder, region, n, dtype):
    result = build.temporary("l_adjoint", [n, n], dtype)
    i, j = build.params([n, n])
    x, y = sym(i.name), sym(j.name)
    build.leaf((i, j), {"a": (region, [x, y])}, f"(a if {i.name} >= {j.name} else 0)", result, [x, y])
    return result


def _only_lower(call: NodeCall, program: Program) -> str | None:
    return None if call.node.lower else "factors U with A = U^H U are not covered; use the lower factor"


register_rule("Solve", Rule("solve", _solve_needs, _solve))
register_rule("Inv", Rule("inverse", lambda call, program, wanted: ("_aout",), _inverse))
register_rule("Cholesky", Rule("cholesky", lambda call, program, wanted: ("_b",), _cholesky, _only_lower))
