"""Counts as SQL: one compiler for DuckDB, PostgreSQL and Spark."""
