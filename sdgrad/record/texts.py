"""Texts of what only a run knows: they are shown as what they are, and nothing is decided by them."""

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

from sdgrad.errors import UnknownContent
from sdgrad.record.values import DATA, RULES, Array, Number

BEGIN = "<recorded "
CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?[hlL]?[a-zA-Z])")


class Shown(str):
    """What is shown of a value, in whatever format."""

    __slots__ = ()

    def __format__(self, how: str) -> str:
        return str(self)


class Told(Shown):
    """What is shown of a value that only a run knows. It can be written and joined, and not compared or taken apart."""

    __slots__ = ()

    def refuse(self, *_: Any) -> NoReturn:
        """Raise the error for a text that decides something."""
        raise UnknownContent(
            "a text of what only a run of the program knows decides something here, as a key, in a comparison or as a "
            "number: compare numbers, and round with np.round"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __getitem__ = refuse
    __hash__ = __len__ = __iter__ = startswith = endswith = find = index = count = split = refuse  # type: ignore[assignment]
    isdigit = isnumeric = isdecimal = refuse


def as_told(text: Any) -> Any:
    """Return a text that has been made of what only a run knows as one; all else as it is."""
    return Told(text) if type(text) is str and BEGIN in text else text


def formatted(form: str, given: Any) -> str:
    """Return ``form % given``, with what only a run knows as it is shown."""
    parts = [_shown(p) for p in (given if isinstance(given, tuple) else (given,))]
    if not any(isinstance(p, Shown) for p in parts):
        return form % given
    left = iter(parts)

    def conversion(match: re.Match) -> str:
        if match[0] == "%%":
            return match[0]
        return "%s" if isinstance(next(left, None), Shown) else match[0]

    return cast(str, as_told(CONVERSION.sub(conversion, form) % tuple(parts)))


def _shown(value: Any) -> Any:
    is_data = isinstance(value, Number) and DATA in value.origin or isinstance(value, Array) and value.known is None
    return RULES.shown(value) if is_data else value
