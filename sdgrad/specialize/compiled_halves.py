"""Compile the two halves of a pullback: forward, which leaves a tape, and backward, which reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np

from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.autodiff.request import Request
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ArgumentError, MemoryLimitError, NameNotFound
from sdgrad.memory.halves import PlannedHalves, refusal
from sdgrad.memory.limited import Alternative, primal_within
from sdgrad.memory.plan import MemoryPlan
from sdgrad.pipeline import Ready, compiled
from sdgrad.program.tree import Block, SymbolAssign, writes
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.compile_lock import making
from sdgrad.specialize.protocols import Watching
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.stored_programs import Origin
from sdgrad.symbolic.evaluate import evaluated
from sdgrad.symbolic.expr import to_ast
from sdgrad.tape.split import Halves, split

Tapes = str | Sequence[str]


@dataclass(frozen=True)
class Between:
    """Hold what a backward half takes from its forward half, and how much that is.

    :param kept: what the forward half leaves.
    :param restarted: arguments that are taken as they were before it.
    :param sizes: assignments of the symbols in sizes.
    """

    kept: frozenset[str]
    restarted: frozenset[str]
    sizes: tuple[SymbolAssign, ...] = ()

    @staticmethod
    def of(parts: Halves) -> Between:
        """Return what is between two halves."""
        return Between(parts.kept, parts.restarted, parts.sizes or ())

    @staticmethod
    def read(facts: Mapping[str, Any]) -> Between | None:
        """Return what :meth:`told` has said; None of nothing."""
        return Between(frozenset(facts["kept"]), frozenset(facts["restarted"])) if facts else None

    def told(self) -> dict[str, Any]:
        """Say what is taken, in words that JSON has; of arrays whose sizes are known."""
        return {"kept": sorted(self.kept), "restarted": sorted(self.restarted)}


@dataclass(frozen=True)
class Compiled:
    """Hold the two halves of one signature; without a split, the second one is the whole gradient program.

    :param make: returns the halves as programs.
    """

    forward: CompiledProgram
    backward: CompiledProgram
    between: Between | None = None
    make: Callable[[], Halves | None] = lambda: None

    @staticmethod
    def of(forward: CompiledProgram, backward: CompiledProgram, parts: Halves) -> Compiled:
        """Return compiled halves."""
        return Compiled(forward, backward, Between.of(parts), lambda: parts)

    @property
    def halves(self) -> Halves | None:
        """Return the halves as programs; None without a split."""
        return self.make()

    @property
    def fixed(self) -> bool:
        """True if the sizes of all arrays are known before a call."""
        both = (self.forward, self.backward)
        return all(not p.library.initial and all(slot.shape is not None for slot in p.slots) for p in both)

    def sizes(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        """Return the values of symbols in the sizes of what is kept."""
        found: dict[str, Any] = {n: v for n, v in arguments.items() if isinstance(v, (int, np.integer))}
        own: dict[str, int] = {}
        for node in self.between.sizes if self.between is not None else ():
            loaded = {x.name: _element(arguments[x.container], x.index, {**found, **own}) for x in node.value.loads}
            own[node.symbol] = int(evaluated(node.value.expr, {**found, **own, **loaded}))
        return own


def compile_halves(signature: Signature, request: Request, tapes: Tapes) -> Compiled:
    """Return the programs of both halves, from the signature's cache if they are known."""
    stored = None if tapes in ("least", "all") else frozenset() if tapes == "none" else frozenset(tapes)
    key = (request, stored)
    with making:
        if key not in signature.halves:
            signature.halves[key] = _stored(signature, request, stored) or _halves(signature, request, stored)
    return signature.halves[key]


def _stored(signature: Signature, request: Request, stored: frozenset[str] | None) -> Compiled | None:
    """Return what was made before, by any process, or make and store it; None if there is no telling what it is."""
    asked = request, signature.resident, None if stored is None else sorted(stored)
    origin = None if is_watched(signature) else Origin.of(signature.program, "halves", *asked)
    if origin is None:
        return None
    if (before := origin.restored(2)) is not None:
        forward, backward = before.programs
        whole = partial(_halves, signature, request, stored)
        return Compiled(forward, backward, Between.read(before.facts), lambda: whole().halves)
    made = _halves(signature, request, stored)
    if made.between is None or not made.between.sizes:
        facts = {} if made.between is None else made.between.told()
        origin.store([made.forward, made.backward], signature.decided, facts)
    return made


