"""Every registered function in all modes of execution: NumPy, compiled, reverse, forward, differences, twice."""
