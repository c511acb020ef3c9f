"""Let users write backward implementations: a NumPy-style function for a kind of node."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from dace import data as dt
from dace import nodes as nd

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent, extents
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.backward_impls.custom_programs import recorded_rule
from sdgrad.errors import NameNotFound
from sdgrad.program import registry
from sdgrad.program.inline import inline
from sdgrad.program.naming import returned
from sdgrad.program.registry import Rule
from sdgrad.program.tree import Container, Node, NodeCall, Program, Region, whole_region

PREFIX = "grad_"


@dataclass(frozen=True)
class BackwardContext:
    """Show shapes and dtypes of the operands, by connector."""

    shapes: dict[str, tuple]
    dtypes: dict[str, Any]


class BackwardImplementation:
    """Say how a kind of node is reversed: subclass it and register it with :func:`register_backward`.

    Compared with DaCeML's class of the same name, ``backward`` returns a function instead of building a graph: what
    ``given_gradients`` and ``required_gradients`` name are its parameters and results.
    """

    @staticmethod
    def backward_can_be_applied(node: nd.Node, context: BackwardContext) -> bool | str:
        """True if the implementation covers this node; a string says why not."""
        return True

    @staticmethod
    def backward(
        node: nd.Node, context: BackwardContext, given_gradients: Sequence[str], required_gradients: Sequence[str]
    ) -> Callable:
        """Return the adjoint as a NumPy-style function.

        :param given_gradients: output connectors whose cotangent is there, as parameters ``grad_<connector>``.
        :param required_gradients: input connectors whose gradients the function returns, in this order.
        :returns: a function; its parameters may be input connectors (values before the node), output connectors
            (values after it) and ``grad_<output connector>``. Only what it takes is kept for it.
        """
        raise TypeError("a backward implementation needs a method 'backward'")


def register_backward(node_type: str | type, name: str | None = None) -> Callable[[type], type]:
    """Decorate a class: use a :class:`BackwardImplementation` for nodes of a type (class or class name).

    The implementation registered last is asked first, so a user's outranks a built-in one.
    """
    kind = node_type if isinstance(node_type, str) else node_type.__name__

    def register(implementation: type) -> type:
        registry.register_rule(kind, _as_rule(implementation, name or implementation.__name__))
        registry.OF_USERS.add(kind)
        return implementation

    return register


def select_backward(node_type: str | type, name: str) -> None:
    """Ask the implementation of that name first from now on."""
    kind = node_type if isinstance(node_type, str) else node_type.__name__
    known = registry.RULES.get(kind, [])
    chosen = next((r for r in known if r.name == name), None)
    if chosen is None:
        raise NameNotFound(f"backward implementation for {kind}", name, [r.name for r in known])
    known.remove(chosen)
    known.insert(0, chosen)
    registry.OF_USERS.add(kind)


def unregister_backward(node_type: str | type, name: str) -> None:
    """Forget an implementation."""
    select_backward(node_type, name)
    kind = node_type if isinstance(node_type, str) else node_type.__name__
    del registry.Rule.registry[kind][0]
    if not registry.Rule.registry[kind]:
        del registry.Rule.registry[kind]


def _as_rule(implementation: type, name: str) -> Rule:
    """Return an implementation as a rule of built-in form."""

    def applies(call: NodeCall, program: Program) -> str | None:
        verdict = implementation.backward_can_be_applied(call.node, _context(call, program))  # type: ignore[attr-defined]
        return verdict if isinstance(verdict, str) else None if verdict else "does not cover this node"

    def function(call: NodeCall, program: Program, given: Sequence[str], wanted: Sequence[str]) -> Callable:
        return implementation.backward(call.node, _context(call, program), list(given), list(wanted))  # type: ignore[attr-defined]

    def needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
        rule = function(call, program, list(call.outputs), wanted)
        known = {**call.inputs, **call.outputs}
        return tuple(p for p in inspect.signature(rule).parameters if p in known)

    def reverse(context: CallContext) -> list[Node]:
        return _apply(context, function(context.call, context.program, context.given, context.wanted))

    def forward(context: TangentContext) -> list[Node]:
        results = [c for c in context.call.outputs if c in context.wanted]
        return _transpose(context, function(context.call, context.program, results, context.given))

    return Rule(name, needs, reverse, applies, forward)


def _context(call: NodeCall, program: Program) -> BackwardContext:
    regions = {c: r for c, r in {**call.inputs, **call.outputs}.items() if c is not None}
    return BackwardContext(
        {c: tuple(r.subset.size()) for c, r in regions.items()},
        {c: program.containers[r.container].dtype for c, r in regions.items()},
    )


def _operands(
    context: CallContext | TangentContext, function: Callable, derivative: Callable[[str], Region]
) -> dict[str, Region]:
    """Return what the parameters of a rule are: values of the node, and ``derivative`` of its results."""
    call = context.call
    operands: dict[str, Region] = {}
    for parameter in inspect.signature(function).parameters:
        if parameter in call.inputs or parameter in call.outputs:
            operands[parameter] = context.primal(parameter)
        elif parameter.startswith(PREFIX) and parameter[len(PREFIX) :] in call.outputs:
            operands[parameter] = derivative(parameter[len(PREFIX) :])
        else:
            known = [*call.inputs, *call.outputs, *(PREFIX + c for c in call.outputs if c)]
            raise NameNotFound("connector", parameter, known)
    return operands


def _parsed(context: CallContext | TangentContext, function: Callable, copies: Mapping[str, Region]) -> Program:
    descs = {p: _plain(context.container(r.container)) for p, r in copies.items()}
    return recorded_rule(function, descs)


def _transpose(context: TangentContext, function: Callable) -> list[Node]:
    """Return the node, and the transpose of its adjoint applied to the operands' tangents."""
    build = Builder(context, [context.call])
    operands = _operands(context, function, context.tangent)
    copies = {p: _copy(build, r, p) for p, r in operands.items()}
    program = _parsed(context, function, copies)
    seeds = [p for p in operands if p.startswith(PREFIX) and p in program.containers]
    request = Request(tuple(seeds), returned(program), accumulate=False)
    adjoint = differentiate_program(program, request).program
    bound = {p: r.container for p, r in copies.items()}
    for connector, name in zip(context.given, returned(program), strict=True):
        moved = _copy(build, context.tangent(connector), f"moved_{connector}")
        bound[seed_name(name, program, request)] = moved.container
    body, brought = inline(adjoint, bound, context.names)
    build.nodes += body
    context.made.update({c.name: c for c in brought.values()})
    for connector in context.wanted:
        target, seed = context.tangent(connector), PREFIX + connector
        if seed in seeds:
            result = brought[gradient_name(seed, program)]
            build.elementwise(target, "a", a=whole_region(result.name, result.shape))
        else:
            build.elementwise(target, "0")
    return build.nodes


