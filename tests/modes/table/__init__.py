"""The page ``docs/functions.md``: which functions of NumPy and SciPy have a rule, and what is known of each."""
