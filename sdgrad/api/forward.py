"""Compile functions without a derivative, by the same pipeline."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from sdgrad.api.gradient import checked
from sdgrad.api.typed import P, R
from sdgrad.convert.callables import hashable, name_of
from sdgrad.convert.keywords import own_keywords
from sdgrad.record.shown import short
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.runtime.call.device_arrays import placed, run
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.prepared_calls import MISSING, PreparedCalls
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.verification import verified


@own_keywords
def compile_forward(f: Callable[P, R], *, inplace: bool = False) -> Callable[P, R]:
    """Compile ``f`` itself by the same pipeline, without a gradient: the yardstick for a gradient's time.

    :returns: a callable with ``f``'s arguments that returns its outputs in fresh arrays.
    """
    return cast(Callable[P, R], ForwardFunction(checked(f), inplace))


def in_place(f: Callable, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """Return what a function returns where it is called in one that is recorded."""
    return RecordingOperators().call(f, *args, **kwargs)


@dataclass
class ForwardFunction:
    """``compile_forward(f)``: compiled on demand, once for each signature."""

    f: Callable
    inplace: bool
    prepared: PreparedCalls = field(default_factory=PreparedCalls, init=False, repr=False, compare=False)
    flat: dict[Hashable, ForwardFunction] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.__name__ = name_of(self.f)

    def record_call(self, recorder: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Call the function in one that is recorded."""
        return in_place(self.f, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.prepared(args, kwargs)
        return self.general(args, kwargs) if found is MISSING else found

    @short
    def general(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Compute a call of which nothing is known beforehand."""
        call = Call.of(self.f, args, kwargs)
        if call.is_of_another:
            own = self.flat.setdefault(hashable(call.f), ForwardFunction(call.f, self.inplace))
            found = own(*call.arguments.values())
            if not call.symbols:
                self.prepared.nest(self.f, args, kwargs, own.prepared, call, lambda result: result)
            return found
        memory, models = placed(call.arguments)
        signature = Signature.of(self.f, models, memory is not None)
        program = signature.primal()
        given = signature.arguments(call.arguments)
        found = verified(signature, call.arguments, lambda: run(program, given, memory, self.inplace), self.inplace)
        results = tuple(signature.output_value(o, found, call.arguments) for o in signature.outputs)
        if not self.inplace and memory is None:
            shapes = dict(zip(signature.outputs, map(np.shape, results), strict=True))
            self.prepared.prepare(self.f, signature, program, args, kwargs, (), shapes, signature.nested)
        return signature.nested(results)
