"""Record ``while`` loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from sdgrad.convert.operators import Names
from sdgrad.program.tree import SCALAR, Branch, Load, Loop, Node, Value
from sdgrad.record.carried import Cell
from sdgrad.record.loops import RecordedLoop
from sdgrad.record.recorder import Recorder
from sdgrad.record.values import Array, is_recorded
from sdgrad.symbolic import code


class RecordedWhile(RecordedLoop):
    """Record ``while``: the condition before the first trip, and again after each."""

    def __init__(self, recorder: Recorder, target: str, flags: Names, head: Names, names: Names, later: Names) -> None:
        super().__init__(recorder, target, flags, head, names, later)
        self.condition: Cell | None = None
        self.tested: list[Node] = []

    def __iter__(self) -> Iterator[None]:
        yield

    def test(self, condition: Any) -> bool:
        """Take the condition of a trip."""
        if isinstance(condition, Array):
            condition = condition[(0,) * condition.ndim]
        if not is_recorded(condition):
            if not condition or not self.flags:
                raise self.written_out()
            self.runs = True
            return True
        self.condition = Cell.of(self.recorder, [np.False_], self.origin, "going")
        self.condition.put(_as_bool(condition))
        self.recorder.flush()
        self.tested, self.body[:] = list(self.body), []
        return True

    def end(self) -> None:
        self.recorder.flush()
        self.recorder.blocks.pop()
        self.first()
        self.recorder.append(*self.tested)
        if self.lasting and self.condition is not None:
            first = Cell.of(self.recorder, [np.False_], self.origin, "ran")
            first.put(self.condition.value)
            self.ran = first.value
        also = self.going()
        body = tuple(self.body)
        if self.condition is None and also is None:
            raise self.written_out()  # nothing ends it
        if self.condition is not None:
            test = self.recorder.value(self.condition.value)
            body += tuple(self.tested) if also is None else (self._unless_stopped(also),)
            also = test
        assert also is not None
        also = self._while_nothing_failed(also)
        one = Value((), code.constant(1))
        self.recorder.append(Loop(self.symbol, Value((), code.constant(0)), None, one, body, self.where, also))

    def _while_nothing_failed(self, going: Value) -> Value:
        """Return a condition that also ends the loop once a check has failed."""
        if self.recorder.checks is None:
            return going
        status = self.recorder.checks[0]
        name = self.recorder.names.fresh("c")
        fine = ast.Compare(code.name(name), [ast.Eq()], [code.constant(0)])
        return Value((*going.loads, Load(name, status.container, SCALAR)), ast.BoolOp(ast.And(), [going.expr, fine]))

    def _unless_stopped(self, going: Value) -> Node:
        """Return the test after a trip: none, and no further trip, if a flag is set."""
        assert self.condition is not None
        stopped: list[Node] = []
        with self.recorder.inside(stopped):
            self.condition.put(False)
        return Branch(((going, tuple(self.tested)), (None, tuple(stopped))), self.where)


def _as_bool(condition: Any) -> Any:
    return condition if condition.dtype.kind == "b" else condition != 0
