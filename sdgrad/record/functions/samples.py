"""Hold samples of which some elements are left out: where NaN is, or beyond limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import axes_of, require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array

POLICIES = ("propagate", "raise", "omit")


def check_nan_policy(nan_policy: str, name: str, *taken: str) -> None:
    """Refuse a policy that there is not, or that is not recorded."""
    if nan_policy not in POLICIES:
        raise ValueError(f"nan_policy must be one of {POLICIES}, and not {nan_policy!r}")
    if taken and nan_policy not in taken:
        raise ParseError(
            f"scipy.stats.{name}: nan_policy={nan_policy!r} is not recorded: select what is a number first"
        )


def sample(a: Any, name: str, nan_policy: str, dtype: Any = None) -> Any:
    """Return data in floating point, or in a type; NaN of them counts.

    :raises ParseError: NaN is left out, or numbers are complex.
    """
    check_nan_policy(nan_policy, name, "propagate", "raise")
    return _checked(a, name, nan_policy, dtype)


def _checked(a: Any, name: str, nan_policy: str, dtype: Any) -> Any:
    x = array(a)
    if common([x]).kind == "c":
        raise ParseError(f"scipy.stats.{name} of complex numbers is not recorded")
    x = x if dtype is None else array(astype(x, np.dtype(dtype)))
    x = x if x.dtype.kind == "f" else array(astype(x, np.float64))
    if nan_policy == "raise":
        require(~np.any(np.isnan(x)), "The input contains nan values")
    return x


def count_along(x: Any, axis: Any) -> int:
    """Return how many elements there are along an axis, or along several."""
    return math.prod(x.shape[d] for d in axes_of(axis, x.ndim))


@dataclass(frozen=True)
class Sample:
    """Hold the numbers of a sample, and which of them count.

    ``x`` is the mean of the others where an element does not count: what is computed of it is finite, and no derivative
    passes there. ``kept`` is None where all count.
    """

    x: Any
    kept: Any = None

    @property
    def ndim(self) -> int:
        return int(self.x.ndim)

    def with_values(self, x: Any) -> Sample:
        return Sample(x, self.kept)

    def blank(self, other: Any) -> Any:
        """Return the numbers, and something else where they do not count."""
        return self.x if self.kept is None else np.where(self.kept, self.x, other)

    def count(self, axis: Any, keepdims: bool = False) -> Any:
        """Return how many elements count."""
        if self.kept is None:
            return count_along(self.x, axis)
        return astype(np.sum(self.kept, axis=axis, keepdims=keepdims), self.x.dtype)

    def root_of_count(self, axis: Any, keepdims: bool = False) -> Any:
        n = self.count(axis, keepdims)
        return math.sqrt(n) if isinstance(n, int) else np.sqrt(n)

    def sum(self, axis: Any, keepdims: bool = False) -> Any:
        return np.sum(self.blank(0), axis=axis, keepdims=keepdims)

    def mean(self, axis: Any, keepdims: bool = False) -> Any:
        if self.kept is None:
            return np.mean(self.x, axis=axis, keepdims=keepdims)
        return self.sum(axis, keepdims) / self.count(axis, keepdims)

    def var(self, axis: Any, ddof: Any = 0, keepdims: bool = False) -> Any:
        if self.kept is None:
            return np.var(self.x, axis=axis, ddof=ddof, keepdims=keepdims)
        apart = self.with_values((self.x - self.mean(axis, True)) ** 2)
        return apart.sum(axis, keepdims) / (self.count(axis, keepdims) - ddof)

    def std(self, axis: Any, ddof: Any = 0, keepdims: bool = False) -> Any:
        if self.kept is None:
            return np.std(self.x, axis=axis, ddof=ddof, keepdims=keepdims)
        return np.sqrt(self.var(axis, ddof, keepdims))

    def moments(self, axis: Any, keepdims: bool, *orders: int) -> list[Any]:
        """Return central moments."""
        apart = self.x - self.mean(axis, True)
        return [self.with_values(apart**k).mean(axis, keepdims) for k in orders]


def selected(x: Any, kept: Any, axis: Any) -> Sample:
    """Return a sample of the elements where a condition holds."""
    still = detached(np.where(kept, x, 0))
    middle = np.sum(still, axis=axis, keepdims=True) / np.sum(kept, axis=axis, keepdims=True)
    return Sample(np.where(kept, x, astype(middle, x.dtype)), kept)


def observed(a: Any, name: str, nan_policy: str, axis: Any, dtype: Any = None) -> Sample:
    """Return data in floating point, or in a type, without what a policy leaves out."""
    check_nan_policy(nan_policy, name)
    x = _checked(a, name, nan_policy, dtype)
    omits = nan_policy == "omit" and array(a).dtype.kind == "f"
    return selected(x, ~np.isnan(x), axis) if omits else Sample(x)


def paired(samples: tuple[Any, ...], name: str, nan_policy: str, axis: Any, dtype: Any = None) -> list[Sample]:
    """Return samples of one shape, without the places at which a policy leaves out an element of one of them."""
    check_nan_policy(nan_policy, name)
    given = [_checked(a, name, nan_policy, dtype) for a in samples]
    if nan_policy != "omit" or all(array(a).dtype.kind != "f" for a in samples):
        return [Sample(x) for x in given]
    kept = ~np.isnan(given[0])
    for x in given[1:]:
        kept = kept & ~np.isnan(x)
    return [selected(x, kept, axis) for x in given]
