"""Find the user's frames among those that are being run."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType

from sdgrad.convert.trees import OPERATORS


def converted_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of converted functions, innermost first."""
    while frame is not None:
        if is_converted(frame.f_code):
            yield frame
        frame = frame.f_back


def call_chain(frame: FrameType | None) -> tuple[tuple[str, int, int], ...]:
    """Return the places of the calls of converted functions, innermost first: several calls may stand in a line."""
    return tuple((f.f_code.co_filename, f.f_lineno, f.f_lasti) for f in converted_frames(frame))


def is_converted(function: CodeType) -> bool:
    return OPERATORS in function.co_freevars