def _apply(context: CallContext, function: Callable) -> list[Node]:
    """Return the function's program in the place of the node's adjoint."""
    build = Builder(context)
    copies = {p: _copy(build, r, p) for p, r in _operands(context, function, context.cotangent).items()}
    program = _parsed(context, function, copies)
    body, brought = inline(program, {p: r.container for p, r in copies.items()}, context.names)
    build.nodes += body
    context.adjoints.made.update({c.name: c for c in brought.values()})
    for connector, name in zip(context.wanted, returned(program), strict=False):
        _accumulate(build, brought[name], build.target(connector))
    for connector in context.given:
        clear_cotangent(build, context, connector)
    return build.nodes


def _plain(container: Container) -> dt.Data:
    desc = copy.deepcopy(container.desc)
    desc.transient = False
    return desc


def _copy(build: Builder, region: Region, stem: str) -> Region:
    """Return an operand as an array of its own, as the function's parameter is one."""
    sizes = extents(region) or [sympy.Integer(1)]
    result = build.temporary(stem, sizes, build.dtype(region))
    build.elementwise(result, "a", a=region)
    return result


def _accumulate(build: Builder, gradient: Container, target: Region) -> None:
    whole = build.context.made[gradient.name]
    build.elementwise(target, "a", "sum", a=whole_region(whole.name, whole.shape))
