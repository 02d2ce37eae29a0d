"""Data in memory: facts in columns of codes, populations, examples."""
