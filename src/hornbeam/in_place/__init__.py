"""Tables that stay in their database: only the examples are read."""
