"""Reverse what the user has given a derivative: put the rule's program in the place of an adjoint or a tangent.

A rule is linear in the cotangents (or tangents) it is given, so that its own reverse mode is its transpose. This is how
a rule for one mode serves the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from sdgrad.analysis.footprint import box, reads_of
from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.backward_impls.custom_programs import (
    is_region,
    leaves_zero,
    leaving,
    of_results,
    parsed,
    problem,
    rule_of,
    unsaid,
)
from sdgrad.backward_impls.splice import Linear, Splice, primal_values
from sdgrad.canonicalize.normal_form import normal_form
from sdgrad.program.arrays import moved
from sdgrad.program.custom_call import CustomCall, Operand
from sdgrad.program.custom_rule import COTANGENT, TANGENT, AdjointProgram, names_of, stem
from sdgrad.program.kinds import kind_of
from sdgrad.program.naming import returned
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Container, Node, NodeCall, Program, Region, children, reads, walk, writes
from sdgrad.program.window import Window, whole_window
from sdgrad.rewrite.dead_code import drop_dead
from sdgrad.symbolic.expr import same


def linear(call: CustomCall, program: Program, prefix: str, moved: Collection[str]) -> Linear:
    """Return the rule of a mode (``grad_``: reverse, ``tangent_``: forward), or the transpose of the other one's.

    :param moved: the containers whose cotangents are wanted, or whose tangents are given.
    """
    rule = rule_of(call)
    if rule.adjoint is not None:
        recorded = _recorded(rule.adjoint, call)
        return recorded if prefix == COTANGENT else transposed(recorded, call)
    vjp = of_results(rule, partial(_read, call, program))
    own, other = (vjp, rule.jvp) if prefix == COTANGENT else (rule.jvp, vjp)
    given = own if own is not None else other
    if given is None:
        raise problem(call, "has no rule", "give one with defvjp or defjvp")
    as_given = _as_given(given, COTANGENT if given is vjp else TANGENT, call, program)
    if given is vjp and not is_region(call):
        as_given = _for_some(as_given, call, moved)
    return as_given if own is not None else transposed(as_given, call)


def _for_some(rule: Linear, call: CustomCall, moved: Collection[str]) -> Linear:
    """Return a rule for the cotangents of some arguments: it reads less than that of all."""
    wanted = {n: p for n, p in rule.results.items() if call.variables[n].window.container in moved}
    parsed, key = rule_of(call).parsed, ("some", id(rule.program), *wanted)
    if len(wanted) == len(rule.results):
        return rule
    if key not in parsed:
        unwanted = [p for n, p in rule.results.items() if n not in wanted]
        parsed[key] = rule.program, _without_results(rule.program, unwanted)  # the first one keeps its identity
    return replace(rule, program=parsed[key][1], results=wanted)


def _without_results(program: Program, unwanted: Iterable[str]) -> Program:
    """Return a program without some of its results, and without what only they need."""
    made = {n: replace(program.containers[n], desc=program.containers[n].local(n).desc) for n in unwanted}
    return drop_dead(replace(program, containers={**program.containers, **made}))


def _read(call: CustomCall, program: Program) -> frozenset[str]:
    """Return the results of a function that anything else in the program reads."""
    read = {program.root(c) for n in walk(program.body) if n is not call and not children(n) for c in reads(n)}
    read |= {program.root(n) for n in program.arguments}
    return frozenset(n for n in rule_of(call).results if program.root(call.variables[n].window.container) in read)


def _as_given(function: Callable, prefix: str, call: CustomCall, program: Program) -> Linear:
    """Return the user's function as a linear map, from variables to variables."""
    rule, found = rule_of(call), parsed(function, call, program)
    moved = {rule.spelled(n): p for p in names_of(function) for x, n in [stem(p)] if x == prefix}
    moved = {n: p for n, p in moved.items() if p in found.containers}
    if is_region(call):
        written = {found.root(w) for n in found.body for w in writes(n)}
        return Linear(found, moved, moved, frozenset(n for n, p in moved.items() if p in written))
    names = rule.results if prefix == TANGENT else _arguments(call, program)
    values = returned(found)
    _check_returned(call, found, names, values, "result" if prefix == TANGENT else "floating-point argument")
    return Linear(found, moved, dict(zip(names, values, strict=True)), frozenset(names))


def _check_returned(call: CustomCall, found: Program, names: Sequence[str], values: Sequence[str], what: str) -> None:
    """Raise an error unless a rule returns one array for each name, of the variable's shape."""
    if len(values) != len(names):
        hint = f"return {len(names)}: {', '.join(names)}"
        raise problem(call, f"its rule returns {len(values)} arrays, not one for each {what}", hint)
    for name, value in zip(names, values, strict=True):
        shape, wanted = found.containers[value].shape, call.variables[name].shape
        alone = all(n == 1 for n in (*shape, *wanted))
        if same(shape, wanted) or alone or shape == (1,) and leaves_zero(found, value):
            continue
        kind = "a number" if shape == (1,) else "an array of another shape"
        comma = "," * (len(wanted) == 1)
        expected = "a number" if wanted == (1,) else f"an array of shape ({', '.join(map(str, wanted))}{comma})"
        raise problem(call, f"its rule returns {kind} for '{name}'", f"make it {expected}")


