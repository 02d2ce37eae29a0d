"""Where tables come from: data frames, text files, Parquet, DuckDB, SQLite, PostgreSQL."""
