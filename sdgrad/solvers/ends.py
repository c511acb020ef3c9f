"""Hold what a solver returns at its own steps: only a run knows how many there are, and the two ends are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import active
from sdgrad.record.values import is_recorded

WHOLE = slice(None)


@dataclass(frozen=True, eq=False)
class Ends:
    """Times of a solution, or states at them, as far as they are known: ``y[:, -1]``, ``y[0, 0]``, ``y.T[-1]``.

    :param what: the function of SciPy's.
    :param values: those at both ends.
    :param axis: along which the times are.
    """

    what: str
    values: Any
    axis: int

    def __post_init__(self) -> None:
        active().reads.made(self)  # nothing in it comes from outside

    @property
    def ndim(self) -> int:
        return int(self.values.ndim)

    @property
    def T(self) -> Ends:  # noqa: N802
        return Ends(self.what, self.values.T, self.ndim - 1 - self.axis)

    def __getitem__(self, index: Any) -> Any:
        given = list(index) if isinstance(index, tuple) else [index]
        if any(is_recorded(i) or not isinstance(i, (int, np.integer, slice, type(Ellipsis))) for i in given):
            self._refuse()
        missing = self.ndim - sum(i is not Ellipsis for i in given)
        place = given.index(Ellipsis) if Ellipsis in given else len(given)
        given[place : place + 1] = [WHOLE] * missing
        at = given[self.axis]
        if at == WHOLE:
            before = sum(not isinstance(i, slice) for i in given[: self.axis])
            return Ends(self.what, self.values[tuple(given)], self.axis - before)
        if isinstance(at, slice) or at not in (0, -1):
            self._refuse()
        return self.values[tuple(given)]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __len__(self) -> int:
        if self.axis == 0:
            self._refuse()
        return int(self.values.shape[0])

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *_: Any) -> NoReturn:
        raise ParseError(
            f"{self.what}: only a run knows how many steps there are, of which the first and the last can be taken, as "
            "y[:, -1]: for others give t_eval= the times to return"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
