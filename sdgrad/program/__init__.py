"""The program tree: what the engine knows of a program, how it is named, renamed, printed and emitted."""
