"""What is known, in memory: facts in columns, populations, examples."""
