"""Plan the memory of a program: what is where, what is kept, and what is computed again."""
