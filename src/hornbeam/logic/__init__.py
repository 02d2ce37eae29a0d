"""What can be said: clauses, modes, schemas, their text. Standard library only."""
