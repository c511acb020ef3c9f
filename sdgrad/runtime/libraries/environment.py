"""Hold what a library environment of DaCe's needs unless it says more: nothing."""

from __future__ import annotations

from typing import Any, ClassVar


class NeedsNothing:
    """Base of environments: they name what programs with their nodes are compiled and linked with."""

    cmake_minimum_version = None
    cmake_packages: ClassVar[list[str]] = []
    cmake_variables: ClassVar[dict[str, str]] = {}
    cmake_includes: ClassVar[Any] = []  # a list, or a function that returns one
    cmake_libraries: ClassVar[Any] = []  # the same
    cmake_compile_flags: ClassVar[list[str]] = []
    cmake_link_flags: ClassVar[list[str]] = []
    cmake_files: ClassVar[list[str]] = []
    headers: ClassVar[list[str]] = []
    state_fields: ClassVar[list[str]] = []
    init_code = ""
    finalize_code = ""
    dependencies: ClassVar[list[type]] = []
