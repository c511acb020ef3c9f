"""Say within how much a program runs that the machine has no memory for: trips of loops that are an argument decide."""

from __future__ import annotations

import warnings

from sdgrad.config import config
from sdgrad.errors import OutOfMemory
from sdgrad.machine.free_memory import free_memory
from sdgrad.machine.limits import Limit, shown
from sdgrad.runtime.call import result_pool

MESSAGE = "it runs within {limit} instead, and computes some of it again; memory_limit= says how much it may take"


def limit_of_what_is_free(lack: OutOfMemory, stacklevel: int) -> Limit:
    """Return a share of the free memory, with a warning.

    :param lack: what there is no memory for.
    :param stacklevel: of the warning, above this function.
    """
    result_pool.free_memory()
    limit = Limit(bytes=int(config.machine.tape_share * free_memory()))
    warnings.warn(f"{lack.what}: {MESSAGE.format(limit=shown(limit.bytes or 0))}", stacklevel=stacklevel + 1)
    return limit
