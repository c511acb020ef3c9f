"""Specialize a function to arguments of certain shapes and dtypes: its normal form, and what is compiled from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from dace.frontend.python.parser import DaceProgram

from sdgrad.autodiff.differentiate import Differentiated, differentiate_program, push_tangents
from sdgrad.autodiff.request import Request
from sdgrad.canonicalize.normal_form import in_normal_form, normalize, normalize_again
from sdgrad.config import config, device
from sdgrad.convert.callables import name_of
from sdgrad.errors import ParseError
from sdgrad.lift.dace_functions import check_arguments, needs_dace
from sdgrad.lift.dace_programs import as_program, closure_of, parse, stamped
from sdgrad.machine.free_memory import Answers, noting
from sdgrad.memory.limited import Alternative, within
from sdgrad.memory.plan import MemoryPlan
from sdgrad.pipeline import Ready, compiled
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.kinds import kind_of
from sdgrad.program.naming import is_returned, own_arguments, returned
from sdgrad.program.passes import Target
from sdgrad.program.tree import Loop, Program, walk, writes
from sdgrad.record.function import record
from sdgrad.record.index_limits import IndexLimit, PerhapsOutside, check_limits
from sdgrad.record.left_outside import Left
from sdgrad.record.nests import Form, identity, places_of, unflatten
from sdgrad.record.outside import Change, as_before, put_back
from sdgrad.record.reads import Read, same_content
from sdgrad.record.restart import Fits, Hints
from sdgrad.record.values import is_recorded
from sdgrad.rewrite.dead_code import inputs_that_matter
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.device_arrays import is_resident
from sdgrad.runtime.call.marshalling import as_recorded, as_value, is_tensor, like
from sdgrad.runtime.compile import precompiled_header
from sdgrad.specialize.argument_kinds import counts, kind_of_argument
from sdgrad.specialize.bounded import MOST_DIFFERENTIATED, MOST_FUNCTIONS, forget_oldest
from sdgrad.specialize.collected import collecting, noted
from sdgrad.specialize.compile_lock import making
from sdgrad.specialize.compiled_gradient import CompiledGradient
from sdgrad.specialize.plain_runs import GivenUp, nothing_compiled, plain_results
from sdgrad.specialize.progress import step
from sdgrad.specialize.protocols import Derived, Guard, Nested, is_derived, is_open, is_specialized
from sdgrad.specialize.stored_programs import Origin


@dataclass(eq=False)
class Signature:
    """Hold a function for arguments of certain shapes and dtypes: its normal form, and its compiled programs.

    :param closure: what the program takes besides the arguments: arrays, or how to read them at each call.
    :param guards: what has to hold for the program to be the right one.
    :param form: the nest in which the function returns its results; None: one result, or a tuple.
    :param numbers: the results that are numbers; None if that is not known of arrays of one element.
    :param shapes: the shapes of results as Python has them, where they are not those of the program.
    """

    function: Callable | Derived
    program: Program
    closure: Mapping[str, Any]
    results: dict[Request, Differentiated] = field(default_factory=dict)
    plans: dict[Request, MemoryPlan] = field(default_factory=dict)  # of those with a limit of memory
    gradients: dict[Request, CompiledGradient] = field(default_factory=dict)
    halves: dict[Hashable, Any] = field(default_factory=dict)
    tangents: dict[Request, CompiledProgram] = field(default_factory=dict)
    guards: Sequence[Guard] = ()
    form: Form | None = None
    numbers: frozenset[str] | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    resident: bool = False  # arguments are in the memory of a GPU
    recorded: bool = False  # a function of Python's that can be run as it stands
    stepwise: bool = False  # with loops
    rough: float = 0.0  # how far, relative, results of searches of Python's own may be from these
    disordered: bool = False  # Python's own results depend on the order of elements where some are NaN
    limits: tuple[IndexLimit, ...] = ()  # of index arrays among the inputs
    has_effects: bool = False  # a call leaves something outside that Python computes: each is recorded
    fits: tuple[Fits, ...] = ()  # what was taken to hold of integer arguments
    changed: Sequence[Change] = ()  # what the recording has bound outside of the function
    verified: bool = False  # results have been compared with those of the function
    decided: Answers = field(default_factory=Answers)  # by the memory that was free
    _primal: CompiledProgram | None = None

    @staticmethod
    def of(f: Callable | Derived, arguments: Mapping[str, Any], resident: bool = False) -> Signature:
        """Return the signature of a call, from the cache if it was seen before.

        :param resident: its programs are called with addresses in the memory of a GPU.
        """
        key = Signature.key(f, arguments, resident)
        found = Signature.known(f, key)
        if found is None:
            nothing_compiled()
            with making:
                found = Signature.known(f, key)
                if found is None:
                    found = replace(Signature.parse(f, arguments), resident=resident)
                    key = Signature.key(f, arguments, resident)  # more arguments may turn out to be fixed
                    found.remember(key)
        noted(found)
        return found

    @staticmethod
    def known(f: Callable | Derived, key: tuple) -> Signature | None:
        """Return the signature that was made before, and is still right."""
        made = _signatures.get(identity(f), {}).get(key, ())
        return next((s for s in made if all(g.holds() for g in s.guards)), None)

    def remember(self, key: tuple) -> None:
        """Keep the signature for later calls; one that belongs to a call of another function is of no use there."""
        if self.has_effects or any(is_recorded(v) for v in self.closure.values()):
            return
        made = _signatures.setdefault(identity(self.function), {}).setdefault(key, [])
        made.insert(0, self)
        del made[MOST_VARIANTS:]
        forget_oldest(MOST_FUNCTIONS, _signatures, _fixed, _fits)

    @staticmethod
    def key(f: Callable | Derived, arguments: Mapping[str, Any], resident: bool) -> tuple:
        """Return what the program depends on: kinds of arguments, settings, contents that decide."""
        fixed = fixed_arguments(f, arguments)
        own = f.fixed(arguments) if is_specialized(f) else ()
        open_ones: Mapping[str, Hashable] = f.extents() if is_open(f) else {}
        kinds = ((n, kind_of_argument(n, v, n in fixed, open_ones.get(n))) for n, v in arguments.items())
        fits = tuple(p.holds(arguments) for p in conditions_on_integers(f))
        settings = (config.blas, config.without, config.machine, config.eigenvalue_broadening)
        return (*settings, device(), resident, own, fits, *kinds)

    @staticmethod
    def parse(f: Callable | Derived, arguments: Mapping[str, Any]) -> Signature:
        """Parse the function for the arguments' shapes and dtypes, and bring it into normal form."""
        check_arguments(f, arguments)
        precompiled_header.begin()  # it is there when the program is, rather than after it
        with collecting() as made:
            if isinstance(f, Derived):
                tree, closure = f.derive(arguments)
                form = f.form(arguments) if isinstance(f, Nested) else None
                found = Signature(f, normalize_again(tree), closure, form=form, shapes=_shapes(f, arguments, tree))
            elif not needs_dace(f):
                with step("recording", name_of(f)):
                    found = Signature.record(f, arguments)
            else:
                found = Signature.parse_with_dace(f, arguments)
        limits = found.limits
        if isinstance(f, Derived):  # its arguments keep their names
            limits = tuple(x for s in made for x in s.limits if x.name in found.program.arguments)
        guards, fits = [g for s in (found, *made) for g in s.guards], [x for s in (found, *made) for x in s.fits]
        has_effects = any(s.has_effects for s in (found, *made))
        return replace(found, guards=guards, limits=limits, fits=tuple(fits), has_effects=has_effects)

    @staticmethod
    def parse_with_dace(f: Callable, arguments: Mapping[str, Any]) -> Signature:
        """Parse a function with constructs of DaCe for the arguments' shapes and dtypes."""
        program = as_program(f, arguments)
        sdfg = parse(program, _values(arguments))
        sdfg.name = name_of(f)
        closure = {k: v for k, v in closure_of(program, sdfg).items()}
        tree = normalize(sdfg, own=True)
        if missing := [n for n in own_arguments(tree) if n not in arguments and n not in closure]:
            raise ParseError(
                f"'{tree.name}' reads {', '.join(missing)}: neither an argument nor an array of the closure"
            )
        return Signature(f, tree, closure, guards=[*stamped(program)])

    @staticmethod
    def record(f: Callable, arguments: Mapping[str, Any]) -> Signature:
        """Record the function for the arguments' shapes and dtypes, and bring its program into normal form."""
        given = {n: as_recorded(v) for n, v in arguments.items()}
        hints = Hints(fixed=counts(arguments))
        try:
            found = record(getattr(f, "f", f) if isinstance(f, DaceProgram) else f, given, hints=hints)
        finally:  # inside of a program, examples of contents may make it fail before it is known that they matter
            fix(f, hints.fixed - counts(arguments))
        _fits.setdefault(identity(f), {}).update({str(p): p for p in found.fits})
        tree = in_normal_form(found.program, Target(python=True))
        if found.found and (used := found.found.keys() & inputs_that_matter(tree)):
            put_back(found.changed)
            raise ParseError(found.found[min(used)])
        own = Signature(f, tree, found.closure, guards=found.guards, form=found.form, numbers=found.numbers)
        nodes = [*walk(found.program.body)]
        stepwise = any(isinstance(n, Loop) for n in nodes)
        rules = (n.rule.rough for n in nodes if isinstance(n, CustomCall) and n.rule is not None)
        rough = max(hints.rough, max(rules, default=0.0))
        own = replace(own, recorded=True, stepwise=stepwise, rough=rough, disordered=hints.disordered)
        has_effects = any(not isinstance(c.now, Left) and not same_content(c.now, c.old) for c in found.changed)
        return replace(own, changed=found.changed, limits=found.limits, fits=found.fits, has_effects=has_effects)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return what the function returns; if it returns nothing, the float arguments it writes."""
        if found := returned(self.program):
            return found
        written = {self.program.root(w) for node in self.program.body for w in writes(node)}
        return tuple(n for n in self.program.arguments if n in written and self.is_float(n))

    @cached_property
    def places(self) -> frozenset[str]:
        """Return the outputs that are places of sparse matrices, which have no derivative."""
        return frozenset(o for o, is_place in zip(self.outputs, places_of(self.form), strict=False) if is_place)

    @cached_property
    def moving(self) -> tuple[str, ...]:
        """Return the outputs that have tangents."""
        return tuple(o for o in self.outputs if o not in self.places)

    def result_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs as Python has them: () for numbers."""
        found = {o: tuple(int(n) for n in self.program.containers[o].shape) for o in self.outputs}
        one = [o for o, s in found.items() if s == (1,) and is_returned(o)]
        numbers = one if self.numbers is None else self.numbers
        return [self.shapes.get(o, () if o in numbers else s) for o, s in found.items()]

    def is_float(self, name: str) -> bool:
        return name in self.program.containers and kind_of(self.program.containers[name].dtype) in ("float", "complex")

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments the graph has: unused ones and constants drop out.

        :raises IndexError: an index array reaches outside of what it indexes.
        """
        known = set(self.program.arguments) | set(self.program.symbols)
        taken = {n: v for n, v in given.items() if n in known} | self.now()
        try:
            check_limits(self.limits, taken)
        except PerhapsOutside as error:
            self.run_as_it_stands(given, error)
        return taken

    def run_as_it_stands(self, given: Mapping[str, Any], suspicion: IndexError) -> None:
        """Run the function as Python runs it: it tells whether an index that looks wrong is used.

        :raises IndexError: it is, or nobody can tell.
        """
        if not self.recorded:
            raise suspicion
        try:
            with as_before(self.changed):
                plain_results(cast(Callable, self.function), given, self.outputs, self.guards)
        except IndexError as error:
            raise error.with_traceback(None) from suspicion
        except GivenUp:
            raise suspicion from None

    def now(self) -> dict[str, Any]:
        """Return what the program takes besides the arguments, as it is now."""
        return {n: v.again() if isinstance(v, Read) else v for n, v in self.closure.items()}

    def nested(self, results: Sequence[Any]) -> Any:
        """Return results as the function does: one, a tuple, or any nest of them."""
        if self.form is None:
            return results[0] if len(results) == 1 else tuple(results)
        return unflatten(self.form, results)

    def output_value(self, name: str, values: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
        """Return an output in the kind and shape that the user expects."""
        like_what = next((v for v in arguments.values() if is_tensor(v)), None)
        array = values[name] if name in values else self._empty(name)
        one = is_returned(name) and self.program.containers[name].shape == (1,)
        if name in self.shapes:
            array = array.reshape(self.shapes[name])
        elif one and (self.numbers is None or name in self.numbers):
            array = array.reshape(())  # DaCe returns scalars as arrays of one element
        if is_resident(array):
            return array
        return like(array, like_what) if like_what is not None else array[()] if array.shape == () else array

    def _empty(self, name: str) -> np.ndarray:
        """Return an output without elements: a half of a program does not take it."""
        desc = self.program.containers[name].desc
        return np.zeros([int(n) for n in desc.shape], desc.dtype.type)

    def primal(self) -> CompiledProgram:
        """Return the function itself, compiled."""
        with making:
            if self._primal is None:
                found = _compiled([(self, None)], "primal", lambda s, r: Ready.of(s.program, s.resident))
                self._primal = found[0]
        return self._primal

    def tangent(self, request: Request) -> CompiledProgram:
        """Return the function with tangents, compiled."""
        compile_tangents([(self, request)])
        return self.tangents[request]

    def differentiated(self, request: Request, plain: Alternative | None = None) -> Differentiated:
        """Return the function and its adjoint; ``plain`` is that without a limit, if it is planned already."""
        with making:
            if request not in self.results:
                with step("differentiating", self.program.name), noting(self.decided):
                    if request.memory_limit is None:
                        self.results[request] = differentiate_program(self.program, request)
                    else:
                        self.results[request], self.plans[request] = within(self.program, request, plain=plain)
                _differentiated.append((self.results, request))
                while len(_differentiated) > MOST_DIFFERENTIATED:
                    results, oldest = _differentiated.popleft()
                    results.pop(oldest, None)
            return self.results[request]

    def _ready(self, request: Request) -> Ready:
        """Return the graph of the function and its adjoint."""
        found = self.differentiated(request)
        if request in self.plans:
            return Ready.within_limit(self.plans[request].program)
        return Ready.of(found.program, self.resident)

    def gradient(self, request: Request) -> CompiledGradient:
        """Return the function and its adjoint in one program, compiled."""
        compile_gradients([(self, request)])
        return self.gradients[request]


MOST_VARIANTS = 64  # programs of one function for different contents of what it reads outside
_signatures: dict[Hashable, dict[tuple, list[Signature]]] = {}
_fixed: dict[Hashable, set[str]] = {}  # arguments of recorded functions whose values are part of the signature
_fits: dict[Hashable, dict[str, Fits]] = {}  # what may hold of integer arguments, and decides
_differentiated: deque[tuple[dict[Request, Differentiated], Request]] = deque()  # the oldest first


def compile_gradients(asked: Iterable[tuple[Signature, Request]]) -> None:
    """Compile gradients that will be called, by one call of the compiler."""
    with making:
        missing = [(s, r) for s, r in dict.fromkeys(asked) if r not in s.gradients]
        programs = _compiled(missing, "gradient", Signature._ready)
        for (signature, request), program in zip(missing, programs, strict=True):
            result = partial(signature.differentiated, request)
            signature.gradients[request] = CompiledGradient(signature.program, program, result)


def compile_tangents(asked: Iterable[tuple[Signature, Request]]) -> None:
    """Compile functions with their tangents that will be called, by one call of the compiler."""
    with making:
        missing = [(s, r) for s, r in dict.fromkeys(asked) if r not in s.tangents]
        programs = _compiled(missing, "tangents", lambda s, r: Ready.of(push_tangents(s.program, r), s.resident))
        for (signature, request), program in zip(missing, programs, strict=True):
            signature.tangents[request] = program


def _compiled(
    asked: Sequence[tuple[Signature, Any]], what: str, make: Callable[[Signature, Any], Ready]
) -> list[CompiledProgram]:
    """Compile what is made of some signatures together, as far as it was not made before."""
    origins = [Origin.of(s.program, what, request, s.resident) for s, request in asked]
    found = {k: before.programs[0] for k, o in enumerate(origins) if o is not None and (before := o.restored())}
    new = [k for k in range(len(asked)) if k not in found]
    if new:
        with step("compiling", ", ".join(asked[k][0].program.name for k in new)):
            found |= zip(new, compiled(*(make(*asked[k]) for k in new)), strict=True)
    for k, origin in ((k, origins[k]) for k in new):
        if origin is not None:
            origin.store([found[k]], asked[k][0].decided)
    return [found[k] for k in range(len(asked))]


def _identities(f: Callable | Derived) -> Iterator[Hashable]:
    """Yield what stands for a function, and for those that it is a derivative of."""
    yield identity(f)
    while is_derived(f):
        f = f.f
        yield identity(f)


def conditions_on_integers(f: Callable | Derived) -> list[Fits]:
    """Return what decides of integer arguments, beside their types, which program of a function is the right one."""
    return [fits for own in _identities(f) for fits in _fits.get(own, {}).values()]


def sizes_that_decide(f: Callable | Derived) -> set[str]:
    """Return the integer arguments that decide, beside their types, which program of a function is the right one."""
    return {n for fits in conditions_on_integers(f) for _, n in fits.symbols}


def fixed_arguments(f: Callable | Derived, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments whose values the program is for."""
    names = {n for own in _identities(f) for n in _fixed.get(own, ())} | counts(arguments)
    return {n: v for n, v in arguments.items() if n in names or isinstance(v, (bool, np.bool_))}


def fix(f: Callable | Derived, names: Iterable[str]) -> None:
    """Let the values of some arguments be a part of what programs are for."""
    _fixed.setdefault(identity(f), set()).update(names)


def _shapes(f: Derived, arguments: Mapping[str, Any], program: Program) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a derived function's results, if it says."""
    return dict(zip(returned(program), f.shapes(arguments), strict=True)) if hasattr(f, "shapes") else {}


def _values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {n: as_value(v) for n, v in arguments.items()}
