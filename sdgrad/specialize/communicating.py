"""Refuse what means nothing for one rank of a program that communicates."""

from __future__ import annotations

from sdgrad.convert.callables import name_of
from sdgrad.errors import ArgumentError
from sdgrad.program.naming import is_shared
from sdgrad.specialize.signature import Signature

OF_ONE_RANK = "differences on one rank are not its gradient: give comm=, and call the check on all its ranks"
OF_ALL_RANKS = "a Jacobian has rows and columns of all ranks: call sdgrad.vjp or sdgrad.jvp on each, with its seeds"


def communicates(signature: Signature) -> bool:
    """True of a function that communicates with other ranks, by itself or by what it calls."""
    return any(map(is_shared, signature.program.containers))


def refuse_communication(signature: Signature, told: str = OF_ALL_RANKS) -> None:
    """Raise an error for a function that communicates with other ranks.

    :param told: why, and what to write instead.
    :raises ArgumentError: it does.
    """
    if signature.function is not None and communicates(signature):
        raise ArgumentError(f"{name_of(signature.function)} communicates by MPI: {told}")
