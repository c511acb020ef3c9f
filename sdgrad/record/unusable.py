"""Stand for values that there are not: in one arm only, or another one in each arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdgrad.errors import UnboundVariable


class Unusable:
    """Stand for a name without a value that can be used: every use says why.

    :param settle: starts the recording again so that there may be a value.
    :cvar numeric: it may be a number, as which it is used.
    """

    numeric = False

    def __init__(self, reason: str, settle: Callable[[], None] | None = None) -> None:
        self._reason, self._settle = reason, settle

    def __repr__(self) -> str:
        return f"<no value: {self._reason}>"

    def refuse(self) -> Any:
        """Raise the error that says why there is no value, unless there is one if more is known beforehand."""
        if self._settle is not None:
            self._settle()
        raise UnboundVariable(self._reason)

    def as_number(self) -> Any:
        """Return the number that it is."""
        return self.refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_reason", "_settle"):
            raise AttributeError(name)
        return self.refuse()

    def _used(self, *args: Any, **kwargs: Any) -> Any:
        return self.refuse()

    __call__ = __getitem__ = __iter__ = __len__ = __bool__ = __float__ = __int__ = __index__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _used
    __eq__ = __ne__ = __contains__ = _used
    __hash__ = _used
    __array_ufunc__ = __array_function__ = __array__ = __str__ = __format__ = _used


class Absent(Unusable):
    """Stand for a name that is not bound."""
