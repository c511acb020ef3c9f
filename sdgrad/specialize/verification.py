"""Compare the first results of a recorded function with what Python and NumPy compute (``config.verify``)."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from sdgrad.config import config
from sdgrad.convert.callables import name_of
from sdgrad.errors import VerificationError
from sdgrad.record.nests import compared
from sdgrad.record.outside import Advanced, Change, as_before
from sdgrad.record.shown import located_in_plain_run
from sdgrad.runtime.call.device_arrays import is_resident
from sdgrad.runtime.call.marshalling import as_array
from sdgrad.specialize.communicating import communicates
from sdgrad.specialize.exact_tails import exact_tails
from sdgrad.specialize.first_difference import first_difference
from sdgrad.specialize.plain_runs import GivenUp, copied, is_plain, plain_results
from sdgrad.specialize.signature import Signature

PATIENCE = 1.0  # seconds that a comparison may take unless it is asked for always
SLOWER = 1000.0  # times that Python takes longer for a loop over elements than compiled code
SLOWER_ARRAYS = 20.0  # the same for operations on whole arrays
TOLERANCE = {2: 5e-2, 4: 5e-3, 8: 1e-6}
"""What results may differ by, in parts of the largest number of an array, by the bytes of a number: rounding."""
OF_MATH = "math domain error", "math range error", "expected a "  # what errors of Python's ``math`` begin with
TRIALS, ULPS, GROWTH = 4, 4.0, 1000.0  # inputs that are changed by rounding show how much results depend on it


def verified(
    signature: Signature, arguments: Mapping[str, Any], run: Callable[[], dict[str, Any]], inplace: bool = False
) -> dict[str, Any]:
    """Run a compiled program; compare its results with those of the user's function, once for each signature.

    :param inplace: the program may write the arguments.
    :raises VerificationError: they differ.
    """
    if not _wanted(signature, arguments):
        return run()
    signature.verified = True
    before = {n: copied(v) for n, v in arguments.items()} if inplace else arguments
    begin = time.perf_counter()
    found = run()
    slower = SLOWER if signature.stepwise else SLOWER_ARRAYS
    if config.verify == "always" or (time.perf_counter() - begin) * slower < PATIENCE:
        try:
            compare(signature, before, {o: signature.output_value(o, found, arguments) for o in signature.outputs})
        except Exception:
            signature.verified = False  # the next call is compared as well
            raise
    return found


def _wanted(signature: Signature, arguments: Mapping[str, Any]) -> bool:
    if signature.verified or not signature.recorded or config.verify == "never" or is_plain():
        return False
    if communicates(signature):  # other ranks would have to run theirs as well
        return False
    if any(isinstance(c, Advanced) for c in signature.changed):  # Python's own run would count on
        return False
    return not any(map(is_resident, arguments.values()))


def compare(signature: Signature, arguments: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Raise an error if results are not what the user's function gives.

    :param found: results by the names of the program's outputs.
    :raises VerificationError: which one, by how much, and where the first difference arises.
    :raises Exception: of arithmetic, or an index: the user's function raises it for these arguments.
    """
    function = cast(Callable, signature.function)
    plain = Plain(function, arguments, tuple(signature.outputs), tuple(signature.guards), signature.changed)
    try:
        wanted = plain.results()
    except GivenUp:
        return
    except Exception as error:
        if isinstance(error, IndexError | ArithmeticError) or str(error).startswith(OF_MATH) or _is_refusal(error):
            located_in_plain_run(error)
            raise error.with_traceback(None) from None  # which the compiled program does not look for
        if config.verify == "always":
            raise VerificationError(f"{name_of(function)} cannot be run as it stands: {error}") from error
        return
    given = [as_array(v) for v in found.values()]
    if signature.places:
        given = compared(signature.nested(given))
    if len(given) != len(wanted):
        raise VerificationError(f"{name_of(function)} has {len(given)} results, and {len(wanted)} in Python")
    if signature.disordered:
        given = [_where_ordered(*pair) for pair in zip(given, wanted, strict=True)]
    differs = partial(difference, slack=max(1.0, signature.rough / TOLERANCE[8]))
    wrong = [k for k, pair in enumerate(zip(given, wanted, strict=True)) if differs(*pair)]
    if not wrong or not plain.differs_exactly(given, differs):
        return
    if not any(plain.is_certain(k, given[k], wanted[k]) for k in wrong):
        return
    what = "the value" if len(wanted) == 1 else f"result {wrong[0]}"
    text = f"{what} {differs(given[wrong[0]], wanted[wrong[0]])}"
    raise VerificationError(first_difference(function, arguments, text, differs))


