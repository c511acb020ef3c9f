"""Record what has a derivative of the user's: functions with rules, and regions of functions.

Each is one node whose block is what was recorded of it; the rule is recorded when the node is differentiated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np
import sympy
from dace import nodes as nd

from sdgrad.convert.callables import bind_arguments
from sdgrad.convert.lowering import PREFIX
from sdgrad.errors import NameNotFound, ParseError
from sdgrad.program import custom_rule
from sdgrad.program.custom_call import CustomCall, Operand
from sdgrad.program.custom_rule import CustomRule, custom_region, names_of, stem
from sdgrad.program.tree import Node
from sdgrad.program.window import whole_window
from sdgrad.record.functions.table import active, array
from sdgrad.record.libraries import is_users_module
from sdgrad.record.nests import is_nest
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import Control
from sdgrad.record.stores import fill, in_memory
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, Storage, is_recorded
from sdgrad.symbolic.expr import Expr

FLAG = (bool, Number)  # what names of ours are that say whether a function or a loop is left


@dataclass
class Variables:
    """Collect what a rule may ask for: operands, and integers that are expressions; and what else there is."""

    recorder: Recorder
    operands: dict[str, Operand] = field(default_factory=dict)
    symbols: dict[str, Expr] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any) -> Any:
        """Add a variable, and return its value as it is in the memory of the variable; what is neither an array nor a
        number is none.
        """
        if isinstance(value, (np.ndarray, Array)):
            return self.recorder.array(self._memory(name, _whole(value), False))
        if isinstance(value, Number) and value.expr is not None:
            self.symbols[name] = value.expr
        elif isinstance(value, int) and not isinstance(value, bool):
            self.symbols[name] = sympy.Integer(value)
        elif isinstance(value, (Number, float, complex, np.inexact)):
            stored = self.recorder.stored(value, value.dtype if isinstance(value, Number) else np.asarray(value).dtype)
            found = value if isinstance(value, Number) else self.recorder.read(stored, ())
            self.recorder.flush()
            self._memory(name, self.recorder.stored(found, found.dtype), True)
            return found
        else:
            self.others[name] = kind_of_other(value)
        return value

    def _memory(self, name: str, tensor: Tensor, scalar: bool) -> Tensor:
        self.operands[name] = self.operand(tensor, scalar)
        return tensor

    def operand(self, tensor: Tensor, scalar: bool) -> Operand:
        desc = self.recorder.containers[tensor.container].desc
        return Operand(whole_window(tensor.container, desc), tuple(sympy.sympify(n) for n in desc.shape), scalar)

    def call(self, rule: CustomRule, block: Sequence[Node]) -> CustomCall:
        """Return the node.

        :raises NameNotFound: the rule asks for another variable.
        """
        asked = {rule.spelled(stem(p)[1]) for f in rule.functions for p in names_of(f)}
        known = {*self.operands, *self.symbols, *self.others, *(rule.parameters or ())}
        if missing := sorted(asked - known):
            raise NameNotFound(f"variable of '{rule.name}'", missing[0], known)
        wanted = asked | {*(rule.parameters or ()), *rule.results}
        operands = {n: o for n, o in self.operands.items() if n in wanted}
        symbols = {n: e for n, e in self.symbols.items() if n in wanted}
        label, where = nd.Tasklet(rule.name), self.recorder.where()
        return CustomCall(
            label, {}, {}, where, block=tuple(block), rule=rule, variables=operands, symbols=symbols, others=self.others
        )


def kind_of_other(value: Any) -> str:
    """Return what a value is that is neither an array nor a number, as errors say it."""
    if is_nest(value):
        return f"a {type(value).__name__} of values"
    return "a text" if isinstance(value, str) else "None" if value is None else f"a {type(value).__name__}"


def _whole(value: Any) -> Tensor:
    """Return an array as all of a container."""
    given = array(value)
    return in_memory(given, given.dtype)


def call_with_rule(call: Callable, function: Any, rule: CustomRule, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """Record a call of a function that has a rule.

    :param call: calls the function's converted form.
    """
    recorder = active()
    for name in ("vjp", "jvp"):
        recorder.reads.add(rule, name, "attribute", getattr(rule, name))
        recorder.reads.of_function(getattr(rule, name), is_users_module)
    variables = Variables(recorder)
    given = {n: _apart(variables, n, v, rule) for n, v in bind_arguments(function, args, kwargs).items()}
    for name, value in given.items():
        variables.add(name, value)
    block: list[Node] = []
    with recorder.inside(block):
        found, names = with_locals(lambda: call(**given), function.__code__)
        values = list(found) if isinstance(found, tuple) else [found]
        if not values or not all(map(is_recorded, values)):
            raise ParseError(f"'{rule.name}' has a derivative of its own and returns {_instead(values)}")
        tensors = [_kept(variables, v) for v in values]
        rule.results = tuple(_result_names(values, names, rule))
        asked = {stem(p)[1] for f in rule.functions for p in names_of(f)} - {*given, *rule.results}
        for name in asked & names.keys():
            variables.add(name, names[name])
    for name, tensor in zip(rule.results, tensors, strict=True):
        variables.operands[name] = variables.operand(tensor, not tensor.shape)
    recorder.append(variables.call(rule, block))
    results = [recorder.array(t) if t.shape else recorder.read(t, ()) for t in tensors]
    return tuple(results) if isinstance(found, tuple) else results[0]


def _instead(values: Sequence[Any]) -> str:
    """Return what is wrong with results that are not arrays and numbers, and what to write."""
    wrong = next((v for v in values if not is_recorded(v)), None)
    if wrong is None:
        return "nothing: return what it computes, or use custom_region for statements that write arrays"
    kind = kind_of_other(wrong)
    if is_nest(wrong):
        return f"{kind}: return arrays and numbers in a tuple, and put them together where it is called"
    return f"{kind} that does not depend on its arguments: return arrays and numbers that it computes of these"


def _apart(variables: Variables, name: str, value: Any, rule: CustomRule) -> Any:
    """Return an argument as an array of its own that must not be written."""
    if not isinstance(value, (Array, np.ndarray)):
        return value
    tensor = _whole(value)
    reason = f"'{rule.name}' has a derivative of its own, and writes its argument {name}: give a copy of it"
    storage = Storage(tensor.container, None, variables.recorder.blocks[-1], None, readonly=reason)
    return Array(variables.recorder, storage, tensor)


def _kept(variables: Variables, value: Any) -> Tensor:
    """Return a copy of a result: it may be an argument, or a part of another array."""
    if isinstance(value, Number):
        tensor = variables.recorder.declare("out", (), value.dtype)
        variables.recorder.write(tensor, (), value)
        return tensor
    target = variables.recorder.array(variables.recorder.declare("out", value.tensor.shape, value.dtype))
    fill(target, value)
    return target.tensor


def _result_names(values: Sequence[Any], names: Mapping[str, Any], rule: CustomRule) -> list[str]:
    """Return the names of results: those of the variables that are returned, or ``out``, ``out_0``, ..."""
    found: list[str] = []
    for k, value in enumerate(values):
        own = [n for n, v in names.items() if v is value and n not in found and n not in (rule.parameters or ())]
        found.append(own[0] if own else "out" if len(values) == 1 else f"out_{k}")
    return found


def with_locals(run: Callable[[], Any], code: CodeType) -> tuple[Any, dict[str, Any]]:
    """Return what a call returns, and what the variables of a function are at the end of it."""
    names: dict[str, Any] = {}

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        if event == "return" and _is(frame.f_code, code):
            names.clear()
            names.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        found = run()
    finally:
        sys.setprofile(before)
    return found, names


def _is(converted: CodeType, code: CodeType) -> bool:
    """True if code is another one's converted form."""
    return converted.co_name == code.co_name and converted.co_filename == code.co_filename


