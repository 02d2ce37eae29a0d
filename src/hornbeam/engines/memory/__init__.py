"""The default engine: in process, on NumPy arrays and sparse matrices."""
