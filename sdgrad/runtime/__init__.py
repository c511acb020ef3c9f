"""Compiling and calling programs: libraries, caches."""
