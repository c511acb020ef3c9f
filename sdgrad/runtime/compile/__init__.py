"""Generate code, compile it once, and keep it on disk."""
