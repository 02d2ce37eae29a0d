"""The default engine: counts in process, on NumPy arrays and sparse matrices."""
