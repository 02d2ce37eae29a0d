"""Changes that a person makes in a model."""
