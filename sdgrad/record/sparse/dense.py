"""Hold what SciPy returns as a ``np.matrix``: its operators mean something else, and few of them are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.compound import Compound

INSTEAD = "write np.asarray(..) around it first, or use scipy.sparse's arrays, as csr_array, in place of matrices"


@dataclass(frozen=True, eq=False)
class NumpyMatrix(Compound):
    """A matrix of NumPy's class ``matrix``, which sums, means and ``todense`` of SciPy's matrices give."""

    array: Any

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.array,)

    def with_parts(self, parts: Iterable[Any]) -> NumpyMatrix:
        return NumpyMatrix(*parts)

    def plain(self, parts: Iterable[Any]) -> Any:
        return np.asmatrix(*parts)

    @property
    def A(self) -> Any:  # noqa: N802 (NumPy's name)
        return self.array

    @property
    def A1(self) -> Any:  # noqa: N802 (NumPy's name)
        return np.reshape(self.array, (-1,))

    @property
    def T(self) -> NumpyMatrix:  # noqa: N802 (NumPy's name)
        return NumpyMatrix(np.transpose(self.array))

    @property
    def shape(self) -> Any:
        return self.array.shape

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ParseError(f"'{name}' of a numpy.matrix is not recorded: {INSTEAD}")

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise ParseError(f"this is a numpy.matrix, whose operators mean something else: {INSTEAD}")

    __array_ufunc__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __float__ = _refuse


def _refused_operators() -> None:
    for name in ("add", "sub", "mul", "truediv", "matmul", "pow", "floordiv", "mod"):
        for prefix in ("", "r", "i"):
            setattr(NumpyMatrix, f"__{prefix}{name}__", NumpyMatrix._refuse)
    for name in ("neg", "abs", "pos", "eq", "ne", "lt", "le", "gt", "ge"):
        setattr(NumpyMatrix, f"__{name}__", NumpyMatrix._refuse)
    NumpyMatrix.__hash__ = object.__hash__  # type: ignore[method-assign]


_refused_operators()


def dense_like(kind_is_array: bool, array: Any) -> Any:
    """Return a dense result as SciPy does: a ``np.matrix`` for its matrices."""
    return array if kind_is_array else NumpyMatrix(array)
