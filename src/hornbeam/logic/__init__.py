"""The language of clauses: clauses, modes, schemas and their text. Standard library only."""