def _halves(signature: Signature, request: Request, stored: frozenset[str] | None) -> Compiled:
    """Differentiate and split a program; None if the tape has no size before a call, or one for any number of trips."""
    result = signature.differentiated(replace(request, memory_limit=None))
    parts = None if result.plan.is_open else split(result.program, result.forward, result.backward, stored)
    if parts is None or parts.sizes is None:  # how much is kept is known afterwards: backward starts again
        if request.memory_limit is None:
            return Compiled(signature.primal(), signature.gradient(request).program)
        primal, limit = primal_within(signature.program, request.memory_limit)
        return _from_the_start(signature, primal, replace(request, memory_limit=limit))
    if request.memory_limit is not None:
        return _halves_within(signature, request, result, PlannedHalves.of(parts))
    storable = _storable(parts, result.forward)
    if stored and (unknown := sorted(stored - storable)):
        _refuse_to_store(unknown[0], signature, storable)
    forward, backward = compiled(*both_graphs(signature, parts))
    return Compiled.of(forward, backward, parts)


def _halves_within(signature: Signature, request: Request, result: Differentiated, halves: PlannedHalves) -> Compiled:
    """Return programs that take no more memory than the request's limit.

    If what is between the halves is too much, less is kept there; if that does not help, nothing, and the second one is
    the whole gradient.
    """
    assert request.memory_limit is not None
    limit = halves.limit(request.memory_limit)
    if not halves.fit(limit):
        both = Alternative.of(result)
        smaller = halves.smaller(both, limit)
        if smaller is None or limit.bytes is None:
            primal, rest = primal_within(signature.program, limit)
            whole = replace(request, memory_limit=rest)
            try:
                signature.differentiated(whole, both)
            except MemoryLimitError as error:
                raise refusal(signature.program, both, limit, error) from None
            least = limit.beside + (smaller or halves).bytes
            if limit.bytes is not None or rest.beside + signature.plans[whole].bytes < least:
                return _from_the_start(signature, primal, whole)
        halves = smaller or halves
    forward, backward = compiled(*(Ready.within_limit(p.program) for p in (halves.forward, halves.backward)))
    return Compiled.of(forward, backward, halves.parts)


def _from_the_start(signature: Signature, primal: MemoryPlan, request: Request) -> Compiled:
    """Return the function itself, and its whole gradient."""
    return Compiled(compiled(Ready.within_limit(primal.program))[0], signature.gradient(request).program)


def _refuse_to_store(name: str, signature: Signature, storable: set[str]) -> NoReturn:
    """Say why a variable cannot be kept on the tape.

    :raises ArgumentError: it has no memory.
    :raises NameNotFound: there is no variable of that name.
    """
    code = getattr(python_function(signature.function), "__code__", None)
    if code is None or name not in code.co_varnames:
        raise NameNotFound("variable to store", name, sorted(storable))
    raise ArgumentError(
        f"tapes: '{name}' of {name_of(signature.function)} is no array in memory: fusion has merged what computes it "
        "with what reads it, and the backward pass computes it again. Leave it out; or, to keep it, compute it by a "
        "function of its own, give it to the rest as an argument, and chain the two backward functions"
    )


def both_graphs(signature: Signature, parts: Halves) -> tuple[Ready, Ready]:
    """Return forward and backward as graphs, after their function has seen them."""
    first, second = (Ready.of(p, signature.resident) for p in (parts.forward, parts.backward))
    if not is_watched(signature):
        return first, second
    first, second = first.to_show(), second.to_show()
    cast(Watching, signature.function).differentiated(first.sdfg, second.sdfg)
    return first, second


def is_watched(signature: Signature) -> bool:
    """True if somebody wants to see the graphs of the halves."""
    return isinstance(signature.function, Watching) and signature.function.is_watched()


def _element(array: Any, index: tuple, known: Mapping[str, Any]) -> Any:
    place = tuple(int(evaluated(to_ast(i), known)) for i in index)
    return np.reshape(as_array(array), np.shape(as_array(array)) or 1)[place]


def _storable(parts: Halves, forward: Block) -> set[str]:
    written = {parts.forward.root(n) for node in forward for n in writes(node)}
    return {n for n in written if parts.forward.containers[n].transient or n in parts.kept}
