"""Let random numbers into a recording only if they are the same whenever the function is called."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import full_name
from sdgrad.record.python_state import GLOBAL, KINDS
from sdgrad.record.reads import Reads

SEEDED = (
    *(np.random.default_rng, np.random.RandomState, random.Random, np.random.SeedSequence),
    *(np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64),
)
HINT = (
    "draws other numbers at each call, and a program is made once: draw them before, and pass them as an argument; "
    "make a generator with a seed in the function, np.random.default_rng(0), for the same numbers at each call; or use "
    "sdgrad.random, whose keys are arguments"
)


def check_random(function: Any, args: tuple, kwargs: dict[str, Any], reads: Reads) -> None:
    """Refuse a call that draws numbers which are not the same at each call.

    :raises ParseError: it does.
    """
    if any(function is maker for maker in SEEDED):
        seed = [*args, *kwargs.values()]
        if not seed or all(s is None for s in seed):
            raise ParseError(f"{full_name(function)} without a seed {HINT}")
    owner = np.random.mtrand._rand if function is np.random.seed else getattr(function, "__self__", None)
    if not isinstance(owner, KINDS):
        return
    if getattr(function, "__name__", "") == "seed" and args and args[0] is not None:
        reads.made(owner)
    elif id(owner) not in reads.own:
        what = full_name(function) if any(owner is g for g in GLOBAL) else f"a {type(owner).__name__} from outside"
        raise ParseError(f"{what} {HINT}")
