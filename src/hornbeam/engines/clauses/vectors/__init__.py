"""Counts of clauses in memory, as vectors over populations and joins on the keys of examples."""
