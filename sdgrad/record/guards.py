"""Keep what only a run knows out of ``except``: a recording cannot catch an exception that a run may raise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from sdgrad.errors import ParseError, SdgradError
from sdgrad.record.restart import Control
from sdgrad.record.values import Origin, can_be_fixed


class Refused(Control):
    """Carry a refusal past the handlers of the user's function."""

    def __init__(self, error: SdgradError) -> None:
        super().__init__()
        self.error = error


@contextlib.contextmanager
def guarded(recorder: Any, caught: Callable[[], Any]) -> Iterator[None]:
    """Run the body of a ``try``: what is refused in it is refused, and not caught."""
    guards = recorder.outside_places.guards
    guards.append(caught)
    try:
        yield
    except SdgradError as error:
        raise Refused(error) from None
    finally:
        guards.pop()


def uncaught(recorder: Any, error: BaseException, origin: Origin = frozenset()) -> None:
    """Refuse a check whose exception the function would catch.

    :param origin: what the check depends on.
    :raises Restart: it would, and whether it is raised can be known.
    :raises ParseError: it would.
    """
    for caught in recorder.outside_places.guards:
        if isinstance(error, _flat(caught())):
            branches = [b.origin for b in recorder.outside_places.open if not getattr(b, "is_loop", False)]
            decides = next(filter(can_be_fixed, (origin, *branches)), None)
            if decides is not None:
                raise recorder.hints.fix(decides)
            raise ParseError(
                f"whether this raises {type(error).__name__}, only a run knows, and an 'except' of the function would "
                "catch it: ask for the condition with 'if' instead"
            )


def _flat(kinds: Any) -> tuple:
    return tuple(k for kind in kinds for k in (_flat(kind) if isinstance(kind, tuple) else (kind,)))
