"""A model as one SQL query that scores a table of examples."""
