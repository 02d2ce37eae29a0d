"""The databases that run the SQL."""