def _recorded(adjoint: AdjointProgram, call: CustomCall) -> Linear:
    """Return the recorded adjoint of an operator as a linear map, in normal form."""
    parsed = rule_of(call).parsed
    if (None,) not in parsed:
        parsed[None,] = normal_form(adjoint.program)
    moved = {n: COTANGENT + n for n in call.variables if COTANGENT + n in adjoint.program.containers}
    return Linear(parsed[None,], moved, adjoint.gradients, frozenset(adjoint.gradients))


def transposed(rule: Linear, call: CustomCall) -> Linear:
    """Return the transpose of a linear rule, by reverse mode."""
    request = Request(tuple(rule.sources.values()), tuple(rule.results.values()), accumulate=False)
    result = differentiate_program(rule.program, request)
    used = {result.program.root(n) for node in result.backward for n in reads(node)}
    if used & set(rule.sources.values()) - set(rule.results.values()):
        raise problem(call, "its rule is not linear in what it is given", "it has to be, to have a transpose")
    sources = {n: seed_name(p, rule.program, request) for n, p in rule.results.items()}
    results = {n: gradient_name(p, rule.program) for n, p in rule.sources.items()}
    return Linear(result.program, sources, results, rule.defined if is_region(call) else frozenset(results))


def _arguments(call: CustomCall, program: Program) -> list[str]:
    """Return the arguments of a function that have a derivative, in order."""
    found = [n for n in rule_of(call).parameters or () if n in call.variables]
    return [n for n in found if _is_float(call.variables[n].window.container, program)]


def _is_float(container: str, program: Program) -> bool:
    return kind_of(program.containers[container].dtype) in ("float", "complex")


# --- what a rule needs, and what it must say
def _needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> Mapping[str, Region]:
    """Return the parts of variables whose primal values the rule's program takes."""
    call = cast(CustomCall, call)
    check(call, program, wanted, COTANGENT)
    rule = linear(call, program, COTANGENT, wanted).program
    read = {rule.root(n) for node in rule.body for n in reads(node)}
    values = {p: n for p, n in primal_values(call).items() if p in read}
    return {n: _part(p, call.variables[n], rule, call) for p, n in values.items()}


def _part(parameter: str, operand: Operand, rule: Program, call: CustomCall) -> Region:
    """Return the part of a variable that a rule reads."""
    touches = [t for t in reads_of(rule.body, rule) if t.container == parameter]
    free = {str(s) for e in call.symbols.values() for s in e.free_symbols} | set(map(str, operand.shape))
    if not touches or any(c.view_of == parameter for c in rule.containers.values()):
        return operand.region
    region, _ = box(touches, rule.containers[parameter])
    inside = {str(s) for s in region.subset.free_symbols} <= free | call.mentioned
    return Region(operand.window.container, operand.window.subset(region.subset)) if inside else operand.region


def check(call: CustomCall, program: Program, active: Sequence[str], prefix: str) -> None:
    """Raise an error for derivatives that enter a call on a way that its rule does not cover.

    :param active: containers that the call reads and that carry a derivative.
    """
    if is_region(call):
        said = {call.variables[n].window.container for n in linear(call, program, prefix, active).sources}
        read = {program.root(c) for node in call.block for c in reads(node) | writes(node)}
        if silent := [n for n in active if n not in said and program.root(n) in read]:  # the rule alone may read others
            raise unsaid(call, program, silent[0])
        return
    adjoint = rule_of(call).adjoint
    covered = adjoint.gradients if adjoint is not None else _arguments(call, program)
    arguments = {call.variables[n].window.container for n in covered}
    made = {call.variables[n].window.container for n in rule_of(call).results}  # and read where they are made
    if hidden := [n for n in active if n not in arguments | made]:
        nests = [n for n, kind in call.others.items() if " of values" in kind]
        more = f": what is in '{nests[0]}' has no cotangent, for that is a nest" if nests else ""
        raise problem(call, f"reads {', '.join(hidden)}, which is no argument", f"pass it as one{more}")
    if both := sorted(arguments & call.outputs.keys()):
        raise problem(call, f"writes its argument {', '.join(both)}", "return a new array, or use custom_region")


def _reverse(context: CallContext) -> list[Node]:
    """Return the adjoint of a call, by its rule."""
    call = cast(CustomCall, context.call)
    build = Builder(context)
    rule = linear(call, context.program, COTANGENT, context.wanted)
    splice = Splice(build, call, rule)
    splice.primals({n: _kept(context, n, o) for n, o in call.variables.items()})
    return _region_adjoint(context, splice) if is_region(call) else _function_adjoint(context, splice)


def _kept(context: CallContext, name: str, operand: Operand) -> Window:
    """Return where the primal value of a variable is when the adjoint runs."""
    kept = context.plan.regions.get((context.path, name))
    if kept is None:
        return operand.window
    ranges = kept.region.subset.ranges
    base = tuple((b - start) / step for b, (start, _, step) in zip(operand.window.base, ranges, strict=True))
    axes = tuple(a and replace(a, step=a.step / ranges[a.axis][2]) for a in operand.window.axes)
    return Window(kept.scratch.name, base, axes)


