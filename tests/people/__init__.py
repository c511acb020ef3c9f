"""Programs as working people write them, one module a field: each runs as written, and its gradient is checked."""

import importlib
import pkgutil

from people._case import Case, cases

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

CASES: tuple[Case, ...] = tuple(cases.values())
