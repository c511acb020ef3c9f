"""Describe the derivatives of one function: what a row of the tables of scalar rules holds.

In a partial, ``x`` is the argument (``a``, ``b``, .. for several), ``y`` the result. A partial of None is zero almost
everywhere, :data:`UNKNOWN` one that nobody knows: asking for it is an error. ``singular`` marks rows whose partials can
be infinite or undefined inside their domain, ``steep`` those of them whose results are finite there; ``overflows``
marks rows whose partials are infinite where the result is. ``selects`` is the condition under which the result is an
argument's at all: elsewhere the argument contributes nothing, whatever it is. ``depends`` is the condition under which
the result still changes with an argument, to working precision (``tanh(x)`` is not 1): elsewhere a function before it
that overflows contributes nothing. ``domain`` is where the sweep test samples each argument. ``complex_vjp`` and
``complex_jvp`` replace the holomorphic rule where a function is not holomorphic; ``g`` is the cotangent of the result,
``dx`` the tangent of the argument. The convention is PyTorch's: the cotangent of ``z`` is the direction of steepest
ascent, ``conj(dy/dz) * g``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Interval = tuple[float, float]


@dataclass(frozen=True)
class ScalarRule:
    """One function: its partials, where they hold, and what it does at kinks."""

    name: str
    partials: tuple[str | None, ...]
    domain: tuple[Interval, ...]
    singular: bool = False
    selects: tuple[str | None, ...] = ()
    depends: tuple[str | None, ...] = ()
    steep: bool = False
    overflows: bool = False
    kink: str = ""
    aliases: tuple[str, ...] = ()
    complex_vjp: str | None = None
    complex_jvp: str | None = None
    kind: str = "float"  # of the result: float (at least), same (as the arguments), real, int, bool
    extra: dict = field(default_factory=dict, compare=False)

    @property
    def arity(self) -> int:
        return len(self.partials)

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("x",) if self.arity == 1 else tuple("abcdefhp"[: self.arity])

    def written(self, k: int) -> str:
        """Return the function, and which of its arguments is meant, as users write them."""
        if "called" in self.extra:
            return self.extra["called"]
        counts = [p is None for p in self.partials].index(False) if self.name.startswith("special_") else 0
        name = self.name.removeprefix("special_").removeprefix("scipy_")
        return f"scipy.special.{name} by its argument {k - counts + 1}"


UNKNOWN = "unknown"
"""A partial that is not zero, and that no formula is here for."""
ANY, POSITIVE, UNIT, ABOVE1 = (-3.0, 3.0), (0.2, 4.0), (-0.9, 0.9), (1.1, 4.0)
AWAY = (0.3, 3.0)  # away from zero


def unary(name: str, partial: str | None, domain: Interval = ANY, **kw) -> ScalarRule:
    return ScalarRule(name, (partial,), (domain,), **kw)


def binary(
    name: str, da: str | None, db: str | None, first: Interval = ANY, second: Interval = ANY, **kw
) -> ScalarRule:
    return ScalarRule(name, (da, db), (first, second), **kw)