def _adjoint(context: CallContext, operand: Operand) -> Window:
    """Return the adjoint of a variable, ready to be read and added to."""
    return replace(operand.window, container=context.adjoints.container(operand.window.container).name)


def _function_adjoint(context: CallContext, splice: Splice) -> list[Node]:
    """Return a function's adjoint: add the rule's results to the arguments' adjoints, clear the results'."""
    call, build, rule = splice.call, splice.build, splice.rule
    for name, parameter in rule.sources.items():
        build.nodes += context.adjoints.writable(call.variables[name].window.container)
        splice.bind(parameter, _adjoint(context, call.variables[name]))
    brought = splice.run()
    for name, result in rule.results.items():
        operand = call.variables[name]
        if operand.window.container in context.wanted:
            build.nodes += context.adjoints.writable(operand.window.container)
            source = whole_window(brought[result].name, brought[result].desc)
            build.nodes.append(moved(_adjoint(context, operand), source, operand.shape, "sum", context.names))
    for connector in context.given:
        clear_cotangent(build, context, connector)
    return build.nodes


def _region_adjoint(context: CallContext, splice: Splice) -> list[Node]:
    """Return a region's adjoint: the rule works on the adjoints themselves; clear those it leaves alone."""
    call, build, rule = splice.call, splice.build, splice.rule
    _refuse_unsaid(context.given, splice)
    for name in {**rule.sources, **rule.results}:
        build.nodes += context.adjoints.writable(call.variables[name].window.container)
    transposes = rule.sources is not rule.results
    clears = _left_alone(context.given, splice)
    if transposes:
        for connector in clears:
            clear_cotangent(build, context, connector)
    for name, parameter in rule.sources.items():
        splice.bind(parameter, _adjoint(context, call.variables[name]), written=not transposes)
    brought = splice.run()
    if transposes:
        for name, result in rule.results.items():
            operand, new = call.variables[name], brought[result]
            source = whole_window(new.name, new.desc)
            build.nodes.append(moved(_adjoint(context, operand), source, operand.shape, "set", context.names))
    else:
        for connector in clears:
            clear_cotangent(build, context, connector)
    return build.nodes


def _is_at(name: str, container: str, call: CustomCall) -> bool:
    return call.variables[name].window.container == container


def _forward(context: TangentContext) -> list[Node]:
    """Return the tangent of a call, by its rule."""
    call = cast(CustomCall, context.call)
    check(call, context.program, context.given, TANGENT)
    build = Builder(context, [call])
    rule = linear(call, context.program, TANGENT, context.given)
    splice = Splice(build, call, rule)
    splice.primals({n: o.window for n, o in call.variables.items()})
    region, transposes = is_region(call), rule.sources is not rule.results
    clears = [c for c in _left_alone(call.outputs, splice) if _is_float(c, context.program)]
    if region:
        _refuse_unsaid(context.wanted, splice)
    if region and transposes:
        _clear(build, context, clears)
    for name, parameter in rule.sources.items():
        operand = call.variables[name]
        if operand.window.container in {*context.given, *context.wanted}:
            splice.bind(parameter, _tangent(context, operand), written=region and not transposes)
        else:
            splice.zeros(parameter)
    brought = splice.run()
    if not region or transposes:
        build.nodes += _results_to_tangents(context, splice, brought)
    if not (region and transposes):
        _clear(build, context, clears)
    return build.nodes


def _results_to_tangents(context: TangentContext, splice: Splice, brought: Mapping[str, Container]) -> list[Node]:
    """Return the copies of a rule's results to the tangents that are asked for."""
    nodes: list[Node] = []
    for name, result in splice.rule.results.items():
        operand = splice.call.variables[name]
        if operand.window.container in context.wanted:
            source = whole_window(brought[result].name, brought[result].desc)
            nodes.append(moved(_tangent(context, operand), source, operand.shape, "set", context.names))
    return nodes


def _refuse_unsaid(containers: Iterable[str], splice: Splice) -> None:
    """Raise an error for derivatives that leave a region by a variable of which its rule says nothing."""
    named = {*splice.rule.sources, *splice.rule.results}
    if silent := [c for c in containers if not any(_is_at(n, c, splice.call) for n in named)]:
        raise leaving(splice.call, silent[0])


def _left_alone(containers: Iterable[str], splice: Splice) -> list[str]:
    """Return the containers of which the rule defines the derivative of no variable."""
    return [c for c in containers if not any(_is_at(n, c, splice.call) for n in splice.rule.defined)]


def _clear(build: Builder, context: TangentContext, connectors: Sequence[str]) -> None:
    for connector in connectors:
        tangent, region = context.tangents.container(connector), context.call.outputs[connector]
        build.elementwise(replace(region, container=tangent.name), "0")


def _tangent(context: TangentContext, operand: Operand) -> Window:
    return replace(operand.window, container=context.tangents.container(operand.window.container).name)


register_rule("CustomCall", Rule("custom", _needs, _reverse, forward=_forward))
