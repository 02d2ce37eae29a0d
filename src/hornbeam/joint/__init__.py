"""Joint models: targets that depend on each other, predicted together."""
