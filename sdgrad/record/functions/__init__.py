"""NumPy's functions on recorded values: one rule each, found by the function itself."""
