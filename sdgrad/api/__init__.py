"""The public functions, by which users differentiate functions and graphs."""
