"""Let the user give derivatives: of a function, or of a region of one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from dace.frontend.python.common import SDFGClosure

from sdgrad.errors import ArgumentError

if TYPE_CHECKING:
    from sdgrad.program.tree import Program

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
ATTRIBUTE = "__sdgrad_rule__"
COTANGENT, TANGENT = "grad_", "tangent_"


@dataclass(frozen=True)
class AdjointProgram:
    """Hold the adjoint of a function as a program.

    Its containers are named as the variables they are bound to: a value by the variable's own name, the cotangent of a
    result with ``grad_`` before it. ``gradients`` are the containers of the gradients, by variable.
    """

    program: Program
    gradients: Mapping[str, str]


@dataclass(eq=False)
class CustomRule:
    """Hold the derivative of a function (``parameters``), or of a region (None).

    A user gives it as a function (``vjp``, ``jvp``), an operator of ours as a program (``adjoint``). ``results`` are
    the names of what the function returns, known when it has been parsed.
    """

    name: str
    parameters: tuple[str, ...] | None
    vjp: Callable | None = None
    jvp: Callable | None = None
    results: tuple[str, ...] = ()
    parsed: dict[tuple, Any] = field(default_factory=dict)  # programs made of the rules, by what they are applied to
    adjoint: AdjointProgram | None = None
    of_some: Mapping[frozenset[str], Callable] = field(default_factory=dict)  # in place of vjp, if only these are read
    rough: float = 0.0  # how far, relative, the results of a search of Python's own may be from these

    @property
    def functions(self) -> tuple[Callable, ...]:
        """Return the user's functions."""
        return tuple(f for f in (self.vjp, self.jvp) if f is not None)

    def spelled(self, name: str) -> str:
        """Return the function's name for a name in a rule: ``out``, or ``out_k``, is a returned value."""
        if self.parameters is not None and name not in self.parameters:
            if name == "out" and len(self.results) == 1:
                return self.results[0]
            if (found := re.fullmatch(r"out_(\d+)", name)) and int(found[1]) < len(self.results):
                return self.results[int(found[1])]
        return name


def names_of(rule: Callable) -> tuple[str, ...]:
    """Return the names of a rule's parameters."""
    return tuple(inspect.signature(rule).parameters)


def stem(name: str) -> tuple[str, str]:
    """Split a rule's parameter into prefix (cotangent, tangent or none) and name."""
    prefix = next((p for p in (COTANGENT, TANGENT) if name.startswith(p)), "")
    return prefix, name[len(prefix) :]


class WithRules(Protocol[P, R_co]):
    """A function whose adjoint and whose tangent may be given."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def defvjp(self, vjp: F, /) -> F: ...

    def defjvp(self, jvp: F, /) -> F: ...


def custom_vjp(f: Callable[P, R]) -> WithRules[P, R]:
    """Decorate ``f``: the function given to ``f.defvjp`` computes the cotangents of its arguments.

    ``rule`` in ``f.defvjp(rule)`` is a NumPy-style function. Its parameters say what it needs:

    - the name of an argument of ``f``: its value;
    - ``out`` (``out_0``, ``out_1``, .. for several), or the name in ``f``'s return statement: a result;
    - the name of a local variable of ``f``: its value when ``f`` returns;
    - ``grad_out`` and so on: the cotangent of a result; where it has a default, it is left out of the rule for programs
      that do not read this result.

    It returns one array for each floating-point argument of ``f``, in their order, of their shapes. What it asks for
    is kept (or computed again) for every call, also in loops. Forward mode uses the transpose of the rule.

    ``f`` must not write its arguments, and computes the same without sdgrad. Compare ``jax.custom_vjp``.
    """
    return _with_rules(f)


def custom_jvp(f: Callable[P, R]) -> WithRules[P, R]:
    """Decorate ``f``: the function given to ``f.defjvp`` computes the tangents of its results.

    The rule's parameters are as for :func:`custom_vjp`, with ``tangent_<argument>`` for the tangent of an argument. It
    returns one array for each result. Reverse mode uses the transpose of the rule, which must be linear in the
    tangents. A function may have rules for both modes: what is decorated by one of these has ``defvjp`` and ``defjvp``.
    """
    return _with_rules(f)


def _with_rules(f: Any) -> Any:
    """Return a function that takes rules of both modes."""
    rule = _rule(f)

    def defvjp(vjp: F) -> F:
        rule.vjp = vjp
        return vjp

    def defjvp(jvp: F) -> F:
        rule.jvp = jvp
        return jvp

    f.defvjp, f.defjvp = defvjp, defjvp
    return f


def _rule(f: Any) -> CustomRule:
    """Return the rule of a function, made on first use."""
    function = getattr(f, "f", f)  # of a @dace.program
    if not inspect.isfunction(function):
        raise ArgumentError(f"expected a Python function or a @dace.program, got {type(f).__name__}")
    if not hasattr(function, ATTRIBUTE):
        setattr(function, ATTRIBUTE, CustomRule(function.__name__, names_of(function)))
        _call_in_graphs(function)
    return getattr(function, ATTRIBUTE)


def _call_in_graphs(function: Any) -> None:
    """Let ``@dace.program``s call a function with a rule, by DaCe's protocol for objects that have a graph."""
    function.__sdfg__ = lambda *args, **kwargs: HOOKS.graph(function, args, kwargs)
    function.__sdfg_signature__ = lambda: (list(names_of(function)), [])
    function.__sdfg_closure__ = lambda reevaluate=None: {}
    function.closure_resolver = lambda constants, given, parent=None: SDFGClosure()


class custom_region:  # noqa: N801  (used like a function)
    """``with sdgrad.custom_region(rule): ...`` in a function: ``rule`` is the adjoint of these statements.

    ``rule`` is a NumPy-style function that returns nothing. Its parameters say what it works on:

    - the name of a variable of the function: its value after the region, in the trip of the loops that is reversed;
    - ``grad_<variable>``: on entry, the cotangent of the variable after the region. On return it must hold that of the
      variable before the region. What the region assigns and the rule does not write is cleared.

    Every variable through which a derivative enters or leaves the region needs its ``grad_`` among the parameters.
    Outside of sdgrad the statement does nothing. Compare FreeTensor's ``StmtRange`` and ``UserGrad``.

    :param vjp: the adjoint.
    :param jvp: the tangent instead, on ``tangent_<variable>``; each mode uses the transpose of the other's rule.
    """

    def __init__(self, vjp: Callable[..., Any] | None = None, *, jvp: Callable[..., Any] | None = None) -> None:
        self.rule = CustomRule(getattr(vjp or jvp, "__name__", "region"), None, vjp, jvp)
        self.open: list[Any] = []  # what is being recorded of it

    def __enter__(self) -> None:
        HOOKS.enter(self)

    def __exit__(self, *error: object) -> None:
        HOOKS.leave(self, error[1])


class Hooks:
    """What modules above do with rules: set by these.

    :param enter: records the beginning of a region.
    :param leave: records the end of a region.
    :param graph: makes the graph of a call of a function.
    """

    enter: Callable[[custom_region], None]
    leave: Callable[[custom_region, Any], None]
    graph: Callable[[Callable, tuple, dict[str, Any]], Any]


HOOKS = Hooks()
HOOKS.enter, HOOKS.leave = lambda region: None, lambda region, error: None