def _where_ordered(found: Any, wanted: Any) -> Any:
    """Return a result, or the one of Python if NaN is in it: an order of that also changes what is beside it."""
    own = np.asarray(found)
    known = own.dtype.kind not in "fc" or own.shape != np.shape(wanted) or not np.isnan(own).any()
    return found if known else wanted


def _is_refusal(error: Exception) -> bool:
    """True of an error by which NumPy or SciPy refuses a value; matrices without a factorization give NaN in loops."""
    if not isinstance(error, ValueError) or isinstance(error, np.linalg.LinAlgError):
        return False
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return bool({"numpy", "scipy"} & {*Path(files[-1]).parts})


def difference(found: Any, wanted: Any, slack: float = 1.0) -> str:
    """Say how a result differs from the one of Python; empty if it does not, but for rounding.

    :param slack: how many times as much as rounding explains is allowed.
    """
    own, other = np.asarray(found), np.asarray(as_array(wanted))
    if own.shape != other.shape:
        return f"has shape {own.shape}, and {other.shape} in Python"
    if own.dtype.kind not in "biufc" or other.dtype.kind not in "biufc":
        return ""
    bad = ~np.isclose(own, other, rtol=0.0, atol=slack * _allowed(own, other), equal_nan=True)
    if not bad.any():
        return ""
    place = tuple(int(k) for k in np.argwhere(bad)[0])
    at = f" at {list(place)}" if place else ""
    return f"is {own[place]:.8g}{at}, and {other[place]:.8g} in Python"


def _allowed(own: np.ndarray, other: np.ndarray) -> float:
    """Return the difference that rounding explains."""
    if own.dtype.kind in "biu" and other.dtype.kind in "biu":
        return 0.0
    bytes_ = min(a.real.dtype.itemsize for a in (own, other) if a.dtype.kind in "fc")
    size = np.abs(other[np.isfinite(other)]).max(initial=0.0)
    return TOLERANCE.get(bytes_, TOLERANCE[8]) * float(size) + np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Plain:
    """The user's function, with the arguments of a call."""

    function: Callable
    arguments: Mapping[str, Any]
    outputs: Sequence[str]
    reads: Iterable[Any]
    changed: Sequence[Change]

    def results(self, arguments: Mapping[str, Any] | None = None) -> list[Any]:
        """Return what Python computes."""
        with as_before(self.changed):
            return plain_results(self.function, arguments or self.arguments, self.outputs, self.reads)

    def differs_exactly(self, found: Sequence[Any], differs: Callable[[Any, Any], str]) -> bool:
        """True if results differ from Python's also where SciPy's small probabilities keep their digits."""
        try:
            with exact_tails():
                wanted = self.results()
        except GivenUp:
            return False
        return any(differs(*pair) for pair in zip(found, wanted, strict=True))

    def is_certain(self, k: int, found: Any, wanted: Any) -> bool:
        """True if a difference is larger than what inputs that are rounded otherwise explain."""
        own, other = np.asarray(found), np.asarray(wanted)
        if own.shape != other.shape:
            return True
        moved = np.zeros(own.shape)
        for trial in range(TRIALS):
            moved = np.maximum(moved, _distance(self.results(_rounded(self.arguments, trial))[k], other))
        least = 0.0 if np.any(other) else GROWTH * np.finfo(np.float64).eps * self._largest()
        return bool(np.any(_distance(own, other) > GROWTH * moved + _allowed(own, other) + least))

    def _largest(self) -> float:
        """Return the largest number among the arguments: a difference of its rounding is no reason where all is 0."""
        sizes = (np.abs(v) for v in self.arguments.values() if _is_float(v))
        return max((float(np.max(s, initial=0.0, where=np.isfinite(s))) for s in sizes), default=0.0)


def _is_float(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, complex)) and np.asarray(value).dtype.kind in "fc"


def _distance(a: Any, b: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = np.abs(np.asarray(a) * 1.0 - np.asarray(b) * 1.0)
    return np.where(np.isnan(found), np.inf, found)


def _rounded(arguments: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return arguments whose numbers are changed in their last places."""
    rng = np.random.default_rng(seed)
    found = dict(arguments)
    for name, value in arguments.items():
        if _is_float(value):
            array = np.asarray(value)
            step = ULPS * np.finfo(array.dtype).eps
            new = array * (1 + step * rng.choice([-1.0, 1.0], array.shape)).astype(array.real.dtype)
            found[name] = new if isinstance(value, np.ndarray) else type(value)(new)
    return found
