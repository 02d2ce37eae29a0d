"""Columns of tables: the text of cells, their types, and columns made of others."""
