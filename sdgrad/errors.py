"""Every error the library raises on purpose, under one base class."""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class SdgradError(Exception):
    """Base of all errors of this library."""


@dataclass(frozen=True)
class Problem:
    """One reason why a program cannot be differentiated: what, where, and what to do instead."""

    construct: str
    message: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.construct}: {self.message}"
        text += f"\n    at {self.where}{source_line(self.where)}" if self.where else ""
        return text + (f"\n    hint: {self.hint}" if self.hint else "")


def source_line(where: str) -> str:
    """Return the code at a place, as a line of its own; empty if it is not at hand.

    :param where: a file and the number of a line, ``file:12``, and perhaps a label in parentheses.
    """
    file, _, number = where.partition(" (")[0].rpartition(":")
    line = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    return f"\n        {line}" if line else ""


class DifferentiationError(SdgradError):
    """A program cannot be differentiated. ``problems`` lists every reason found, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        head = "cannot differentiate" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"{head}:"] + [f"  - {p}" for p in self.problems]))


class NameNotFound(SdgradError, KeyError):
    """A name given by the user names nothing."""

    def __init__(self, kind: str, name: str, candidates: Iterable[str]) -> None:
        known = sorted(candidates)
        same = [k for k in known if k.lower() == name.lower()]
        near = same or difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        self.message = f"no {kind} named {name!r}{hint} Known: {', '.join(known) or 'none'}."
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class ArgumentError(SdgradError, TypeError):
    """A call has the wrong arguments: which one, what was expected, what was found."""


class NotScalarError(SdgradError, ValueError):
    """A gradient was asked of an output that is not a scalar, without a cotangent."""


class TapeError(SdgradError, RuntimeError):
    """A tape cannot be used: what it refers to has been changed, or there is none."""


class UnusedInputError(SdgradError, ValueError):
    """An input does not influence the outputs, and the caller asked to be told."""


class InvalidGraph(SdgradError):
    """A graph is refused by DaCe's own validation, before it is differentiated."""


class InvalidModel(SdgradError, ValueError):
    """An ONNX model cannot be read: it is corrupt, incomplete, or of a version that is not known."""


class UnsupportedOperator(SdgradError):
    """An operator of an ONNX model that cannot be turned into a program: which node, and why."""

    def __init__(self, kind: str, node: str, reason: str) -> None:
        super().__init__(f"{kind} '{node}': {reason}" if node else f"{kind}: {reason}")


class CaptureError(SdgradError):
    """A PyTorch module cannot be turned into a program. ``problems`` lists every reason found, not only the first."""

    def __init__(self, module: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join([f"cannot capture {module}:"] + [f"  - {p}" for p in self.problems]))


class ParseError(SdgradError):
    """A function cannot be turned into a program."""


class UnboundVariable(ParseError, UnboundLocalError):
    """A name has no value that can be used, or another one in each arm of a condition that only a run decides."""


class UnknownAttribute(ParseError, AttributeError):
    """An object has no attribute of this name that can be recorded."""


class UnknownContent(ParseError):
    """Python needs a number, or a length, that only a run of the program knows."""


class ConvergenceError(SdgradError, ArithmeticError):
    """A solver did not reach what it was asked for: a root, a fixed point, a minimum, the end of an interval."""


class OutOfMemory(SdgradError, MemoryError):
    """The machine has no memory for the arrays of a program. ``what`` says how large these are."""

    def __init__(self, what: str, hint: str) -> None:
        self.what = what
        super().__init__(f"{what}. {hint}")


class DiskError(SdgradError, OSError):
    """The folder for files of a program cannot be written, or has no room for them."""


class MemoryLimitError(SdgradError, MemoryError):
    """A program takes more memory than it may, whatever is computed again. ``least`` are the bytes that it needs."""

    def __init__(self, message: str, least: int) -> None:
        self.least = least
        super().__init__(message)


class VerificationError(SdgradError):
    """A compiled program computes something else than the user's function (``config.verify``)."""


class CompilationFailed(SdgradError):
    """The C++ compiler is missing or refuses the generated code."""


class DeviceError(SdgradError, RuntimeError):
    """A GPU is missing, or refuses what a program asks of it."""


class UnsupportedNode(SdgradError):
    """Internal signal of a lifting: this node stays a call, with a reason for the fence to print."""
