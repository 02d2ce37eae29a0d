"""A body as a tree of parts: one plan for every executor and for SQL."""
