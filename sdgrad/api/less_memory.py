"""Compute again within a limit what the machine has no memory for: trips of loops that are an argument decide that."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sdgrad.config import config
from sdgrad.errors import ArgumentError, MemoryLimitError, OutOfMemory
from sdgrad.machine.free_memory import free_memory
from sdgrad.machine.limits import Limit, shown
from sdgrad.runtime.call import result_pool

if TYPE_CHECKING:
    from sdgrad.api.gradient import GradFunction

MESSAGE = "it runs within {limit} instead, and computes some of it again; memory_limit= says how much it may take"


def in_less_memory(function: GradFunction, lack: OutOfMemory, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a gradient within a share of the free memory, with a warning.

    :param lack: what there is no memory for.
    :raises OutOfMemory: there are no checkpoints, or they do not help; or arguments may have been written already.
    """
    if function.inplace or function.memory_limit is not None or "checkpoints" in config.without:
        raise lack
    if function.smaller is None:
        result_pool.free_memory()
        limit = Limit(bytes=int(config.machine.tape_share * free_memory()))
        function.smaller = replace(function, memory_limit=limit)
        warnings.warn(f"{lack.what}: {MESSAGE.format(limit=shown(limit.bytes or 0))}", stacklevel=3)
    try:
        return function.smaller(*args, **kwargs)
    except (MemoryLimitError, ArgumentError) as reason:
        raise lack from reason
