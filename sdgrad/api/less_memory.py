"""Say within how much a program runs that the machine has no memory for: trips of loops that are an argument decide."""

from __future__ import annotations

import warnings

from sdgrad.errors import OutOfMemory
from sdgrad.machine.limits import Limit, shown
from sdgrad.runtime.call.result_pool import free_memory
from sdgrad.tape.checkpoints import most_bytes

MESSAGE = "it runs within {limit} instead, and computes some of it again; memory_limit= says how much it may take"


def limit_of_what_is_free(lack: OutOfMemory, stacklevel: int) -> Limit:
    """Return a share of the free memory, with a warning.

    :param lack: what there is no memory for.
    :param stacklevel: of the warning, above this function.
    """
    free_memory()
    most = most_bytes()
    warnings.warn(f"{lack.what}: {MESSAGE.format(limit=shown(most))}", stacklevel=stacklevel + 1)
    return Limit(bytes=most)
