"""Give DaCe's parser functions of NumPy that it lacks, while it parses for sdgrad and not a moment longer.

The table of DaCe's frontend belongs to the whole process: a function that is there changes every ``@dace.program``,
also those that have nothing to do with derivatives.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from dace.frontend.common.op_repository import Replacements

FUNCTIONS: dict[str, Callable] = {}
"""Functions by their full names: what the frontend calls to record them."""
METHODS: dict[tuple[str, str], Callable] = {}
"""Methods of arrays, by the kind of container and the name."""
_lock = threading.RLock()


@contextlib.contextmanager
def known_functions() -> Iterator[None]:
    """Let DaCe's parser know the functions in this context. Contexts nest; threads take turns."""
    with _lock, _entered(Replacements._rep, FUNCTIONS), _entered(Replacements._method_rep, METHODS):
        yield


@contextlib.contextmanager
def _entered(table: MutableMapping[Any, Callable], new: MutableMapping[Any, Callable]) -> Iterator[None]:
    """Put entries into a table, and what was there back afterwards."""
    before = {key: table.get(key) for key in new}
    table.update(new)
    try:
        yield
    finally:
        for key, entry in before.items():
            if entry is not None:
                table[key] = entry
            else:
                table.pop(key, None)
