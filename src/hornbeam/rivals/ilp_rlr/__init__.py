"""ILP-RLR: clauses by inductive logic programming, then weights."""
