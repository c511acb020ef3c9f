"""Define the library node of what LAPACK makes of matrices: decompositions, functions, solutions of equations.

The C++ functions are in ``sdgrad_lapack.h``, ``sdgrad_matrix_functions.h`` and ``sdgrad_determinants.h``. Their
derivatives are recorded in NumPy's terms, where the nodes are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.blas_operands import BLAS_TYPES
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet, operands


@dataclass(frozen=True)
class Kind:
    """Hold how a function of matrices is called, and what it takes and gives: names of connectors, without ``_``.

    ``vectors`` are those of them that are no matrices. In the code, ``rows`` and ``columns`` are those of ``sized``,
    and ``kept`` is the last extent of the first result.
    """

    code: str
    results: str
    vectors: str = ""
    given: str = "a"
    sized: str = "a"
    header: str = "sdgrad_lapack.h"
    needs_lapack: bool = True
    less: Mapping[str, str] = field(default_factory=dict)  # kinds that give some of the results alone, by these


def _of_square(name: str, header: str = "sdgrad_matrix_functions.h") -> Kind:
    return Kind(f"sdgrad::{name}({{rows}}, _a, {{a}}, _x, {{x}});", "x", header=header)


def _of_bands(positive: str) -> Kind:
    code = "sdgrad::banded<" + positive + ">({rows}, {columns}, {first}, {second}, _a, {a}, _b, {b}, _x, {x});"
    return Kind(code, "x", given="ab", sized="x")


def _of_three(name: str) -> Kind:
    code = f"sdgrad::{name}({{rows}}, _a, {{a}}, _g, {{g}}, _q, {{q}}, _x, {{x}});"
    return Kind(code, "x", given="agq", header="sdgrad_riccati.h")


EXPONENTIALS, DETERMINANTS = "sdgrad_expm.h", "sdgrad_determinants.h"
KINDS = {
    "eigh": Kind("sdgrad::eigh({rows}, _a, {a}, _w, _v, {v});", "wv", "w", less={"w": "eigvalsh"}),
    "eigvalsh": Kind("sdgrad::eigvalsh({rows}, _a, {a}, _w);", "w", "w"),
    "eig": Kind("sdgrad::eig({rows}, _a, {a}, _w, _v, {v});", "wv", "w"),
    "svd": Kind("sdgrad::svd({rows}, {columns}, _a, {a}, _u, {u}, _s, _v, {v});", "usv", "s", less={"s": "svdvals"}),
    "svd_full": Kind(
        "sdgrad::svd_full({rows}, {columns}, _a, {a}, _u, {u}, _s, _v, {v}, _e, {e});",
        "usve",
        "s",
        less={"s": "svdvals", "suv": "svd"},
    ),
    "svdvals": Kind("sdgrad::svdvals({rows}, {columns}, _a, {a}, _s);", "s", "s"),
    "qr": Kind("sdgrad::qr({rows}, {columns}, {kept}, _a, {a}, _q, {q}, _r, {r});", "qr"),
    "qr_full": Kind("sdgrad::qr_full({rows}, {columns}, _a, {a}, _q, {q}, _r, {r}, _e, {e});", "qre"),
    "pivots": Kind("sdgrad::pivots({rows}, {columns}, _a, {a}, _i);", "i", "i"),
    "lu": Kind("sdgrad::lu({rows}, {columns}, _a, {a}, _f, {f}, _p, _i);", "fpi", "pi"),
    "ldl": Kind(
        "sdgrad::ldl({rows}, {first}, {second}, _a, {a}, _l, {l}, _d, {d}, _i);", "ldi", "i", header="sdgrad_ldl.h"
    ),
    "banded": _of_bands("false"),
    "positive_banded": _of_bands("true"),
    "sylvester": Kind(
        "sdgrad::sylvester({rows}, {columns}, _a, {a}, _b, {b}, _q, {q}, _x, {x});",
        "x",
        given="abq",
        sized="x",
        header="sdgrad_matrix_functions.h",
    ),
    "care": _of_three("care"),
    "dare": _of_three("dare"),
    "expm": _of_square("expm", EXPONENTIALS),
    "expm_kept": Kind(
        "sdgrad::expm_kept({rows}, _a, {a}, _x, {x}, _k);", "xk", "k", header=EXPONENTIALS, less={"x": "expm"}
    ),
    "expm_adjoint": Kind(
        "sdgrad::expm_adjoint({rows}, _a, {a}, _k, _g, {g}, _x, {x});", "x", "k", given="akg", header=EXPONENTIALS
    ),
    "schur": Kind("sdgrad::schur({rows}, _a, {a}, _t, {t}, _z, {z});", "tz", header="sdgrad_matrix_functions.h"),
    "hessenberg": Kind(
        "sdgrad::hessenberg({rows}, _a, {a}, _h, {h}, _q, {q});", "hq", header="sdgrad_matrix_functions.h"
    ),
    "sqrtm": _of_square("sqrtm"),
    "logm": _of_square("logm"),
    "det": Kind("sdgrad::det({rows}, _a, {a}, _d);", "d", "d", header=DETERMINANTS, needs_lapack=False),
    "slogdet": Kind("sdgrad::slogdet({rows}, _a, {a}, _s, _l);", "sl", "sl", header=DETERMINANTS, needs_lapack=False),
    "order": Kind(
        "sdgrad::order({rows}, _p, _i);", "i", "p", given="p", sized="i", header="sdgrad_factors.h", needs_lapack=False
    ),
    "adjugate": Kind("sdgrad::adjugate({rows}, _a, {a}, _x, {x});", "x", header=DETERMINANTS, needs_lapack=False),
}


def is_of_lapack(node: LapackCall, state: dace.SDFGState, sdfg: dace.SDFG) -> bool:
    """True if LAPACK has the type of the matrices."""
    return all(sdfg.arrays[e.data.data].dtype in (*BLAS_TYPES, dace.int64) for e in state.in_edges(node))


def call(node: LapackCall, state: dace.SDFGState, sdfg: dace.SDFG, how: str) -> nd.Tasklet:
    """Generate the tasklet of a function of matrices.

    :param how: ``"lapack"``, or why there is none.
    :raises TypeError: there is no LAPACK for these operands.
    """
    kind = KINDS[node.kind]
    if how != "lapack" and kind.needs_lapack:
        raise TypeError(f"'{node.label}' needs LAPACK, and {how}")
    sizes, _ = operands(node, state, sdfg, f"_{kind.sized}", vectors=[f"_{c}" for c in kind.vectors])
    extents = {e.src_conn: e.data.subset.size() for e in state.out_edges(node)}
    first, second = (*node.numbers, 0, 0)[:2]
    code = kind.code.format(kept=extents[f"_{kind.results[0]}"][-1], first=first, second=second, **sizes)
    given = {e.dst_conn: dace.pointer(sdfg.arrays[e.data.data].dtype) for e in state.in_edges(node)}
    found = {e.src_conn: dace.pointer(sdfg.arrays[e.data.data].dtype) for e in state.out_edges(node)}
    return cpp_tasklet(node, given, found, code, str(INCLUDE / kind.header))


@dace.library.expansion
class ExpandWithoutLapack(ExpandTransformation):
    """Expand what needs no LAPACK, and refuse the rest."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: LapackCall, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return call(node, state, sdfg, "sdgrad.config.blas is 'none'")


