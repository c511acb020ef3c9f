"""Decide how a Jacobian with complex numbers is computed, or refuse it: there is one convention, in both modes.

- A real argument and a complex result: the derivative is complex, and forward mode finds it.
- A complex argument and a real result: each row is the gradient that ``grad`` returns, ``dL/da + i dL/db``, by reverse
  mode.
- Both complex: the derivative ``dy/dz`` exists for holomorphic functions only.
"""

from __future__ import annotations

from sdgrad.analysis.activity import activity
from sdgrad.errors import ArgumentError
from sdgrad.program.kinds import kind_of
from sdgrad.program.tree import Program


def allowed_mode(program: Program, name: str, output: str, mode: str, holomorphic: bool) -> str:
    """Return the mode of a Jacobian; ``"auto"`` where both will do.

    :param holomorphic: True if the caller says that the function is.
    :raises ArgumentError: the mode does not give this Jacobian, or there is none.
    """
    of_complex, is_complex = (_is_complex(program, n) for n in (name, output))
    if not of_complex and not is_complex:
        return mode
    if of_complex and is_complex:
        _check_holomorphic(program, name, output, holomorphic)
        return "forward" if mode == "auto" else mode
    needed, other = ("reverse", "forward") if of_complex else ("forward", "reverse")
    if mode == other:
        kinds = "real result by a complex" if of_complex else "complex result by a real"
        raise ArgumentError(f"the Jacobian of a {kinds} argument needs mode='{needed}'")
    return needed


def is_conjugated(program: Program, name: str, output: str, forward: bool) -> bool:
    """True if the passes of a mode give the conjugate of ``dy/dz``: a cotangent goes by it."""
    return not forward and _is_complex(program, name) and _is_complex(program, output)


def _is_complex(program: Program, name: str) -> bool:
    return name in program.containers and kind_of(program.containers[name].dtype) == "complex"


def _check_holomorphic(program: Program, name: str, output: str, holomorphic: bool) -> None:
    """Refuse functions that are not said to be holomorphic, or use an operation that is not."""
    if not holomorphic:
        raise ArgumentError(
            f"'{name}' and the result are complex: pass holomorphic=True if the function is (the Jacobian is dy/dz "
            "then), or differentiate its real and its imaginary part"
        )
    found = activity(program, (name,), (output,))
    for path, facts in found.facts.items():
        for let, partials in facts.partials.items():
            if any(p.vjp is not None and found.active(path, p.operand) for p in partials) and found.active(path, let):
                raise ArgumentError("the function is not holomorphic: it takes a conjugate, a modulus, or a part")
