"""Objects of a library that are made of recorded arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar


class Compound:
    """An object of a library's that is made of recorded arrays; its operators and methods mean what that one's do."""

    __slots__ = ()
    answer: ClassVar[Callable[..., Any]]
    """Answers for a function of NumPy's: set by the module that finds rules."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the arrays that it is made of."""
        raise NotImplementedError

    def with_parts(self, parts: Iterable[Any]) -> Any:
        """Return one like it that is made of other arrays."""
        raise NotImplementedError

    def plain(self, parts: Iterable[Any]) -> Any:
        """Return the library's object that is made of arrays of NumPy's."""
        raise NotImplementedError

    def rule_of(self, function: Callable) -> Callable | None:
        """Return what computes a function of it; None where the tables of sparse matrices tell.

        :raises ParseError: there is no rule.
        """
        return None

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return Compound.answer(function, args, kwargs)
