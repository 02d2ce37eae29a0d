"""The examples of a fit: the bags they are in, what judges them, and which of them are equal."""
