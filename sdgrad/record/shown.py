"""Show errors in the user's code: file and line first, the source with the expression marked, then what is wrong."""

from __future__ import annotations

import dis
import functools
import linecache
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, TypeVar

import numpy as np

import sdgrad
from sdgrad.config import config
from sdgrad.record.frames import is_converted
from sdgrad.record.libraries import is_users_module

F = TypeVar("F", bound=Callable)
OURS = str(Path(sdgrad.__file__).parent)
MOST_CALLERS = 4
LOCATED = "sdgrad_located"
NO_SOURCE = (
    "the source of '{}' is not at hand, so that Python runs it: loops and branches on data, and lists of arrays, need "
    "it. Define the function in a file or a notebook"
)


def located(error: Exception) -> None:
    """Put the place in the user's code before the message of an error that was raised here or by a library, once."""
    steps = list(_steps(error.__traceback__))
    if getattr(error, LOCATED, False) or not steps or _is_in_users_code(steps[-1]):
        return
    converted = _without_wrappers([s for s in steps if is_converted(s.tb_frame.f_code)])
    if isinstance(error, np.exceptions.AxisError):  # its text is made of two numbers
        error.args, error.axis, error.ndim = (str(error),), None, None
        _say(error, *error.args)
    if not error.args or not isinstance(error.args[0], str):
        return
    if blind := [s.tb_frame.f_code.co_name for s in steps if _is_blind(s)]:
        _say(error, f"{error.args[0]}\n{NO_SOURCE.format(blind[-1])}")
    if converted:
        _put_place(error, converted)


def located_in_plain_run(error: Exception) -> None:
    """Put the place in the user's code before the message of an error that a library raised in a run of Python's."""
    steps = list(_steps(error.__traceback__))
    users = [s for s in steps if _is_in_users_code(s)]
    told = error.args and isinstance(error.args[0], str)
    if users and told and not getattr(error, LOCATED, False) and not _raises(steps[-1]):
        _put_place(error, users)


def _raises(step: TracebackType) -> bool:
    """True of a frame of the user's that raises an error itself, by ``raise``."""
    code = step.tb_frame.f_code.co_code
    return _is_in_users_code(step) and dis.opname[code[step.tb_lasti]] == "RAISE_VARARGS"


def _is_in_users_code(step: TracebackType) -> bool:
    return is_users_module(step.tb_frame.f_globals.get("__name__", ""))


def _without_wrappers(steps: list[TracebackType]) -> list[TracebackType]:
    """Return steps without those in libraries, such as PyTorch's code around a decorated function, if any are left."""
    return [s for s in steps if _is_in_users_code(s)] or steps


def _put_place(error: Exception, steps: Sequence[TracebackType]) -> None:
    """Put places before the message of an error: the innermost one first, those that call it afterwards."""
    first = steps[-1]
    callers = [s for s in reversed(steps[:-1])][:MOST_CALLERS]
    text = [_place(first), *_marked(first), str(error.args[0])]
    text += [f"  called from {_place(s)}: {_line(s)}" for s in callers]
    if type(error) is KeyError:  # shows what it is given as code, in one line
        error.args = (f"{error.args[0]} ({_place(first)}: {_line(first)})",)
    else:
        _say(error, "\n".join(text))
    setattr(error, LOCATED, True)


def _say(error: Exception, text: str) -> None:
    error.args = (text, *error.args[1:])
    if isinstance(error, np.exceptions.AxisError):
        error._msg = text  # type: ignore[attr-defined]


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_blind(step: TracebackType) -> bool:
    """True of a function of the user's whose source is not at hand."""
    code = step.tb_frame.f_code
    own = _is_users(code) and not is_converted(code) and code.co_name != "<module>"
    return own and not linecache.getline(code.co_filename, step.tb_lineno, step.tb_frame.f_globals)


def _is_users(code: CodeType) -> bool:
    return not code.co_filename.startswith(OURS)


def _place(step: TracebackType) -> str:
    return f"{Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}"


def _line(step: TracebackType) -> str:
    return linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno, step.tb_frame.f_globals).strip()


def _marked(step: TracebackType) -> list[str]:
    """Return the source line, and marks under the expression that was computed."""
    frame = step.tb_frame
    line = linecache.getline(frame.f_code.co_filename, step.tb_lineno, frame.f_globals).rstrip("\n")
    if not line.strip():
        return []
    indent = len(line) - len(line.lstrip())
    shown = ["    " + line.strip()]
    positions = list(frame.f_code.co_positions()) if hasattr(frame.f_code, "co_positions") else []
    place = positions[step.tb_lasti // 2] if step.tb_lasti // 2 < len(positions) else (None,) * 4
    first, last, start, end = place
    if start is not None and end is not None and first == step.tb_lineno:
        end = end if last == first else len(line)
        if end > start >= indent:
            shown.append("    " + " " * (start - indent) + "^" * (end - start))
    return shown


def short(f: F) -> F:
    """Decorate a function that users call: the tracebacks of its errors show their code, and not ours."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            if config.debug:
                raise
            cut = _cut(error.__traceback__)
            raise error.with_traceback(cut) from error.__cause__

    return call  # type: ignore[return-value]


def _cut(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this library."""
    kept = [s for s in _steps(traceback) if _is_users(s.tb_frame.f_code)]
    found: TracebackType | None = None
    for step in reversed(kept):
        found = TracebackType(found, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return found
