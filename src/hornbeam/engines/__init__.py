"""Whatever computes counts for clauses over a database, behind one contract."""