@dataclass
class Region:
    """Hold a region that is being recorded."""

    recorder: Recorder
    before: Mapping[str, Any]
    block: list[Node]


def enter(region: custom_region) -> None:
    """Begin to record a region; outside of a recording nothing happens."""
    recorder = active()
    if recorder is None:
        return
    block: list[Node] = []
    recorder.flush()
    region.open.append(Region(recorder, _frame().f_locals.copy(), block))
    recorder.blocks.append(block)


def leave(region: custom_region, error: Any) -> None:
    """Record the region as one node."""
    if not region.open:
        return
    own: Region = region.open.pop()
    recorder = own.recorder
    if error is not None and isinstance(error, Control):
        return  # the recording is at its end
    names = _frame().f_locals
    if any(own.before.get(n) is not v for n, v in names.items() if n.startswith(PREFIX) and isinstance(v, FLAG)):
        raise ParseError(
            f"a return, break or continue in the region of '{region.rule.name}': let the region compute, and leave "
            "after it"
        )
    asked = {stem(p)[1] for f in region.rule.functions for p in names_of(f)}
    variables, first = Variables(recorder), []
    recorder.flush()
    for name in sorted(asked & names.keys()):
        value, old = names[name], own.before.get(name)
        rebound = isinstance(value, Number) and value.expr is None and value is not old
        if rebound or isinstance(value, Array) and _moved(value, old):
            first.append((name, value, old))
    holders = {n: _holder(variables, n, v, own) for n, v, old in first}
    recorder.flush()
    recorder.blocks.pop()
    for name, value, old in first:
        tensor = holders[name]
        if is_recorded(old) and old is not value:
            put(recorder, tensor, old)
        variables.operands[name] = variables.operand(tensor, not tensor.shape)
    for name in sorted(asked & names.keys() - holders.keys()):
        variables.add(name, names[name])
    recorder.append(variables.call(region.rule, own.block))


def _moved(value: Array, old: Any) -> bool:
    """True if a name means another array after the region, or a part of one."""
    return not isinstance(old, Array) or old.storage is not value.storage or not value.recorder.is_whole(value.tensor)


def _holder(variables: Variables, name: str, value: Any, own: Region) -> Tensor:
    """Return memory that a name has before and after the region; what it means afterwards is in it from now on."""
    recorder = variables.recorder
    tensor = recorder.declare(name, value.tensor.shape if isinstance(value, Array) else (), value.dtype)
    put(recorder, tensor, value)
    if isinstance(value, Array):
        value.storage, value.tensor, value.shown = recorder.array(tensor).storage, tensor, None
    else:
        recorder.flush()
        value.tensor, value.name = tensor, None
    return tensor


def put(recorder: Recorder, tensor: Tensor, value: Any) -> None:
    """Write a value to memory of its shape."""
    if tensor.shape:
        fill(recorder.array(tensor), value)
    else:
        recorder.write(tensor, (), value)


def _frame() -> FrameType:
    """Return the frame that enters or leaves a region."""
    return sys._getframe(3)


custom_rule.HOOKS.enter, custom_rule.HOOKS.leave = enter, leave