@dace.library.node
class LapackCall(nd.LibraryNode):
    """Compute a function of matrices.

    ``eigh``: ascending eigenvalues ``_w`` and columns of eigenvectors ``_v`` of the Hermitian matrix whose lower
    triangle ``_a`` has; ``eigvalsh``: the eigenvalues alone; ``eig``: those of a general matrix, complex; ``svd``:
    ``_a = _u diag(_s) _v``, thin; ``svd_full``: with the vectors ``_e`` beside, columns of a tall
    matrix and rows of a wide one; ``svdvals``: ``_s`` alone; ``qr``: ``_a = _q _r``; ``qr_full``: with the columns
    ``_e`` beside; ``pivots``: the order ``_i`` of columns that QR with pivots chooses; ``lu``: packed factors ``_f``,
    interchanges ``_p`` and the order ``_i`` of rows (both 32-bit), with ``_a = (L U)[_i]``; ``order``: the order ``_i``
    of rows after interchanges ``_p``, as a column; ``ldl``: factors ``_l`` and ``_d`` of a matrix of which ``numbers``
    tell whether the lower triangle is read, and whether it is Hermitian; ``banded``: the solution ``_x`` of a system of
    diagonals ``_a``, of which ``numbers`` lie below and above the main one;
    ``positive_banded``: of a positive definite matrix; ``sylvester``: ``_a _x + _x _b = _q``; ``care``, ``dare``:
    Riccati equations; ``schur``: ``_a = _z _t _z^H``; ``hessenberg``: ``_a = _q _h _q^H``; ``expm``, ``sqrtm``,
    ``logm``: functions of a matrix;
    ``expm_kept``: the exponential, and what
    ``expm_adjoint`` needs of it (``_k``), which takes a cotangent ``_g`` to that of the matrix; ``det``; ``slogdet``:
    sign ``_s`` and logarithm ``_l``; ``adjugate``: the derivative of the determinant.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandWithoutLapack}
    default_implementation: ClassVar[str] = LOOPS

    kind = properties.Property(dtype=str, default="eigh")
    numbers = properties.ListProperty(element_type=int, default=[])

    def __init__(self, kind: str = "eigh", numbers: Sequence[int] = ()) -> None:
        known = KINDS[kind]
        super().__init__(kind, inputs={f"_{c}" for c in known.given}, outputs={f"_{c}" for c in known.results})
        self.kind, self.numbers = kind, list(numbers)
