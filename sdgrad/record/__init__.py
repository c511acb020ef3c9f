"""Record programs from NumPy-like code on tensors."""
