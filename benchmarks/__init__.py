"""Measurements of sdgrad beside JAX: ``python -m benchmarks.run --help``."""
