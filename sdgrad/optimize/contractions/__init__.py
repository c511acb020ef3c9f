"""Recognise sums of products and hand them to BLAS."""
