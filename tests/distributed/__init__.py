"""Programs of several ranks: they run under ``mpiexec`` of the wheel ``mpich``."""
