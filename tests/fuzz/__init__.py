"""Random programs, differentiated and compared with differences of the same function run by NumPy."""
